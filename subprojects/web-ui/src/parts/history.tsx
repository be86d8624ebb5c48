// What tasks and machines have used, as their agent remembers it: pictures with the figures beside them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { lastOf, newestOf, outlineOf, seriesFor, type Measure } from "../pure/series.ts";
import { bytes, duration, mebibytes, several } from "../pure/units.ts";
import { useData } from "../store/data.ts";
import type { Past, Subject } from "../store/samples.ts";

const every = 10_000;  // as often as a sample is taken
const width = 320;
const height = 48;

/** `reserved` is drawn as a line, where there is one; texts say the same. */
function Chart({ name, samples, reserved, text }: { name: string; samples: (number | null)[]; reserved: number; text: (value: number) => string }): JSX.Element {
  const now = newestOf(samples);
  const most = Math.max(reserved, ...samples.map((sample) => sample ?? 0)) * 1.05;
  const level = most > 0 ? height - (reserved / most) * height : height;
  return <figure class="chart"><figcaption>{name} {now === undefined ? <span class="faint">no samples yet</span> : <>{text(now)}{reserved > 0 ? <span class="faint"> of {text(reserved)}</span> : null}</>}</figcaption>
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {reserved > 0 ? <path class="reserved" d={`M0 ${level.toFixed(1)}H${width}`} /> : null}<path class="used" d={outlineOf(samples, width, height, most)} /></svg></figure>;
}

/** MHz, as reservations are. */
const cpu = (value: number): string => `${Math.round(value)} MHz`;

const spans: readonly (readonly [string, number])[] = [["1 h", 3_600], ["24 h", 86_400]];

/** Of an allocation's tasks, or of a machine. Nothing until something is remembered. */
export function History({ of }: { of: Subject }): JSX.Element | null {
  const [seconds, setSeconds] = useState(3_600);
  const past = useData<Past[]>("/v1/client/metrics/history", of, { every });
  if (!past.value || past.value.length === 0) return null;
  const units: Record<Measure, (value: number) => string> = { CPU: cpu, Memory: bytes, Network: (value) => `${bytes(value)}/s` };
  return <section class="panel"><div class="actions"><h2>History</h2>
    <fieldset class="choice"><legend class="hidden">Time</legend>{spans.map(([name, span]) => <label><input type="radio" name="span" checked={seconds === span} onChange={() => setSeconds(span)} />{name}</label>)}</fieldset></div>
    {past.value.map((one) => {
      const series = seriesFor(one.Series ?? [], seconds);
      const reserved: Record<Measure, number> = { CPU: one.Reserved?.CPU ?? 0, Memory: (one.Reserved?.MemoryMB ?? 0) * 1024 * 1024, Network: 0 };
      return <div class="past" key={one.Task}>{one.Task ? <h3>{one.Task}</h3> : null}
        <div class="charts">{series ? (["CPU", "Memory", "Network"] as const).filter((measure) => series[measure].some((sample) => sample !== null))
          .map((measure) => <Chart key={measure} name={measure} samples={lastOf(series, measure, seconds)} reserved={reserved[measure]} text={units[measure]} />) : null}</div>
        {one.P95 && one.P95.Seconds > 0 ? <p class="faint">19 of 20 samples of the last {duration(one.P95.Seconds)} were at most {cpu(one.P95.CPU)} and {bytes(one.P95.Memory)}{one.Reserved && one.Reserved.CPU + one.Reserved.MemoryMB > 0 ? `; reserved are ${cpu(one.Reserved.CPU)} and ${mebibytes(one.Reserved.MemoryMB)}` : ""}{one.Restarts > 0 ? `; it was restarted ${several(one.Restarts, "time")}` : ""}.</p> : null}
        {(one.Advice ?? []).map((advice) => <p class="warning" key={advice.Resource}>Advice: {advice.Text}</p>)}</div>;
    })}</section>;
}
