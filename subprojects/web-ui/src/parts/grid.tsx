// A list of any length: one scroller, rows of one height, of which only those in sight are in the document.
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { matches, parseFilter, searchable } from "../pure/filter.ts";
import { Places } from "../pure/places.ts";
import { several } from "../pure/units.ts";
import { place, setParameter } from "../shell/router.ts";
import type { List } from "../store/data.ts";
import { SearchBox, Trouble } from "./parts.tsx";

export interface GridColumn<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  /** What the filter sees, and what it is sorted by. */
  text: (row: Row) => string | number;
  width?: string;  // of a grid's column; 1fr
}

const row_height = 36;
const most_height = 1_000_000;  // pixels; above, the place of the scroller is scaled
const overscan = 8;

interface Props<Row> {
  name: string;
  noun: string;
  list: List<Row>;
  columns: GridColumn<Row>[];
  idOf: (row: Row) => string;
  member?: (row: Row, name: string) => string | undefined;
  needs?: string;
  empty: ComponentChildren;
}

/** What rows show, made once for each: one that changes is another object. */
const texts = new WeakMap<object, string>();

export function FilteredGrid<Row>(props: Props<Row>): JSX.Element {
  const { list, columns, name, noun, needs, empty, member } = props;
  const text = place.value.query.get("filter") ?? "";
  const sort = place.value.query.get("sort") ?? "";
  const { rows } = list;
  const shown = useMemo(() => {
    const filter = parseFilter(text);
    const isAll = filter.words.length === 0 && filter.members.length === 0;
    const textOf = (row: Row): string => {
      const known = texts.get(row as object);
      if (known !== undefined) return known;
      const made = searchable(columns.map((column) => column.text(row)));
      texts.set(row as object, made);
      return made;
    };
    const kept = isAll ? rows : rows.filter((row) => matches(filter, textOf(row), (key) => {
      const column = columns.find((one) => one.name.toLowerCase().replaceAll(" ", "") === key);
      return member?.(row, key) ?? (column ? String(column.text(row)) : undefined);
    }));
    return sorted(kept, columns, sort);
  }, [rows, text, sort]);
  const counted = text === "" ? several(rows.length, noun) : `${shown.length.toLocaleString("en")} of ${several(rows.length, noun)}`;
  return <>
    <div class="bar-line">
      <SearchBox label={`Filter ${name.toLowerCase()}`} value={text} onChange={(value) => setParameter("filter", value)} />
      <span class="faint" aria-live="polite">{list.isLoading ? "Loading…" : counted}{list.isWhole || list.isLoading || list.error ? "" : ", more are coming"}</span>
    </div>
    <Trouble error={list.error} needs={needs} />
    {rows.length === 0 && !list.isLoading && !list.error ? <div class="panel empty">{empty}</div> : null}
    <Grid {...props} rows={shown} sort={sort} />
  </>;
}

function sorted<Row>(rows: Row[], columns: GridColumn<Row>[], sort: string): Row[] {
  const down = sort.startsWith("-");
  const column = columns.find((one) => one.name === sort.replace(/^-/, ""));
  if (!column) return rows;
  const keyed = rows.map((row) => ({ row, key: column.text(row) }));
  keyed.sort((a, b) => (typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key) < String(b.key) ? -1 : String(a.key) > String(b.key) ? 1 : 0));
  if (down) keyed.reverse();
  return keyed.map(({ row }) => row);
}

function Grid<Row>({ name, columns, idOf, rows, sort }: Props<Row> & { rows: Row[]; sort: string }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const total = rows.length * row_height;
  const space = Math.min(total, most_height);
  const offset = total <= most_height ? top : (top / Math.max(1, space - height)) * (total - height);
  const first = Math.max(0, Math.min(rows.length - 1, Math.floor(offset / row_height) - overscan));
  const last = Math.min(rows.length, first + Math.ceil(height / row_height) + 2 * overscan);
  const widths = columns.map((column) => column.width ?? "minmax(7rem, 1fr)").join(" ");
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = new ResizeObserver(() => setHeight(element.clientHeight));
    measure.observe(element);
    return () => measure.disconnect();
  }, []);
  const inner = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { inner.current?.style.setProperty("height", `${space}px`); }, [space]);
  useLayoutEffect(() => { scroller.current?.style.setProperty("--columns", widths); }, [widths]);
  const move = (key: string): void => {
    const element = scroller.current;
    if (!element) return;
    const page = element.clientHeight - row_height * 2;
    const places: Record<string, number> = { Home: 0, End: space, PageDown: top + page, PageUp: top - page };
    if (places[key] !== undefined) element.scrollTop = places[key];
  };
  const block = useRef<HTMLDivElement>(null);
  const places = useRef(new Places());
  const shown = rows.slice(first, last);
  const keys = places.current.keysOf(shown.map(idOf), () => heldKey(block.current));
  const shift = Math.round(top - (offset - first * row_height));
  useLayoutEffect(() => { block.current?.style.setProperty("transform", `translateY(${shift}px)`); }, [shift]);
  return <div class="grid" ref={scroller} role="grid" aria-label={name} aria-rowcount={rows.length + 1} aria-colcount={columns.length} tabIndex={0}
    onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    onKeyDown={(event) => { if (["Home", "End", "PageUp", "PageDown"].includes(event.key)) { event.preventDefault(); move(event.key); } }}>
    <div class="grid-head" role="rowgroup"><div role="row" aria-rowindex={1}>
      {columns.map((column) => <div role="columnheader" aria-sort={sort === column.name ? "ascending" : sort === `-${column.name}` ? "descending" : "none"}>
        <button type="button" class="plain" onClick={() => setParameter("sort", sort === column.name ? `-${column.name}` : sort === `-${column.name}` ? "" : column.name)}>
          {column.name}<span aria-hidden="true">{sort === column.name ? " ↑" : sort === `-${column.name}` ? " ↓" : ""}</span></button></div>)}
    </div></div>
    <div class="grid-space" ref={inner} role="presentation"><div ref={block} class="grid-block" role="rowgroup">
      {shown.map((row, at) => <GridRow key={keys[at]} place={keys[at] ?? 0} row={row} index={first + at} columns={columns as GridColumn<unknown>[]} />)}
    </div></div>
  </div>;
}

/** Of the row that has the focus; undefined if none has. */
function heldKey(block: HTMLElement | null): number | undefined {
  const held = block?.contains(document.activeElement) ? document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
  return held === undefined ? undefined : Number(held);
}

interface RowProps {
  place: number;  // its key: rows of the document are used again for others
  row: unknown;
  index: number;
  columns: GridColumn<unknown>[];
}

/** Drawn again only if it is another one or stands elsewhere: scrolling leaves most rows as they are. */
class GridRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.row !== this.props.row || next.index !== this.props.index || next.columns !== this.props.columns;
  }

  override render({ place: key, row, index, columns }: RowProps): JSX.Element {
    return <div role="row" class="grid-row" aria-rowindex={index + 2} data-row={String(key)} tabIndex={-1}>
      {columns.map((column) => <div role="gridcell">{column.cell(row)}</div>)}</div>;
  }
}
