// What a page reads: one object, or the rows of a list that come page by page. Both follow the events and never go blank: what was
// read stays until something newer is there.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, namespace, region, token, type Query } from "./api.ts";
import { onEvents } from "./live.ts";
import type { Happened } from "./messages.ts";

export interface Data<T> {
  value: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  reload: () => void;
}

const remembered = new Map<string, unknown>();
const most_remembered = 200;

function remember(key: string, value: unknown): void {
  remembered.delete(key);
  remembered.set(key, value);
  if (remembered.size > most_remembered) for (const oldest of remembered.keys()) { remembered.delete(oldest); break; }
}

export interface Follow {
  /** Whether an event means that it has to be read again. */
  when?: (event: Happened) => boolean;
  /** Read again so often while the page is visible, in milliseconds; for what is in no event. */
  every?: number;
}

/** Reads `path`; null reads nothing. */
export function useData<T>(path: string | null, query: Query = {}, follow: Follow = {}): Data<T> {
  const key = path === null ? "" : `${path}?${JSON.stringify(query)}&${region.value}&${token.value}`;
  const [, redraw] = useState(0);
  const state = useRef<{ key: string; value: T | undefined; error: ApiError | undefined; isLoading: boolean }>({ key: "", value: undefined, error: undefined, isLoading: true });
  const again = useRef<() => void>(() => undefined);
  const wants = useRef(follow);
  wants.current = follow;
  if (state.current.key !== key) state.current = { key, value: remembered.get(key) as T | undefined, error: undefined, isLoading: path !== null };
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    const read = throttled(async () => {
      try {
        const { value } = await get<T>(path, query, abort.signal);
        remember(key, value);
        state.current = { key, value, error: undefined, isLoading: false };
      } catch (wrong) {
        if (abort.signal.aborted) return;
        const error = wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong));
        const gone = error.status === 403 || error.status === 404;
        state.current = { key, value: gone ? undefined : state.current.value, error, isLoading: false };
      }
      redraw((count) => count + 1);
    });
    again.current = read;
    read();
    const { when, every } = wants.current;
    const stop = when ? onEvents((events) => { if (events === "stale" || events.some((event) => wants.current.when?.(event))) read(); }) : () => undefined;
    const timer = every === undefined ? undefined : setInterval(() => { if (!document.hidden) read(); }, every);
    return () => { abort.abort(); stop(); clearInterval(timer); };
  }, [key]);
  return { ...state.current, reload: () => again.current() };
}

/** One run at a time; what is asked for meanwhile is one more, a moment later. */
function throttled(run: () => Promise<void>, pause = 150): () => void {
  let isRunning = false;
  let isWanted = false;
  const begin = (): void => {
    if (isRunning) { isWanted = true; return; }
    isRunning = true;
    isWanted = false;
    void run().finally(() => setTimeout(() => { isRunning = false; if (isWanted) begin(); }, pause));
  };
  return begin;
}

export interface ListSource<Row> {
  path: string;
  query: Query;
  idOf: (row: Row) => string;
  topic: string;
  /** The row as it is after the event: undefined removes it, null needs the list read again. */
  rowOf: (event: Happened, before: Row | undefined) => Row | undefined | null;
  newestFirst?: boolean;
  /** Of rows that no event shows whole: the id of the row that it changes, which `readOne` reads again. */
  touches?: (event: Happened) => string | undefined;
  /** Reads a row by its id; also what is new, where an event does not show all of it. */
  readOne?: (id: string) => Promise<Row | undefined>;
}

const most_single_reads = 10;  // of one batch of events; above, the list is read again
const pause_of_reads = 300;

export interface List<Row> {
  rows: Row[];
  error: ApiError | undefined;
  isLoading: boolean;  // nothing has come yet
  isWhole: boolean;    // every page has
}

const page_size = 1_000;
const first_page_size = 200;  // the first rows stand at once

/** The rows of a list: the first page at once, the others behind it. */
export function useList<Row>(source: ListSource<Row>): List<Row> {
  const key = `${source.path}?${JSON.stringify(source.query)}&${namespace.value}&${region.value}&${token.value}`;
  const [, redraw] = useState(0);
  const made = useRef<Rows<Row> | null>(null);
  if (made.current?.key !== key) made.current = new Rows(key, source, remembered.get(key) as Map<string, Row> | undefined);
  const rows = made.current;
  useEffect(() => {
    const draw = (): void => redraw((count) => count + 1);
    const stop = onEvents((events) => rows.take(events, draw));
    rows.load(draw);
    return () => { stop(); rows.end(); if (rows.isWhole) remember(key, rows.byId); };
  }, [key]);
  return { rows: rows.inOrder(), error: rows.error, isLoading: rows.isLoading, isWhole: rows.isWhole };
}

class Rows<Row> {
  byId: Map<string, Row>;
  error: ApiError | undefined;
  isLoading: boolean;
  isWhole = false;
  private ordered: Row[] | null = null;
  private touched = new Set<string>();
  private since = 0;  // the index of what was read: older events say nothing new
  private isReading = false;
  private abort = new AbortController();

  constructor(readonly key: string, private readonly source: ListSource<Row>, known: Map<string, Row> | undefined) {
    this.byId = known ?? new Map();
    this.isLoading = known === undefined;
  }

  inOrder(): Row[] {
    if (this.ordered === null) {
      this.ordered = [...this.byId.values()];
    }
    return this.ordered;
  }

  end(): void {
    this.abort.abort();
  }

  readonly load = (draw: () => void): void => {
    this.abort.abort();
    this.abort = new AbortController();
    void this.readPages(this.abort.signal, draw);
  };

  private async readPages(signal: AbortSignal, draw: () => void): Promise<void> {
    const { path, query, idOf, newestFirst } = this.source;
    const fresh = new Map<string, Row>();
    let next = "";
    try {
      do {
        const page = await get<Row[] | null>(path, { namespace: namespace.value, per_page: next === "" ? first_page_size : page_size,
          next_token: next, reverse: newestFirst ? "true" : undefined, ...query }, signal);
        if (next === "") this.since = page.index;
        for (const row of page.value ?? []) fresh.set(idOf(row), row);
        next = page.next;
        // What stands is kept until the new rows are more.
        if (fresh.size >= this.byId.size || next === "") this.byId = fresh;
        this.isLoading = false;
        this.error = undefined;
        this.ordered = null;
        draw();
      } while (next !== "" && !signal.aborted);
      this.isWhole = true;
      draw();
    } catch (wrong) {
      if (signal.aborted) return;
      this.error = wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong));
      if (this.error.status === 403) this.byId = new Map();
      this.isLoading = false;
      this.ordered = null;
      draw();
    }
  }

  take(events: Happened[] | "stale", draw: () => void): void {
    if (events === "stale") return this.load(draw);
    const { touches } = this.source;
    if (touches) {
      for (const event of events) {
        const id = this.isNew(event) ? touches(event) : undefined;
        if (id !== undefined) this.touched.add(id);
      }
      if (this.touched.size > 0 && !this.isReading) void this.readTouched(draw);
      return;
    }
    const newest = new Map<string, Happened>();
    for (const event of events) if (event.Topic === this.source.topic && this.isNew(event)) newest.set(`${event.Namespace}/${event.Key}`, event);
    let isNew = false;
    const added: [string, Row][] = [];
    for (const event of newest.values()) {
      const id = this.idOf(event);
      const before = this.byId.get(id);
      const row = this.source.rowOf(event, before);
      if (row === null) return this.load(draw);
      if (row === undefined) this.byId.delete(id);
      else if (before === undefined && this.source.newestFirst) added.push([id, row]);
      else this.byId.set(id, row);
      isNew = true;
    }
    if (!isNew) return;
    if (added.length > 0) this.byId = new Map([...added.reverse(), ...this.byId]);
    if (this.source.readOne && added.length <= most_single_reads) {
      for (const [id] of added) this.touched.add(id);
      if (added.length > 0 && !this.isReading) void this.readTouched(draw);
    }
    this.ordered = null;
    draw();
  }

  private async readTouched(draw: () => void): Promise<void> {
    this.isReading = true;
    while (this.touched.size > 0 && !this.abort.signal.aborted) {
      const ids = [...this.touched];
      this.touched.clear();
      if (ids.length > most_single_reads) this.load(draw);
      else await Promise.all(ids.map((id) => this.readAgain(id)));
      this.ordered = null;
      draw();
      await new Promise((resolve) => setTimeout(resolve, pause_of_reads));
    }
    this.isReading = false;
  }

  private async readAgain(id: string): Promise<void> {
    try {
      const row = await this.source.readOne?.(id);
      if (row === undefined) this.byId.delete(id);
      else this.byId.set(id, row);
    } catch {
      // The next event reads it again; a lost connection all of it.
    }
  }

  private isNew(event: Happened): boolean {
    return event.Index > this.since && isShown(event);
  }

  private idOf(event: Happened): string {
    return event.Key;
  }
}

function isShown(event: Happened): boolean {
  return namespace.value === "*" || event.Namespace === "" || event.Namespace === namespace.value;
}
