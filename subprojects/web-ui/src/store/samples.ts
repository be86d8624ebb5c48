// What the rows in sight have used, as agents remember it: read one after the other, never two at once, each again after a minute while
// it is in sight. A hidden page reads none.
import { signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { lastOf, meanOf, mostOf, seriesFor, summed, thinned, type Series } from "../pure/series.ts";
import { ApiError, get, region, token } from "./api.ts";

/** A task's, or a machine's with an empty name. */
export interface Past {
  Task: string;
  Series: Series[] | null;
  Restarts: number;
  Reserved?: { CPU: number; MemoryMB: number } | null;
  P95?: { CPU: number; Memory: number; Seconds: number } | null;
  Advice?: { Resource: string; Text: string }[] | null;
}

/** Of all tasks together, the newest last. */
export interface Sampled {
  cpu: (number | null)[];     // MHz
  memory: (number | null)[];  // bytes
  reservedCpu: number;
  reservedMemory: number;  // bytes
}

export type Subject = { alloc_id: string } | { node_id: string };

const again_after = 60_000;
const settle = 300;        // until what scrolls by has gone
const longest_kept = 500;  // subjects
export const points = 30;
const hour = 3_600;

interface Known {
  signal: Signal<Sampled | null>;
  wanted: number;  // how many rows show it
  due: number;     // of performance.now()
  of: Subject;
}

const known = new Map<string, Known>();
let isReading = false;
let timer: ReturnType<typeof setTimeout> | undefined;
token.subscribe(() => { for (const one of known.values()) { one.signal.value = null; one.due = 0; } });

function keyOf(of: Subject): string {
  return `${JSON.stringify(of)} ${region.value}`;
}

function knownOf(of: Subject): Known {
  const key = keyOf(of);
  let one = known.get(key);
  if (!one) {
    known.set(key, one = { signal: signal(null), wanted: 0, due: 0, of });
    if (known.size > longest_kept) for (const [old, { wanted }] of known) if (wanted === 0) { known.delete(old); break; }
  }
  return one;
}

export function sampledOf(past: readonly Past[]): Sampled {
  const each = past.map((one) => ({ one, series: seriesFor(one.Series ?? [], hour) }));
  // What has just begun fills the picture as far as it goes.
  const line = (measure: "CPU" | "Memory", of: (samples: number[]) => number): (number | null)[] => summed(each.map(({ series }) => (series
    ? thinned(lastOf(series, measure, Math.min(hour, series.Interval * Math.max(points, series.CPU.length))), points, of) : [])));
  return { cpu: line("CPU", meanOf), memory: line("Memory", mostOf),
    reservedCpu: past.reduce((sum, one) => sum + (one.Reserved?.CPU ?? 0), 0), reservedMemory: past.reduce((sum, one) => sum + (one.Reserved?.MemoryMB ?? 0), 0) * 1024 * 1024 };
}

async function readDue(): Promise<void> {
  timer = undefined;
  if (isReading || document.hidden) return;
  isReading = true;
  for (;;) {
    const one = [...known.values()].find(({ wanted, due }) => wanted > 0 && due <= performance.now());
    if (!one || document.hidden) break;
    one.due = performance.now() + again_after;
    const asked = token.value;
    const value = await get<Past[]>("/v1/client/metrics/history", one.of).then((got) => sampledOf(got.value ?? []), (wrong: unknown) => {
      if (wrong instanceof ApiError && wrong.status === 403) one.due = Infinity;  // until there is another token
      return undefined;
    });
    if (value && asked === token.value) one.signal.value = value;
  }
  isReading = false;
  plan(1_000);
}

/** Looks again when something is due. */
function plan(soonest: number): void {
  if (timer !== undefined) return;
  const dues = [...known.values()].filter(({ wanted }) => wanted > 0).map(({ due }) => due);
  if (!dues.some(Number.isFinite)) return;
  timer = setTimeout(() => void readDue(), Math.max(soonest, Math.min(...dues) - performance.now()));
}

globalThis.document?.addEventListener("visibilitychange", () => { if (!document.hidden) plan(settle); });

/** Of several together what they have used; null until something is known. They are read while this is shown. */
export function useSampled(subjects: readonly Subject[]): Sampled | null {
  const key = subjects.map(keyOf).join();
  useEffect(() => {
    const mine = subjects.map(knownOf);
    for (const one of mine) one.wanted += 1;
    if (mine.some(({ due }) => due <= performance.now())) { clearTimeout(timer); timer = undefined; }
    plan(settle);
    return () => { for (const one of mine) one.wanted -= 1; };
  }, [key]);
  const all = subjects.map((of) => knownOf(of).signal.value).filter((one) => one !== null);
  if (all.length === 0) return null;
  return { cpu: summed(all.map((one) => one.cpu)), memory: summed(all.map((one) => one.memory)),
    reservedCpu: all.reduce((sum, one) => sum + one.reservedCpu, 0), reservedMemory: all.reduce((sum, one) => sum + one.reservedMemory, 0) };
}
