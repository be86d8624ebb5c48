// The small parts that all pages are made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clockAhead, said, type ApiError } from "../store/api.ts";
import type { Data } from "../store/data.ts";
import { ago } from "../pure/units.ts";
import { shortened, visible } from "./visible.ts";
import { arrows, directionOf, nextSort, sortedBy } from "../pure/sorting.ts";
import { exactly } from "../shell/preferences.ts";
import { place, setParameter } from "../shell/router.ts";
import { signal } from "@preact/signals";

/** The heading of the page, which is its title, too. */
export function Heading({ children, title, back }: { children: ComponentChildren; title: string; back?: { href: string; text: string } }): JSX.Element {
  useEffect(() => { document.title = `${visible(title)} - Nomad`; }, [title]);
  return <div class="heading">
    {back ? <p class="crumb"><a href={back.href}>{back.text}</a></p> : null}
    <h1 tabIndex={-1}>{children}</h1>
  </div>;
}

const good = new Set(["running", "ready", "complete", "successful", "alive", "eligible", "passing", "success", "healthy", "allowed", "stable", "chosen"]);
const bad = new Set(["failed", "down", "lost", "critical", "failing", "failure", "unhealthy", "disconnected", "refused"]);
const waiting = new Set(["pending", "blocked", "draining", "initializing", "paused", "unknown", "ineligible", "starting"]);

/** A status as a word and a shape. What is past, such as a failure that was made good, is no alarm. */
export function Status({ value, label, isPast = false }: { value: string; label?: string; isPast?: boolean }): JSX.Element {
  const kind = isPast ? "over" : good.has(value) ? "good" : bad.has(value) ? "bad" : waiting.has(value) ? "waiting" : "over";
  const inside = <><span class={`shape ${kind}`} aria-hidden="true" />{value}</>;
  return label ? <span class="status" role="status" aria-label={label}>{inside}</span> : <span class="status">{inside}</span>;
}

export interface Tab {
  name: string;
  href: string;
}

export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }): JSX.Element {
  return <nav class="tabs" aria-label={label}>
    {tabs.map((tab) => <a key={tab.name} href={tab.href} aria-current={tab.name === current ? "page" : undefined}>{tab.name}</a>)}
  </nav>;
}

/** Why something can't be shown: a missing right says which one, and the rest of the page goes on. */
export function Trouble({ error, needs }: { error: ApiError | undefined; needs?: string | undefined }): JSX.Element | null {
  if (!error) return null;
  const text = error.status === 403 ? `This needs ${needs ?? "a right"} that the token does not have${error.message === "Permission denied" ? "" : `: ${error.message}`}` : error.message;
  return <p class="trouble" role={error.status === 403 ? undefined : "alert"}>{text}{error.status === 403 ? <> <a href="/ui/settings/tokens">Sign in</a></> : null}</p>;
}

/** A part of a page that reads, fails and explains by itself. */
export function Panel<T>({ title, data, needs, children, empty, isEmpty }: {
  title?: string; data: Data<T>; needs?: string; children: (value: T) => ComponentChildren; empty?: string; isEmpty?: (value: T) => boolean;
}): JSX.Element {
  const id = useId();
  const { value, error, isLoading } = data;
  const inside = value === undefined
    ? isLoading ? <p class="faint">Loading…</p> : null
    : empty !== undefined && (isEmpty ? isEmpty(value) : Array.isArray(value) && value.length === 0) ? <p class="faint">{empty}</p> : children(value);
  return <section class="panel" aria-labelledby={title ? id : undefined}>
    {title ? <h2 id={id}>{title}</h2> : null}
    <Trouble error={value === undefined || error?.status === 403 ? error : undefined} needs={needs} />
    {inside}
  </section>;
}

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  isNumber?: boolean;
  /** What it is sorted by, where it can be. */
  by?: (row: Row) => string | number;
}

/** A text of others may be a megabyte; nobody reads that in a table. */
function bounded(inside: ComponentChildren): ComponentChildren {
  return typeof inside === "string" ? shortened(inside) : inside;
}

/** A table of few rows. What it is sorted by stands in the address with `inAddress`, where the page is about it. */
export function Table<Row>({ name, columns, rows, keyOf, inAddress = false }: { name: string; columns: Column<Row>[]; rows: readonly Row[]; keyOf: (row: Row) => string; inAddress?: boolean }): JSX.Element {
  const [own, setOwn] = useState("");
  const sort = inAddress ? place.value.query.get("sort") ?? "" : own;
  const choose = (to: string): void => (inAddress ? setParameter("sort", to) : setOwn(to));
  return <div class="scroll" tabIndex={0} role="region" aria-label={`${name} table`}><table aria-label={name}>
    <thead><tr>{columns.map((column) => <th scope="col" class={column.isNumber ? "number" : undefined} aria-sort={column.by ? directionOf(sort, column.name) : undefined}>
      {column.by ? <button type="button" class="plain sorter" onClick={() => choose(nextSort(sort, column.name))}>{column.name}<span aria-hidden="true">{arrows[directionOf(sort, column.name)]}</span></button> : column.name}</th>)}</tr></thead>
    <tbody>{sortedBy(rows, columns.find((one) => one.name === sort.replace(/^-/, ""))?.by, sort.startsWith("-")).map((row) => <tr key={keyOf(row)} data-row="">{columns.map((column) => <td class={column.isNumber ? "number" : undefined}>{bounded(column.cell(row))}</td>)}</tr>)}</tbody>
  </table></div>;
}

/** Names and values. */
export function Facts({ rows, label }: { rows: [string, ComponentChildren][]; label: string }): JSX.Element {
  return <dl class="facts" aria-label={label}>{rows.filter(([, value]) => value !== undefined && value !== "" && value !== null)
    .map(([name, value]) => <div><dt>{shortened(name, 200)}</dt><dd>{bounded(value)}</dd></div>)}</dl>;
}

/** The time of the page, by the agent's clock, which ages count from. */
export const now = signal(Date.now());
const tick = (): void => { now.value = Date.now() + clockAhead.peek(); };
setInterval(() => { if (!document.hidden) tick(); }, 1_000);
clockAhead.subscribe(tick);

export function Ago({ at }: { at: number }): JSX.Element | null {
  if (!at) return null;
  return <time dateTime={new Date(at).toISOString()} title={exactly(at)}>{ago(at, now.value)}</time>;
}

export function SearchBox({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }): JSX.Element {
  return <input type="search" class="filter" aria-label={label} placeholder={label} value={value} data-filter="" spellcheck={false} autocomplete="off"
    onInput={(event) => onChange(event.currentTarget.value)} />;
}

/** A button that acts on the agent: says while it does, and what became of it. */
export function ActionButton({ children, act, done, failed, kind, disabled, why, label, isPressed }: {
  children: ComponentChildren; act: () => Promise<unknown>; done?: string | undefined; kind?: "danger" | "main" | "plain link"; disabled?: boolean | undefined; why?: string | undefined; label?: string;
  isPressed?: boolean;  // of a button that turns something on and off
  /** Says what went wrong, where that is to be said elsewhere than at the foot of the page. */
  failed?: (text: string) => void;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      if (done) announce(done);
    } catch (wrong) {
      if (failed) failed(said(wrong));
      else announce(said(wrong), true);
    } finally {
      setBusy(false);
    }
  };
  return <button type="button" class={kind} disabled={disabled || isBusy} title={why} aria-label={label} aria-busy={isBusy} aria-pressed={isPressed} onClick={() => void run()}>{children}</button>;
}

export interface Notice {
  text: string;
  isError: boolean;
}

export const notice = signal<Notice | null>(null);
let noticeTimer: ReturnType<typeof setTimeout> | undefined;

/** Says what became of an action, to eyes and readers. */
export function announce(text: string, isError = false): void {
  notice.value = { text, isError };
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { notice.value = null; }, isError ? 15_000 : 6_000);
}

/** A dialog over the page, which holds the focus and gives it back. */
export function Dialog({ name, isOpen, close, children }: { name: string; isOpen: boolean; close: () => void; children: ComponentChildren }): JSX.Element | null {
  const element = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed: who types on is in the dialog then, and not among the keys of the page.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (!isOpen || !dialog) return undefined;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, [isOpen]);
  if (!isOpen) return null;
  return <dialog ref={element} aria-label={name} onCancel={(event) => { event.preventDefault(); close(); }}
    onClick={(event) => { if (event.target === element.current) close(); }}>
    <div class="dialog">{children}</div>
  </dialog>;
}

/** A dialog that asks before something is done, and says there what went wrong: the page below it is out of reach. */
export function Confirm({ name, button, isOpen, close, act, done, children, kind }: {
  name: string; button: string; isOpen: boolean; close: () => void; act: () => Promise<unknown>; done?: string; children?: ComponentChildren; kind?: "danger" | "main";
}): JSX.Element {
  const [wrong, setWrong] = useState("");
  const end = (): void => { setWrong(""); close(); };
  return <Dialog name={name} isOpen={isOpen} close={end}>
    <h2>{name}</h2>
    {children}
    {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
    <div class="actions">
      <button type="button" onClick={end}>Cancel</button>
      <ActionButton kind={kind ?? "main"} done={done} failed={setWrong} act={async () => { setWrong(""); await act(); end(); }}>{button}</ActionButton>
    </div>
  </Dialog>;
}

/** A line of text to fill in; several lines with `rows`. */
export function TextField({ label, value, onChange, rows, hint, list, isFixed }: {
  label: string; value: string; onChange: (value: string) => void; rows?: number; hint?: string; list?: readonly string[]; isFixed?: boolean | undefined;
}): JSX.Element {
  const id = useId();
  return <div class="field"><label for={id}>{label}</label>
    {rows ? <textarea id={id} rows={rows} spellcheck={false} value={value} onInput={(event) => onChange(event.currentTarget.value)} />
      : <input id={id} type="text" spellcheck={false} autocomplete="off" value={value} readOnly={isFixed} list={list ? `${id}-list` : undefined} onInput={(event) => onChange(event.currentTarget.value)} />}
    {list ? <datalist id={`${id}-list`}>{list.map((one) => <option value={one} />)}</datalist> : null}
    {hint ? <span class="faint">{hint}</span> : null}</div>;
}

/** One of a few words. */
export function Choice({ label, value, options, onChange }: { label: string; value: string; options: readonly (string | readonly [string, string])[]; onChange: (value: string) => void }): JSX.Element {
  return <label class="field">{label}<select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    {options.map((one) => { const [key, text] = typeof one === "string" ? [one, one] : one; return <option value={key}>{text}</option>; })}</select></label>;
}

/** `press`: a key that changes it (shell/keys.ts). */
export function Check({ label, checked, onChange, press }: { label: string; checked: boolean; onChange: (value: boolean) => void; press?: string }): JSX.Element {
  return <label class="check"><input type="checkbox" data-key={press} checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />{label}</label>;
}

/** Something that is on or off, at the agent. */
export function Switch({ label, isOn, act, disabled }: { label: string; isOn: boolean; act: () => Promise<unknown>; disabled?: boolean }): JSX.Element {
  const run = (): void => { act().catch((wrong: unknown) => announce(said(wrong), true)); };
  return <span class="check"><button type="button" role="switch" class="switch" aria-checked={isOn} aria-label={label} disabled={disabled} onClick={run}><span /></button><span aria-hidden="true">{label}</span></span>;
}

/** Has the browser keep something as a file. */
export function saveAs(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

/** A share of something, as a bar and a word. */
export function Meter({ part, whole, text }: { part: number; whole: number; text: string }): JSX.Element {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return <span class="meter"><span class="bar" aria-hidden="true"><span ref={(element) => { if (element) element.style.width = `${100 * share}%`; }} /></span>{text}</span>;
}
