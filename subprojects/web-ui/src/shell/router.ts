// The address of the page: Nomad's paths below /ui/, with history. Links are followed here (main.tsx).
import { signal } from "@preact/signals";
import { aliasOf } from "../pure/aliases.ts";
import { namespace, region } from "../store/api.ts";

export interface Place {
  path: string[];  // decoded words behind /ui/
  query: URLSearchParams;
}

function read(): Place {
  const words = location.pathname.replace(/^\/ui\/?/, "").split("/").filter((word) => word !== "").map(decode);
  const query = new URLSearchParams(location.search);
  const alias = aliasOf(words);
  if (alias) {
    for (const [name, value] of Object.entries(alias.query)) query.set(name, value);
    const text = query.toString();
    history.replaceState(null, "", link(...alias.path) + (text === "" ? "" : `?${text}`));
    return { path: alias.path, query };
  }
  // Nomad's lists say so whose they are.
  if (words.length <= 1 && query.has("namespace")) namespace.value = query.get("namespace") || "*";
  return { path: words, query };
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export const place = signal<Place>(read());

/** A path with the region that pages are of. */
export function inRegion(path: string): string {
  const to = new URL(path, location.origin);
  if (region.value === "") to.searchParams.delete("region");
  else to.searchParams.set("region", region.value);
  return to.pathname + to.search;
}

/** Goes to a path as `link` makes it, of the same region; `replaces` leaves no way back. */
export function go(path: string, replaces = false): void {
  if (replaces) history.replaceState(null, "", inRegion(path));
  else history.pushState(null, "", inRegion(path));
  place.value = read();
}

/** Lists of another namespace; "*" is all. */
export function chooseNamespace(name: string): void {
  namespace.value = name;
  try {
    sessionStorage.setItem("namespace", name);
  } catch {
    // It holds for this page.
  }
  if (place.value.query.has("namespace") && place.value.path.length === 1) setParameter("namespace", name);
}

/** The same page of another region. */
export function goToRegion(name: string): void {
  region.value = name;
  go(location.pathname + location.search);
}

addEventListener("popstate", () => {
  region.value = new URLSearchParams(location.search).get("region") ?? "";
  place.value = read();
});

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

/** A value that stands in the address under a name, but for what it is without one; and how it is changed. */
export function addressed(name: string, otherwise = ""): [string, (value: string) => void] {
  return [place.value.query.get(name) ?? otherwise, (value) => setParameter(name, value === otherwise ? "" : value)];
}

/** Replaces one parameter of the address; an empty value removes it. */
export function setParameter(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  if (value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  go(location.pathname + (text === "" ? "" : `?${text}`), true);
}
