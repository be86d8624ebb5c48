// The one event stream of a browser and region: keeps it open, tells what comes, and when something was missed. Used by the worker,
// and by a page whose browser has no shared workers.
import { Newest, happenedOf, type RawEvent } from "../pure/rows.ts";
import type { Told } from "./messages.ts";

const silence = 35_000;  // heartbeats come every 30 s
const longest_wait = 10_000;
const poll_interval = 5_000;
const pause_of_telling = 100;  // of a burst; what comes after a silence is told at once
const object_topics = ["Job", "Allocation", "Evaluation", "Deployment", "Service"];

/** What may be asked for, most first; the last is nothing but a clock. */
const askable: readonly string[][] = [["*"], [...object_topics, "Node"], object_topics, ["Node"], []];

export class Stream {
  private token = "";
  private index = 0;
  private wait = 250;
  private scope = 0;
  private current: AbortController | null = null;  // ends what it waits for now: an answer, or a pause
  private started = false;
  private wasOpen = false;
  private isOver = false;
  private readonly news = new Newest();
  private toldAt = 0;
  private isPlanned = false;

  constructor(private readonly tell: (told: Told) => void, private readonly region = "") {}

  get polls(): boolean {
    return askable[this.scope]?.length === 0;
  }

  start(): void {
    if (this.started || this.isOver) return;
    this.started = true;
    void this.run();
  }

  /** Somebody else: what he may see is found out anew. */
  become(token: string): void {
    this.token = token;
    this.news.take();
    this.scope = 0;
    this.wait = 250;
    this.index = 0;
    this.current?.abort();
  }

  /** Nobody listens any more. */
  end(): void {
    this.isOver = true;
    this.current?.abort();
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      try {
        await this.follow(this.begin());
      } catch {
        // Whatever ended it: it is opened again.
      }
      if (this.isOver) return;
      this.tell({ kind: "connection", state: "reconnecting", polls: this.polls });
      const wait = this.wait;
      this.wait = Math.min(wait * 2, longest_wait);
      await pause(wait * (0.75 + Math.random() / 2), this.begin().signal).catch(() => undefined);  // cut short by end() and become()
    }
  }

  private begin(): AbortController {
    this.current = new AbortController();
    return this.current;
  }

  private async follow(abort: AbortController): Promise<void> {
    const topics = askable[this.scope] ?? [];
    if (topics.length === 0) return this.poll(abort);
    const query = new URLSearchParams([...topics.map((topic) => ["topic", topic]), ["namespace", "*"], ["index", String(this.index)], ...this.place()]);
    const answer = await fetch(`/v1/event/stream?${query}`, { headers: this.headers(), signal: abort.signal, credentials: "omit", cache: "no-store" });
    if (abort.signal.aborted) return;  // what it says is of another token
    if (answer.status === 403) {
      this.scope = Math.min(this.scope + 1, askable.length - 1);
      this.wait = 50;
      return;
    }
    if (!answer.ok || answer.body === null) throw new Error(`status ${answer.status}`);
    this.opened();
    await this.read(answer.body.getReader(), abort);
  }

  /** Without rights to any topic: pages read again from time to time. */
  private async poll(abort: AbortController): Promise<void> {
    for (;;) {
      const answer = await fetch(`/v1/status/leader?${new URLSearchParams(this.place())}`, { headers: this.headers(), signal: abort.signal, credentials: "omit", cache: "no-store" });
      if (answer.status >= 500) throw new Error(`status ${answer.status}`);
      this.opened();
      await pause(poll_interval, abort.signal);
      this.tell({ kind: "stale" });
    }
  }

  private place(): string[][] {
    return this.region === "" ? [] : [["region", this.region]];
  }

  private headers(): Record<string, string> {
    return this.token === "" ? {} : { "X-Nomad-Token": this.token };
  }

  private opened(): void {
    this.wait = 250;
    this.tell({ kind: "connection", state: "live", polls: this.polls });
    // What happened before the first time is told by the stream itself.
    if (this.wasOpen && !this.polls) this.tell({ kind: "stale" });
    this.wasOpen = true;
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>, abort: AbortController): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const timer = setTimeout(() => abort.abort(), silence);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      this.take(lines);
    }
  }

  private take(lines: string[]): void {
    for (const line of lines) {
      if (line.length < 3) continue;  // a heartbeat
      const batch = JSON.parse(line) as { Index?: number; Events?: RawEvent[]; Error?: unknown };
      if (batch.Error !== undefined) throw new Error("the stream says that it ends");
      for (const event of batch.Events ?? []) this.news.add(happenedOf(event));
      if (batch.Index !== undefined) this.index = Math.max(this.index, batch.Index);
    }
    if (this.news.size === 0 || this.isPlanned) return;
    this.isPlanned = true;
    setTimeout(() => this.tellNews(), Math.max(0, this.toldAt + pause_of_telling - performance.now()));
  }

  private tellNews(): void {
    this.isPlanned = false;
    this.toldAt = performance.now();
    if (!this.isOver) this.tell({ kind: "events", events: this.news.take() });
  }
}

/** Rejects when `signal` ends it. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => { clearTimeout(timer); reject(new Error("ended")); };
    const timer = setTimeout(() => { signal.removeEventListener("abort", ended); resolve(); }, milliseconds);
    if (signal.aborted) ended();
    else signal.addEventListener("abort", ended);
  });
}
