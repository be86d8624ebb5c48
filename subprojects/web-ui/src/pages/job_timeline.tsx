// What became of a job, in time: a picture with the words beside it.
import type { JSX } from "preact";
import { Ago, Panel, Table, now } from "../parts/parts.tsx";
import { happeningsOf, lanesOf, type Lane, type PastAlloc } from "../pure/timeline.ts";
import { clock } from "../shell/preferences.ts";
import { link, place, setParameter } from "../shell/router.ts";
import { useData } from "../store/data.ts";
import type { JobProps } from "./job.tsx";
import type { Job } from "./job_types.ts";

const hour = 3_600_000;
const spans: readonly (readonly [string, number])[] = [["1 h", hour], ["6 h", 6 * hour], ["24 h", 24 * hour], ["7 d", 168 * hour]];
const width = 900;
const lane_height = 22;
const names_width = 190;
const most_lanes = 40;
const most_told = 200;

const kindOf = (status: string): string => (status === "running" ? "good" : status === "failed" || status === "lost" ? "bad" : status === "pending" || status === "unknown" ? "waiting" : "over");

function Picture({ lanes, versions, from, to, job }: { lanes: Lane[]; versions: readonly Job[]; from: number; to: number; job: string }): JSX.Element {
  const x = (at: number): number => names_width + Math.max(0, Math.min(1, (at - from) / (to - from))) * (width - names_width - 2);
  const shown = lanes.slice(0, most_lanes);
  const height = shown.length * lane_height + 40;
  const short = (name: string): string => (name.startsWith(`${job}.`) ? name.slice(job.length + 1) : name).slice(0, 24);
  return <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the timeline"><svg class="timeline" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
    {[0, 0.25, 0.5, 0.75, 1].map((share) => <text key={share} class="faint" x={x(from + share * (to - from))} y={height - 6} text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}>{clock(from + share * (to - from)).slice(0, 5)}</text>)}
    {shown.map((lane, row) => <g key={lane.name}><text x={4} y={row * lane_height + 36}>{short(lane.name)}</text>
      {lane.bars.map((bar) => <a key={bar.id} href={link("allocations", bar.id)} aria-label={`${lane.name} ${bar.version === undefined ? "" : `v${bar.version} `}${bar.id.slice(0, 8)} ${bar.status}`}>
        <rect class={kindOf(bar.status)} x={x(bar.from)} y={row * lane_height + 23} width={Math.max(2, x(bar.to) - x(bar.from))} height={lane_height - 6} rx={2} />
        {bar.version !== undefined && x(bar.to) - x(bar.from) > 30 ? <text class="inside" x={x(bar.from) + 5} y={row * lane_height + 35}>v{bar.version}</text> : null}</a>)}</g>)}
    {versions.filter((one) => one.SubmitTime / 1e6 >= from).map((one) => <g key={one.Version}><path class="version" d={`M${x(one.SubmitTime / 1e6).toFixed(1)} 16V${height - 20}`} /><text class="faint" x={x(one.SubmitTime / 1e6) + 3} y={14}>v{one.Version}</text></g>)}
  </svg></div>;
}

export function TimelineTab({ id, path, ns, when }: JobProps): JSX.Element {
  const allocs = useData<PastAlloc[]>(`${path}/allocations`, { namespace: ns, all: "true" }, { when });
  const versions = useData<{ Versions: Job[] | null }>(`${path}/versions`, { namespace: ns }, { when });
  const chosen = place.value.query.get("span") ?? "1 h";
  const to = now.value;
  const from = to - (spans.find(([name]) => name === chosen)?.[1] ?? hour);
  return <Panel title="Timeline" data={allocs} needs={`read-job in namespace ${ns}`}>{(all) => {
    const known = versions.value?.Versions ?? [];
    const lanes = lanesOf(all, from, to);
    const told = happeningsOf(all, known, from);
    return <><fieldset class="choice"><legend class="hidden">Time</legend>{spans.map(([name]) => <label><input type="radio" name="span" checked={chosen === name} onChange={() => setParameter("span", name)} />{name}</label>)}</fieldset>
      <Picture lanes={lanes} versions={known} from={from} to={to} job={id} />
      {lanes.length > most_lanes ? <p class="faint">{most_lanes} of {lanes.length} slots.</p> : null}
      {told.length === 0 ? <p class="faint">Nothing happened in this time.</p> : <Table name="What happened" rows={told.slice(0, most_told)} keyOf={(one) => `${one.at} ${one.alloc} ${one.text}`} columns={[
        { name: "When", cell: (one) => <><Ago at={one.at} /> <span class="faint">{clock(one.at)}</span></> },
        { name: "What", cell: (one) => (one.alloc ? <a href={link("allocations", one.alloc)}>{one.text}</a> : one.text) }]} />}
      {told.length > most_told ? <p class="faint">The newest {most_told} of {told.length}.</p> : null}</>;
  }}</Panel>;
}
