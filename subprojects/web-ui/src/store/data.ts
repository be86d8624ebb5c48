// What a page reads: one object, or the rows of a list that come page by page. Both follow the events and never go blank: what was
// read stays until something newer is there.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Memory } from "../pure/memory.ts";
import { ApiError, get, namespace, region, token, type Query } from "./api.ts";
import { onEvents } from "./live.ts";
import type { Happened } from "./messages.ts";

export interface Data<T> {
  value: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  reload: () => void;
}

const most_remembered = 200;
const remembered = new Memory<unknown>(most_remembered);
const kept = new Memory<Kept>(most_remembered);
// What one token has read, another must not find, nor nobody after signing out.
token.subscribe((now) => { remembered.become(now); kept.become(now); });

function keyOf(path: string | null, query: Query): string {
  return path === null ? "" : `${path}?${JSON.stringify(query)}&${region.value}&${token.value}`;
}

/** Whether an answer says that there is nothing to show, rather than that it could not be read. */
function isGone({ status }: ApiError): boolean {
  return status === 403 || status === 404;
}

export interface Follow {
  /** Whether an event means that it has to be read again. */
  when?: (event: Happened) => boolean;
  /** Read again so often while the page is visible, in milliseconds; for what is in no event. */
  every?: number;
}

/** Reads `path`; null reads nothing. */
export function useData<T>(path: string | null, query: Query = {}, follow: Follow = {}): Data<T> {
  const key = keyOf(path, query);
  const owner = token.value;
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
        remembered.set(owner, key, value);
        state.current = { key, value, error: undefined, isLoading: false };
      } catch (wrong) {
        if (abort.signal.aborted) return;
        const error = wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong));
        if (isGone(error)) remembered.forget(key);
        state.current = { key, value: isGone(error) ? undefined : state.current.value, error, isLoading: false };
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

interface Kept {
  value?: unknown;
  error?: ApiError;
  until: number;       // of performance.now()
  reading: Promise<void> | null;
}

const kept_for = 30_000;

/** Reads what many parts of a page ask for and what seldom changes: once for all of them, and not again for a while. */
export function useKept<T>(path: string | null, query: Query = {}): { value: T | undefined; error: ApiError | undefined } {
  const key = keyOf(path, query);
  const owner = token.value;
  const [, redraw] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    let isShown = true;
    void readKept(owner, key, path, query).then(() => { if (isShown) redraw((count) => count + 1); });
    return () => { isShown = false; };
  }, [key]);
  const known = kept.get(key);
  return { value: known?.value as T | undefined, error: known?.error };
}

function readKept(owner: string, key: string, path: string, query: Query): Promise<void> {
  const known = kept.get(key) ?? { until: 0, reading: null };
  if (known.reading) return known.reading;
  if (known.until > performance.now()) return Promise.resolve();
  kept.set(owner, key, known);
  known.reading = get(path, query).then(({ value }) => { known.value = value; delete known.error; }, (wrong: unknown) => {
    known.error = wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong));
    if (isGone(known.error)) delete known.value;
  })
    .finally(() => { known.reading = null; known.until = performance.now() + (known.error && known.error.status !== 403 ? 0 : kept_for); });
  return known.reading;
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
  /** A row of what the agent answers, where that is more than is kept. */
  from?: (answered: never) => Row;
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
  const key = `rows of ${keyOf(source.path, { namespace: namespace.value, ...source.query })}`;
  const owner = token.value;
  const [, redraw] = useState(0);
  const made = useRef<Rows<Row> | null>(null);
  const began = performance.now();
  if (made.current?.key !== key) made.current = new Rows(key, source, remembered.get(key) as Map<string, Row> | undefined);
  const rows = made.current;
  useEffect(() => {
    const pace = paced(() => redraw((count) => count + 1));
    rows.drawn = pace.took;
    const stop = onEvents((events) => rows.take(events, pace.draw));
    rows.load(pace.draw);
    return () => { stop(); pace.end(); rows.end(); if (rows.isWhole) remembered.set(owner, key, rows.whole()); };
  }, [key]);
  // What comes after this in the page, its filter and its rows, is part of what drawing takes.
  useLayoutEffect(() => rows.drawn(performance.now() - began));
  return { rows: rows.inOrder(), error: rows.error, isLoading: rows.isLoading, isWhole: rows.isWhole };
}

const share_of_drawing = 3;     // a list draws for at most a third of the time, so that a page with a long one still answers
const longest_between = 1_000;

/** Draws at once, but not sooner again than drawing has taken, three times over. */
function paced(redraw: () => void): { draw: () => void; took: (milliseconds: number) => void; end: () => void } {
  let next = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    draw: () => {
      if (timer !== undefined) return;
      const wait = next - performance.now();
      if (wait <= 0) return redraw();
      timer = setTimeout(() => { timer = undefined; redraw(); }, wait);
    },
    took: (milliseconds) => { next = performance.now() + Math.min(longest_between, milliseconds * share_of_drawing); },
    end: () => clearTimeout(timer),
  };
}

class Rows<Row> {
  error: ApiError | undefined;
  isLoading: boolean;
  isWhole = false;
  drawn: (milliseconds: number) => void = () => undefined;
  private byId: Map<string, Row>;
  private added = new Map<string, Row>();    // newer than all of these, the oldest first
  private fresh: Map<string, Row> | null = null;  // being read, until it replaces them
  private arrived = new Set<string>();            // meanwhile: what may be in no page of it
  private isWanted = false;                       // once more, when this one is read
  private ordered: Row[] | null = null;
  private touched = new Set<string>();
  private since = 0;  // the index of what was read: older events say nothing new
  private isReading = false;
  private readonly abort = new AbortController();

  constructor(readonly key: string, private readonly source: ListSource<Row>, known: Map<string, Row> | undefined) {
    this.byId = known ?? new Map();
    this.isLoading = known === undefined;
  }

  inOrder(): Row[] {
    this.ordered ??= this.added.size === 0 ? [...this.byId.values()] : [...[...this.added.values()].reverse(), ...this.byId.values()];
    return this.ordered;
  }

  whole(): Map<string, Row> {
    return this.added.size === 0 ? this.byId : new Map([...[...this.added].reverse(), ...this.byId]);
  }

  end(): void {
    this.abort.abort();
  }

  /** Reads the list; if it is being read, once more behind that, after a while: what changes all the time is read all the time. */
  load(draw: () => void): void {
    this.isWanted = this.fresh !== null;
    if (this.isWanted) return;
    const began = performance.now();
    this.fresh = new Map();
    this.arrived.clear();
    void this.readPages(this.fresh, draw).finally(() => {
      setTimeout(() => {
        this.fresh = null;
        if (this.isWanted && !this.abort.signal.aborted) this.load(draw);
      }, pause_of_reads + share_of_drawing * (performance.now() - began));
    });
  }

  private replace(rows: Map<string, Row>): void {
    this.added = new Map([...this.added].filter(([id]) => this.arrived.has(id) && !rows.has(id)));
    this.byId = rows;
    this.ordered = null;
  }

  private async readPages(fresh: Map<string, Row>, draw: () => void): Promise<void> {
    const { path, query, idOf, from, newestFirst } = this.source;
    const { signal } = this.abort;
    let next = "";
    try {
      do {
        const page = await get<Row[] | null>(path, { namespace: namespace.value, per_page: next === "" ? first_page_size : page_size,
          next_token: next, reverse: newestFirst ? "true" : undefined, ...query }, signal);
        if (signal.aborted) return;
        if (next === "") this.since = page.index;
        for (const answered of page.value ?? []) {
          const row = from ? from(answered as never) : answered;
          fresh.set(idOf(row), row);
        }
        next = page.next;
        // What stands is kept until the new rows are more.
        if (fresh === this.byId) this.ordered = null;
        else if (fresh.size >= this.byId.size + this.added.size || next === "") this.replace(fresh);
        this.isLoading = false;
        this.error = undefined;
        draw();
      } while (next !== "");
      this.isWhole = true;
      draw();
    } catch (wrong) {
      if (signal.aborted) return;
      this.error = wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong));
      if (isGone(this.error)) {
        remembered.forget(this.key);
        this.isWhole = false;
        this.replace(new Map());
      }
      this.isLoading = false;
      draw();
    }
  }

  private get(id: string): Row | undefined {
    return this.added.get(id) ?? this.byId.get(id);
  }

  /** Also in what is being read, of which this row may be a page that has come already. */
  private set(id: string, row: Row): void {
    if (this.added.has(id)) this.added.set(id, row);
    else this.byId.set(id, row);
    if (this.fresh?.has(id) || !this.source.newestFirst) this.fresh?.set(id, row);
  }

  private add(id: string, row: Row): void {
    this.added.set(id, row);
    this.arrived.add(id);
  }

  private remove(id: string): void {
    this.arrived.delete(id);
    this.added.delete(id);
    this.byId.delete(id);
    this.fresh?.delete(id);
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
    let isNew = false;
    const added: string[] = [];
    for (const event of events) {
      if (event.topic !== this.source.topic || !this.isNew(event)) continue;
      const before = this.get(event.key);
      const row = this.source.rowOf(event, before);
      if (row === null) return this.load(draw);
      if (row === undefined) this.remove(event.key);
      else if (before === undefined && this.source.newestFirst) { this.add(event.key, row); added.push(event.key); }
      else this.set(event.key, row);
      isNew = true;
    }
    if (!isNew) return;
    if (this.source.readOne && added.length > 0 && added.length <= most_single_reads) {
      for (const id of added) this.touched.add(id);
      if (!this.isReading) void this.readTouched(draw);
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
      if (row === undefined) this.remove(id);
      else this.set(id, row);
    } catch {
      // The next event reads it again; a lost connection all of it.
    }
  }

  private isNew(event: Happened): boolean {
    return event.index > this.since && isShown(event);
  }
}

function isShown(event: Happened): boolean {
  return namespace.value === "*" || event.ns === "" || event.ns === namespace.value;
}
