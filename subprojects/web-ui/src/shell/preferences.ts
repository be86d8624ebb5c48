// What this browser keeps of how pages look: density, time zone, columns. Nothing is kept until somebody chooses.
import { signal } from "@preact/signals";

export type Density = "comfortable" | "compact";
export type Zone = "browser" | "UTC";

function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** An empty value is what it is without a choice. */
function keep(name: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // It holds for this page.
  }
}

export const density = signal<Density>(kept("density") === "compact" ? "compact" : "comfortable");
export const zone = signal<Zone>(kept("zone") === "UTC" ? "UTC" : "browser");

density.subscribe((now) => {
  const { documentElement } = globalThis.document ?? {};
  if (documentElement) documentElement.dataset["density"] = now;
});

export function chooseDensity(to: Density): void {
  density.value = to;
  keep("density", to === "comfortable" ? "" : to);
}

export function chooseZone(to: Zone): void {
  zone.value = to;
  keep("zone", to === "browser" ? "" : to);
}

/** A time whole, in the zone that was chosen, which it names. */
export function exactly(at: number): string {
  return new Date(at).toLocaleString(undefined, { timeZone: timeZone(), dateStyle: "medium", timeStyle: "long" });
}

/** "14:03:07": of a day that is known. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { timeZone: timeZone() });
}

function timeZone(): string | undefined {
  return zone.value === "UTC" ? "UTC" : undefined;
}

const hidden = signal<Record<string, readonly string[]>>({});

/** Names of the columns of a list that are not shown. */
export function hiddenColumns(list: string, usually: readonly string[]): readonly string[] {
  const known = hidden.value[list];
  if (known) return known;
  const said = kept(`hidden columns of ${list}`);
  return said === "" ? usually : said === "none" ? [] : said.split(",");
}

export function hideColumns(list: string, names: readonly string[]): void {
  hidden.value = { ...hidden.value, [list]: names };
  keep(`hidden columns of ${list}`, names.length === 0 ? "none" : names.join(","));
}
