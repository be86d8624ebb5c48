// The one event stream of a browser and region: keeps it open, tells what comes, and when something was missed. Used by the worker,
// and by a page whose browser has no shared workers. It is a websocket, of which browsers allow a host some two hundred; where none comes
// through, as behind a proxy that passes none, it is the body of an answer, which takes one of six connections.
import { Newest, happenedOf, type RawEvent } from "../pure/rows.ts";
import type { Told } from "./messages.ts";

const silence = 35_000;  // heartbeats come every 30 s
const longest_wait = 10_000;
const poll_interval = 5_000;
const pause_of_telling = 100;  // of a burst; what comes after a silence is told at once
const object_topics = ["Job", "Allocation", "Evaluation", "Deployment", "Service"];

/** Opens a websocket at a path of the agent; null where there are none. */
export type Dial = ((path: string) => WebSocket) | null;

function dialHere(): Dial {
  if (!("WebSocket" in globalThis) || !("location" in globalThis)) return null;
  return (path) => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
}

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

  constructor(private readonly tell: (told: Told) => void, private readonly region = "", private readonly dial: Dial = dialHere()) {}

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
    if (this.dial && await this.followSocket(this.dial, `/v1/event/stream?${query}`, abort)) return;
    if (abort.signal.aborted) return;
    // It was not let in, or none comes through: an answer says which, with a status.
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

  /** Whether a websocket was let in; it has ended then. */
  private followSocket(dial: NonNullable<Dial>, path: string, abort: AbortController): Promise<boolean> {
    const socket = dial(`${path}&ws_handshake=true`);
    return new Promise((resolve) => {
      let isIn = false;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const ended = (): void => { clearTimeout(timer); resolve(isIn); };
      // Of a connection that is dead nothing comes any more, not even its end.
      const end = (): void => { socket.close(); ended(); };
      const waitAgain = (): void => { clearTimeout(timer); timer = setTimeout(end, silence); };
      waitAgain();
      abort.signal.addEventListener("abort", end, { once: true });
      socket.onopen = () => socket.send(JSON.stringify({ version: 1, auth_token: this.token }));
      socket.onmessage = ({ data }: MessageEvent<string>) => {
        if (abort.signal.aborted) return;
        waitAgain();
        if (!isIn) this.opened();
        isIn = true;
        try {
          this.take(data.split("\n"));
        } catch {
          end();  // as it says itself
        }
      };
      socket.onclose = ended;
      socket.onerror = () => undefined;  // a close follows
    });
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
