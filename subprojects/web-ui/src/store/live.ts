// The page's side of the stream: connection, token, and events, which are applied once per frame.
import { signal } from "@preact/signals";
import { token } from "./api.ts";
import type { Asked, Connection, Happened, Told } from "./messages.ts";
import { Stream } from "./stream.ts";

export const connection = signal<Connection>("connecting");
export const polls = signal(false);
export const lastHeard = signal(Date.now());

type Listener = (events: Happened[] | "stale") => void;
const listeners = new Set<Listener>();
let waiting: Happened[] = [];
let isStale = false;
let isPlanned = false;
let ask: (asked: Asked) => void = () => undefined;

/** Calls back with what happened, at most once a frame; with "stale" when something was missed. */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function deliver(): void {
  isPlanned = false;
  const events = waiting;
  const missed = isStale;
  waiting = [];
  isStale = false;
  for (const listener of [...listeners]) {
    if (missed) listener("stale");
    else if (events.length > 0) listener(events);
  }
}

function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  // A hidden tab has no frames.
  if (document.hidden) setTimeout(deliver, 250);
  else requestAnimationFrame(deliver);
}

function take(told: Told): void {
  lastHeard.value = Date.now();
  if (told.kind === "connection") {
    connection.value = told.state;
    polls.value = told.polls;
  } else if (told.kind === "token") {
    // Of another tab: who signs out in one, is out in all.
    if (told.token !== token.value) keepToken(told.token, false);
  } else {
    if (told.kind === "stale") isStale = true;
    else waiting.push(...told.events);
    plan();
  }
}

function kept(store: () => Storage): string {
  try {
    return store().getItem("token") ?? "";
  } catch {
    return "";
  }
}

function keep(store: () => Storage, value: string): void {
  try {
    if (value === "") store().removeItem("token");
    else store().setItem("token", value);
  } catch {
    // It holds for this page.
  }
}

function keepToken(value: string, stays: boolean): void {
  token.value = value;
  keep(() => sessionStorage, value);
  if (stays || value === "") keep(() => localStorage, value);
}

/** Signs in with a token, or out with "". `stays`: beyond this session of the browser. */
export function useToken(value: string, stays = false): void {
  keepToken(value, stays);
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

export function connect(path: string): void {
  token.value = kept(() => sessionStorage) || kept(() => localStorage);
  if ("SharedWorker" in globalThis) {
    ask = worker(path);
  } else {
    const own = new Stream(take);
    ask = (asked) => { if (asked.kind === "token") own.become(asked.token); };
    setTimeout(() => own.start(), 0);
  }
  if (token.value !== "") ask({ kind: "token", token: token.value });
  ask({ kind: "hello" });
}
