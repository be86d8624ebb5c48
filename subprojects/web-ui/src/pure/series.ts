// The past of a task or a machine, as the agent keeps it: samples at even distances, the newest last; null where none was taken.

export interface Series {
  Interval: number;  // seconds between samples
  End: number;       // when the newest was taken, in seconds since 1970
  CPU: (number | null)[];
  Memory: (number | null)[];
  Network: (number | null)[];
}

export type Measure = "CPU" | "Memory" | "Network";

const most_samples = 400;  // of a picture
const least_samples = 12;

/** The finest series whose samples of the last `seconds` fit a picture. One that has just begun says less than a finer one. */
export function seriesFor(all: readonly Series[], seconds: number): Series | undefined {
  const byFineness = all.filter((one) => one.CPU.length > 0).sort((a, b) => a.Interval - b.Interval);
  const fits = byFineness.find((one) => seconds / one.Interval <= most_samples);
  return fits && fits.CPU.length >= least_samples ? fits : byFineness[0];
}

/** Samples of the last `seconds`, the newest last; null for the time before the first. */
export function lastOf(series: Series, measure: Measure, seconds: number): (number | null)[] {
  const wanted = Math.max(1, Math.ceil(seconds / series.Interval));
  const known = series[measure].slice(-wanted);
  return [...new Array<null>(wanted - known.length).fill(null), ...known];
}

/** The outline of samples in a box, with gaps where there is none. `most` is the box's height in their unit. */
export function outlineOf(samples: readonly (number | null)[], width: number, height: number, most: number): string {
  const step = samples.length > 1 ? width / (samples.length - 1) : 0;
  let path = "";
  let isPen = false;
  samples.forEach((sample, at) => {
    if (sample === null) { isPen = false; return; }
    const x = Number((at * step).toFixed(1));
    const y = Number((height - (most > 0 ? Math.min(1, sample / most) : 0) * height).toFixed(1));
    // A sample alone between gaps is a point.
    path += isPen ? `L${x} ${y}` : `M${x} ${y}h.1`;
    isPen = true;
  });
  return path;
}

export function newestOf(samples: readonly (number | null)[]): number | undefined {
  for (let at = samples.length - 1; at >= 0; at -= 1) { const sample = samples[at]; if (sample != null) return sample; }
  return undefined;
}

/** So many samples instead of more, each what `of` makes of those it stands for; those before the first are null. */
export function thinned(samples: readonly (number | null)[], count: number, of: (known: number[]) => number): (number | null)[] {
  const each = Math.max(1, Math.ceil(samples.length / count));
  const made: (number | null)[] = [];
  for (let end = samples.length; end > 0 && made.length < count; end -= each) {
    const known = samples.slice(Math.max(0, end - each), end).filter((sample) => sample !== null);
    made.push(known.length > 0 ? of(known) : null);
  }
  return [...new Array<null>(count - made.length).fill(null), ...made.reverse()];
}

/** Of several together, the newest samples below each other. */
export function summed(all: readonly (readonly (number | null)[])[]): (number | null)[] {
  const longest = Math.max(0, ...all.map((one) => one.length));
  return Array.from({ length: longest }, (_, at) => {
    const known = all.map((one) => one[at - (longest - one.length)]).filter((sample) => sample != null);
    return known.length > 0 ? known.reduce((sum, sample) => sum + sample, 0) : null;
  });
}

export const meanOf = (known: readonly number[]): number => known.reduce((sum, sample) => sum + sample, 0) / known.length;
export const mostOf = (known: readonly number[]): number => Math.max(...known);
