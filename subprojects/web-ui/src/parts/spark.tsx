// The last hour of a row's use, as a line and a word.
import type { JSX } from "preact";
import { newestOf, outlineOf } from "../pure/series.ts";
import { bytes, percent } from "../pure/units.ts";
import { useSampled, type Subject } from "../store/samples.ts";

const width = 44;
const height = 16;

/** `whole` is what there is, where nothing is reserved: MHz, or bytes. `about` says whose it is, where not of all. */
export function Spark({ of, measure, whole = 0, about = "" }: { of: readonly Subject[]; measure: "cpu" | "memory"; whole?: number; about?: string }): JSX.Element | null {
  const sampled = useSampled(of);
  const samples = sampled?.[measure] ?? [];
  const now = newestOf(samples);
  if (!sampled || now === undefined) return null;
  const reserved = (measure === "cpu" ? sampled.reservedCpu : sampled.reservedMemory) || whole;
  const said = (value: number): string => (measure === "cpu" ? `${Math.round(value)} MHz` : bytes(value));
  const most = Math.max(reserved, ...samples.map((sample) => sample ?? 0));
  return <span class="spark" title={`${said(now)}${reserved > 0 ? ` of ${said(reserved)}` : ""}${about}`}>
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true"><path d={outlineOf(samples, width, height - 1, most)} /></svg>
    {reserved > 0 ? percent(now, reserved) : said(now)}</span>;
}
