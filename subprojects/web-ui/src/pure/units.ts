// Sizes, times and ids as people read them.

const size_units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count: number): string {
  let left = count;
  let unit = 0;
  while (left >= 1024 && unit < size_units.length - 1) { left /= 1024; unit += 1; }
  return `${left >= 100 || unit === 0 ? Math.round(left) : Number(left.toPrecision(3))} ${size_units[unit]}`;
}

export function mebibytes(count: number): string {
  return bytes(count * 1024 * 1024);
}

const time_steps: readonly (readonly [number, string])[] = [[86_400, "d"], [3_600, "h"], [60, "m"], [1, "s"]];

/** "2h 5m" of seconds: the two largest units. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  let left = Math.max(0, Math.round(seconds));
  const words: string[] = [];
  for (const [size, unit] of time_steps) {
    if (left >= size || (unit === "s" && words.length === 0)) {
      words.push(`${Math.floor(left / size)}${unit}`);
      left %= size;
    }
    if (words.length === 2) break;
  }
  return words.join(" ");
}

/** "12s ago"; what lies ahead, as with a clock that differs, is "now". */
export function ago(then: number, now: number): string {
  if (!then) return "";
  const seconds = (now - then) / 1000;
  return seconds < 1 ? "now" : `${duration(seconds).split(" ")[0]} ago`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)}%` : "";
}

export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** Milliseconds of Nomad's nanoseconds since 1970. */
export function milliseconds(nanoseconds: number): number {
  return nanoseconds / 1e6;
}

/** "1 job", "2 jobs". */
export function several(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
