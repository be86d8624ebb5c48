// The page's side of the stream: connection, token, and events, which are applied once per frame.
import { effect, signal } from "@preact/signals";
import { Newest } from "../pure/rows.ts";
import { region, token } from "./api.ts";
import type { Asked, Connection, Happened, Told } from "./messages.ts";
import { Stream } from "./stream.ts";

export const connection = signal<Connection>("connecting");
export const polls = signal(false);
export const lastHeard = signal(Date.now());

type Listener = (events: Happened[] | "stale") => void;
const listeners = new Set<Listener>();
const hearers: ((events: Happened[]) => void)[] = [];
const most_waiting = 10_000;  // of a hidden page; beyond, it reads again
const waiting = new Newest();
let isStale = false;
let isPlanned = false;
let ask: (asked: Asked) => void = () => undefined;

/** Calls back with what happened, at most once a frame; with "stale" when something was missed. */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls back with events as they come, also while nobody looks at the page. */
export function onHeard(listener: (events: Happened[]) => void): void {
  hearers.push(listener);
}

function deliver(): void {
  isPlanned = false;
  const events = waiting.take();
  const missed = isStale;
  isStale = false;
  for (const listener of [...listeners]) {
    if (missed) listener("stale");
    else if (events.length > 0) listener(events);
  }
}

/** A hidden page asks for nothing: what happens waits until somebody looks. */
function plan(): void {
  if (isPlanned || document.hidden) return;
  isPlanned = true;
  requestAnimationFrame(deliver);
}

function keep(events: Happened[]): void {
  for (const hear of hearers) hear(events);
  for (const event of events) waiting.add(event);
  if (waiting.size <= most_waiting) return;
  waiting.take();
  isStale = true;
}

function take(told: Told): void {
  lastHeard.value = Date.now();
  if (told.kind === "connection") {
    connection.value = told.state;
    polls.value = told.polls;
  } else if (told.kind === "token") {
    // Of another tab: who signs out in one, is out in all.
    if (told.token === token.value) return;
    keepToken(told.token);
    if (told.token === "") store(() => localStorage, "");
  } else {
    if (told.kind === "stale") isStale = true;
    else keep(told.events);
    plan();
  }
}

function kept(at: () => Storage): string {
  try {
    return at().getItem("token") ?? "";
  } catch {
    return "";
  }
}

function store(at: () => Storage, value: string): void {
  try {
    if (value === "") at().removeItem("token");
    else at().setItem("token", value);
  } catch {
    // It holds for this page.
  }
}

function keepToken(value: string): void {
  token.value = value;
  store(() => sessionStorage, value);
}

/** Whether the token stays beyond this session of the browser. */
export function isKept(): boolean {
  return token.value !== "" && kept(() => localStorage) === token.value;
}

/** Signs in with a token, or out with "". `stays`: beyond this session of the browser, which no other token does then. */
export function useToken(value: string, stays = false): void {
  keepToken(value);
  store(() => localStorage, stays ? value : "");
  ask({ kind: "token", token: value });
}

function worker(path: string): (asked: Asked) => void {
  const policy = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } }).trustedTypes
    ?.createPolicy("worker", { createScriptURL: (url: string) => url });
  const { port } = new SharedWorker(policy ? policy.createScriptURL(path) : path, { type: "module", name: "nomad" });
  port.onmessage = (message: MessageEvent<Told>) => take(message.data);
  addEventListener("pagehide", () => port.postMessage({ kind: "bye" } satisfies Asked));
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  return (asked) => port.postMessage(asked);
}

/** A page of its own, in a browser without shared workers. */
function alone(): (asked: Asked) => void {
  let own: Stream | undefined;
  return (asked) => {
    if (asked.kind === "token") own?.become(asked.token);
    if (asked.kind !== "hello") return;
    own?.end();
    own = new Stream(take, asked.region);
    own.become(token.value);
    own.start();
  };
}

export function connect(path: string): void {
  token.value = kept(() => sessionStorage) || kept(() => localStorage);
  ask = "SharedWorker" in globalThis ? worker(path) : alone();
  if (token.value !== "") ask({ kind: "token", token: token.value });
  effect(() => ask({ kind: "hello", region: region.value }));
  document.addEventListener("visibilitychange", () => { if (isStale || waiting.size > 0) plan(); });
}
