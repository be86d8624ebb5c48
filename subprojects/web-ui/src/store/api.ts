// Requests to the agent: with the token, the region, and the errors that it answers with.
import { signal } from "@preact/signals";

export const token = signal("");
/** Whose objects pages show; empty is the agent's own. It stands in the address (router.ts). */
export const region = signal(new URLSearchParams(location.search).get("region") ?? "");
/** That lists are of; "*" is all. */
export const namespace = signal(chosen());

function chosen(): string {
  try {
    return sessionStorage.getItem("namespace") || "*";
  } catch {
    return "*";
  }
}

/** How far the agent's clock is ahead of the browser's, in milliseconds: ages count by the agent's. Less than what a clock may be off is nothing. */
export const clockAhead = signal(0);
const clocks_differ = 30_000;

function noteClock(answer: Response, asked: number): void {
  const said = Date.parse(answer.headers.get("Date") ?? "");
  const ahead = said - (asked + Date.now()) / 2;
  if (Number.isNaN(said) || Date.now() - asked > clocks_differ / 2) return;
  if (Math.abs(ahead) < clocks_differ) clockAhead.value = 0;
  else if (Math.abs(ahead - clockAhead.value) > clocks_differ) clockAhead.value = ahead;
}

export class ApiError extends Error {
  constructor(readonly status: number, text: string) {
    super(text.trim() || `The agent answered with status ${status}`);
  }
}

export interface Answered<T> {
  value: T;
  index: number;
  next: string;  // token of the next page; empty on the last
}

export type Query = Record<string, string | number | boolean | undefined>;

export function url(path: string, query: Query = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") all.set(name, String(value));
  if (region.value !== "" && !all.has("region")) all.set("region", region.value);
  const text = all.toString();
  return text === "" ? path : path + (path.includes("?") ? "&" : "?") + text;
}

export function headers(): Record<string, string> {
  return token.value === "" ? {} : { "X-Nomad-Token": token.value };
}

export async function request(method: string, path: string, query: Query = {}, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  const asked = Date.now();
  try {
    answer = await fetch(url(path, query), {
      method, headers: headers(), credentials: "omit", cache: "no-store", signal: signal ?? null,
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (wrong) {
    if (signal?.aborted) throw wrong;
    throw new ApiError(0, "The agent cannot be reached");
  }
  noteClock(answer, asked);
  if (!answer.ok) throw new ApiError(answer.status, await answer.text());
  return answer;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answered<T>> {
  const answer = await request("GET", path, query, undefined, signal);
  return { value: await json<T>(answer), index: Number(answer.headers.get("X-Nomad-Index") ?? 0), next: answer.headers.get("X-Nomad-NextToken") ?? "" };
}

export async function send<T>(method: "PUT" | "POST" | "DELETE", path: string, query: Query = {}, body?: unknown): Promise<T> {
  return json<T>(await request(method, path, query, body));
}

async function json<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  if (text === "") return null as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(answer.status, "The agent's answer is cut off or no JSON");
  }
}

/** One word of a path. */
export function word(text: string): string {
  return encodeURIComponent(text);
}

/** What went wrong, in words. */
export function said(wrong: unknown): string {
  return wrong instanceof Error ? wrong.message : String(wrong);
}
