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
