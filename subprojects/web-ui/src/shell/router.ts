// The address of the page: Nomad's paths below /ui/, with history. Links are followed here (main.tsx).
import { signal } from "@preact/signals";

export interface Place {
  path: string[];  // decoded words behind /ui/
  query: URLSearchParams;
}

function read(): Place {
  const words = location.pathname.replace(/^\/ui\/?/, "").split("/").filter((word) => word !== "");
  return { path: words.map(decode), query: new URLSearchParams(location.search) };
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export const place = signal<Place>(read());

/** Goes to a path as `link` makes it; `replaces` leaves no way back. */
export function go(path: string, replaces = false): void {
  if (replaces) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  place.value = read();
}

addEventListener("popstate", () => { place.value = read(); });

/** "/ui/jobs/a%2Fb@default": each word is escaped. */
export function link(...words: string[]): string {
  return "/ui/" + words.map((word) => encodeURIComponent(word).replaceAll("%40", "@")).join("/");
}

export function jobLink(id: string, ns: string, ...rest: string[]): string {
  return link("jobs", `${id}@${ns}`, ...rest);
}

/** A name and its namespace, of "name@namespace"; without one, the query's or the default. */
export function splitName(word: string, query: URLSearchParams): { name: string; ns: string } {
  const at = word.lastIndexOf("@");
  if (at > 0) return { name: word.slice(0, at), ns: word.slice(at + 1) };
  return { name: word, ns: query.get("namespace") ?? "default" };
}

/** Replaces one parameter of the address; an empty value removes it. */
export function setParameter(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  if (value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  go(location.pathname + (text === "" ? "" : `?${text}`), true);
}
