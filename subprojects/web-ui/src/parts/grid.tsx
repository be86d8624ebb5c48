// A list of any length: one scroller, rows of one height, of which only those in sight are in the document.
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { matches, parseFilter, searchable } from "../pure/filter.ts";
import { Places } from "../pure/places.ts";
import { arrows, directionOf, nextSort, sortedBy } from "../pure/sorting.ts";
import { several } from "../pure/units.ts";
import { density, hiddenColumns, hideColumns } from "../shell/preferences.ts";
import { place, setParameter } from "../shell/router.ts";
import type { List } from "../store/data.ts";
import { Selected, type BulkAction } from "./bulk.tsx";
import { Check, SearchBox, Trouble } from "./parts.tsx";

export interface GridColumn<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  /** What the filter sees, and what it is sorted by. */
  text: (row: Row) => string | number;
  width?: string;  // of a grid's column; 1fr
  isHidden?: boolean;  // until somebody chooses it
  isOfSight?: boolean;  // known of the rows in sight alone, so that nothing can be sorted by it
}

const row_heights = { comfortable: 36, compact: 28 };
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
  /** What can be done with several rows at once, which can be selected then. */
  actions?: readonly BulkAction<Row>[];
  nameOf?: (row: Row) => string;
  /** Beside the filter: members that have few values. */
  choices?: ComponentChildren;
  /** Called with the rows that are in sight, when these are others. */
  inSight?: (rows: readonly Row[]) => void;
}

/** What rows show, made once for each: one that changes is another object. */
const texts = new WeakMap<object, string>();

export function FilteredGrid<Row>(props: Props<Row>): JSX.Element {
  const { list, columns, name, noun, needs, empty, member, idOf, actions } = props;
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
    return sortedBy(kept, columns.find((one) => one.name === sort.replace(/^-/, ""))?.text, sort.startsWith("-"));
  }, [rows, text, sort]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = useMemo(() => (chosen.size === 0 ? [] : rows.filter((row) => chosen.has(idOf(row)))), [rows, chosen]);
  const hidden = hiddenColumns(name, usuallyHidden(columns));
  const visible = useMemo(() => columns.filter((column) => !hidden.includes(column.name)), [columns, hidden.join()]);
  const counted = text === "" ? several(rows.length, noun) : `${shown.length.toLocaleString("en")} of ${several(rows.length, noun)}`;
  return <>
    <div class="bar-line">
      <SearchBox label={`Filter ${name.toLowerCase()}`} value={text} onChange={(value) => setParameter("filter", value)} />
      {props.choices}
      <span class="faint" aria-live="polite">{list.isLoading ? "Loading…" : counted}{list.isWhole || list.isLoading || list.error ? "" : ", more are coming"}</span>
      <span class="grow" /><ColumnChooser list={name} columns={columns} hidden={hidden} />
    </div>
    {actions ? <Selected noun={noun} rows={selected} actions={actions} nameOf={props.nameOf ?? idOf} clear={() => setChosen(new Set())} /> : null}
    <Trouble error={list.error} needs={needs} />
    {rows.length === 0 && !list.isLoading && !list.error ? <div class="panel empty">{empty}</div> : null}
    <p class="faint keys">Keys: j and k go from row to row, Enter opens one{actions ? ", Space selects it" : ""}; ? lists them all.</p>
    <Grid {...props} columns={visible} rows={shown} sort={sort} chosen={actions ? chosen : null} choose={setChosen} />
  </>;
}

function usuallyHidden(columns: readonly { name: string; isHidden?: boolean }[]): string[] {
  return columns.filter((column) => column.isHidden).map((column) => column.name);
}

/** Which columns are shown. The first says which object a row is of: it stays. */
function ColumnChooser({ list, columns, hidden }: { list: string; columns: readonly { name: string }[]; hidden: readonly string[] }): JSX.Element {
  return <details class="menu"><summary>Columns</summary><fieldset><legend class="hidden">Columns of {list.toLowerCase()}</legend>
    {columns.slice(1).map(({ name }) => <Check key={name} label={name} checked={!hidden.includes(name)} onChange={(on) => hideColumns(list, on ? hidden.filter((one) => one !== name) : [...hidden, name])} />)}</fieldset></details>;
}

interface Drawn<Row> extends Props<Row> {
  rows: Row[];
  sort: string;
  chosen: ReadonlySet<string> | null;  // null: none can be
  choose: (ids: ReadonlySet<string>) => void;
}

function Grid<Row>({ name, noun, columns, idOf, nameOf = idOf, rows, sort, chosen, choose, inSight }: Drawn<Row>): JSX.Element {
  const row_height = row_heights[density.value];
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const total = rows.length * row_height;
  const space = Math.min(total, most_height);
  const offset = total <= most_height ? top : (top / Math.max(1, space - height)) * (total - height);
  const first = Math.max(0, Math.min(rows.length - 1, Math.floor(offset / row_height) - overscan));
  const last = Math.min(rows.length, first + Math.ceil(height / row_height) + 2 * overscan);
  const widths = [...(chosen ? ["2.2rem"] : []), ...columns.map((column) => column.width ?? "minmax(7rem, 1fr)")].join(" ");
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
  const told = useRef<readonly Row[]>([]);
  useEffect(() => {
    if (!inSight || (told.current.length === shown.length && shown.every((row, at) => row === told.current[at]))) return;
    told.current = shown;
    inSight(shown);
  });
  // Rows call this as they were drawn: what is chosen now is looked up then.
  const now = useRef({ chosen, choose });
  now.current = { chosen, choose };
  const toggle = useRef((id: string): void => {
    const next = new Set(now.current.chosen);
    if (!next.delete(id)) next.add(id);
    now.current.choose(next);
  });
  const isAll = chosen !== null && rows.length > 0 && chosen.size >= rows.length && rows.every((row) => chosen.has(idOf(row)));
  const shift = Math.round(top - (offset - first * row_height));
  useLayoutEffect(() => { block.current?.style.setProperty("transform", `translateY(${shift}px)`); }, [shift]);
  return <div class="grid" ref={scroller} role="grid" aria-label={name} aria-rowcount={rows.length + 1} aria-colcount={columns.length + (chosen ? 1 : 0)} aria-multiselectable={chosen ? true : undefined} tabIndex={0}
    onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    onKeyDown={(event) => { if (["Home", "End", "PageUp", "PageDown"].includes(event.key)) { event.preventDefault(); move(event.key); } }}>
    <div class="grid-head" role="rowgroup"><div role="row" aria-rowindex={1}>
      {chosen ? <div role="columnheader"><input type="checkbox" class="choose" aria-label={`Select all ${noun}s shown`} checked={isAll} onChange={() => choose(isAll ? new Set() : new Set(rows.map(idOf)))} /></div> : null}
      {columns.map((column) => <div role="columnheader" aria-sort={directionOf(sort, column.name)}>
        {column.isOfSight ? column.name : <button type="button" class="plain" onClick={() => setParameter("sort", nextSort(sort, column.name))}>{column.name}<span aria-hidden="true">{arrows[directionOf(sort, column.name)]}</span></button>}</div>)}
    </div></div>
    <div class="grid-space" ref={inner} role="presentation"><div ref={block} class="grid-block" role="rowgroup">
      {shown.map((row, at) => <GridRow key={keys[at]} place={keys[at] ?? 0} row={row} index={first + at} columns={columns as GridColumn<unknown>[]}
        id={idOf(row)} name={nameOf(row)} isChosen={chosen?.has(idOf(row)) ?? null} toggle={toggle.current} />)}
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
  id: string;
  name: string;
  isChosen: boolean | null;  // null: rows can't be
  toggle: (id: string) => void;
}

/** Drawn again only if it is another one or stands elsewhere: scrolling leaves most rows as they are. */
class GridRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.row !== this.props.row || next.index !== this.props.index || next.columns !== this.props.columns || next.isChosen !== this.props.isChosen;
  }

  override render({ place: key, row, index, columns, id, name, isChosen, toggle }: RowProps): JSX.Element {
    return <div role="row" class="grid-row" aria-rowindex={index + 2} aria-selected={isChosen ?? undefined} data-row={String(key)} tabIndex={-1}>
      {isChosen === null ? null : <div role="gridcell" class="chooser"><input type="checkbox" class="choose" aria-label={`Select ${name}`} checked={isChosen} onChange={() => toggle(id)} /></div>}
      {columns.map((column) => <div role="gridcell">{column.cell(row)}</div>)}</div>;
  }
}
