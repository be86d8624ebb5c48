// The list of jobs: what they are, how they stand, and why one is not whole.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { BulkAction } from "../parts/bulk.tsx";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import { Ago, Heading, Status } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { memberOf, withMember } from "../pure/filter.ts";
import { milliseconds } from "../pure/units.ts";
import { eval_fields } from "../pure/rows.ts";
import { hiddenColumns } from "../shell/preferences.ts";
import { jobLink, link, place, setParameter } from "../shell/router.ts";
import { get, namespace, send, word } from "../store/api.ts";
import { useList } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import { restartJob, startJob } from "./job_deeds.ts";
import type { Happened } from "../store/messages.ts";
import { countsOf, reasonsOf, type Evaluation, type JobStatus, type JobStub } from "./job_types.ts";

const idOf = (job: JobStub): string => `${job.Namespace}/${job.ID}`;

/** The job that an event is about. */
function touched(event: Happened): string | undefined {
  return event.job && ["Job", "Allocation", "Evaluation", "Deployment"].includes(event.topic) ? `${event.ns}/${event.job}` : undefined;
}

async function readOne(id: string): Promise<JobStub | undefined> {
  const at = id.indexOf("/");
  const { value } = await get<JobStub[]>("/v1/jobs", { prefix: id.slice(at + 1), namespace: id.slice(0, at), per_page: 1 });
  return value.find((job) => idOf(job) === id);
}

/** What the agent says besides of the jobs in sight. */
const details = signal<ReadonlyMap<string, JobStatus>>(new Map());
const pause_of_details = 200;

function useDetails(): (rows: readonly JobStub[]) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (rows) => {
    clearTimeout(timer.current);
    if (rows.length === 0) return;
    timer.current = setTimeout(() => {
      void send<JobStatus[]>("POST", "/v1/jobs/statuses", { namespace: "*" }, { Jobs: rows.map(({ ID, Namespace }) => ({ ID, Namespace })), IncludeChildren: true })
        .then((all) => { details.value = new Map(all.map((one) => [`${one.Namespace}/${one.ID}`, one])); }, () => undefined);  // rows go without
    }, pause_of_details);
  };
}

const most_sampled = 3;  // allocations of a job

function Use({ id, measure }: { id: string; measure: "cpu" | "memory" }): JSX.Element | null {
  const running = (details.value.get(id)?.Allocs ?? []).filter((alloc) => alloc.ClientStatus === "running");
  const asked = running.slice(0, most_sampled).map((alloc) => ({ alloc_id: alloc.ID }));
  return asked.length === 0 ? null : <Spark of={asked} measure={measure} about={running.length > asked.length ? `, ${asked.length} of its ${running.length} allocations` : ""} />;
}

function Version({ id }: { id: string }): JSX.Element | null {
  const known = details.value.get(id);
  if (!known) return null;
  const { LatestDeployment: deployment } = known;
  return <>v{known.Version}{deployment?.IsActive ? <span title={deployment.RequiresPromotion ? "It waits to be promoted" : `Its deployment is ${deployment.Status}`}> {deployment.RequiresPromotion ? "‖" : "→"}<span class="hidden"> being deployed</span></span> : null}</>;
}

/** Where nothing runs, nothing is used: the reason has the place of the columns that say how much. */
function spreads(job: JobStub): boolean {
  const hidden = hiddenColumns("Jobs", []);
  return countsOf(job.JobSummary).Running === 0 && !hidden.includes("CPU") && !hidden.includes("Memory");
}

/** `hasNamespaces`: whether there are several. */
const columnsOf = (hasNamespaces: boolean): GridColumn<JobStub>[] => [
  { name: "Name", width: "minmax(9rem, 2.6fr)", text: (job) => `${job.ID} ${job.Name}`, cell: (job) => <a href={jobLink(job.ID, job.Namespace)} title={job.ID}>{job.ID}</a> },
  { name: "Status", width: "6rem", text: (job) => job.Status, cell: (job) => <Status value={job.Status} /> },
  { name: "Namespace", width: "minmax(6.5rem, 1fr)", isHidden: !hasNamespaces, text: (job) => job.Namespace, cell: (job) => job.Namespace },
  { name: "Type", width: "minmax(5rem, 1.2fr)", text: (job) => kindOf(job), cell: (job) => <span title={kindOf(job)}>{kindOf(job)}</span> },
  { name: "Priority", width: "5rem", isHidden: true, text: (job) => job.Priority, cell: (job) => job.Priority },
  { name: "Pool", width: "minmax(5rem, 1fr)", isHidden: true, text: (job) => job.NodePool ?? "", cell: (job) => job.NodePool },
  { name: "Allocations", width: "minmax(14rem, 5.5fr)", text: (job) => stateOf(job), cell: (job) => <span class={spreads(job) ? "spreads" : undefined}>{stateOf(job)}<Reason id={idOf(job)} job={job} /></span> },
  { name: "CPU", width: "6.5rem", isOfSight: true, text: () => "", cell: (job) => <Use id={idOf(job)} measure="cpu" /> },
  { name: "Memory", width: "6.5rem", isOfSight: true, text: () => "", cell: (job) => <Use id={idOf(job)} measure="memory" /> },
  { name: "Version", width: "4.7rem", isOfSight: true, text: () => "", cell: (job) => <Version id={idOf(job)} /> },
  { name: "Changed", width: "5.5rem", text: (job) => job.SubmitTime, cell: (job) => <Ago at={milliseconds(job.SubmitTime)} /> },
];

function kindOf(job: JobStub): string {
  return job.Periodic ? `${job.Type} periodic` : job.ParameterizedJob ? `${job.Type} parameterized` : job.Type;
}

/** How its allocations stand. What failed and runs again is history, which is not said. */
function stateOf(job: JobStub): string {
  const counts = countsOf(job.JobSummary);
  const words: string[] = [];
  if (counts.Queued > 0) words.push(`${counts.Queued} not placed`);
  if (counts.Starting > 0) words.push(`${counts.Starting} starting`);
  if (counts.Running > 0) words.push(`${counts.Running} running`);
  if (counts.Unknown > 0) words.push(`${counts.Unknown} unknown`);
  if (words.length === 0 && counts.Failed > 0) words.push(`${counts.Failed} failed`);
  if (words.length === 0 && counts.Complete > 0) words.push(`${counts.Complete} complete`);
  const children = job.JobSummary?.Children;
  if (children && (job.Periodic || job.ParameterizedJob)) words.push(`${children.Running} children running, ${children.Pending} pending`);
  return words.join(", ");
}

interface Blocked {
  text: string;
  href: string;
}

/** Why jobs are not whole, by namespace and id: what their blocked evaluations wait for. */
const reasons = signal<ReadonlyMap<string, Blocked>>(new Map());

function Reason({ id, job }: { id: string; job: JobStub }): JSX.Element | null {
  const why = reasons.value.get(id);
  if (why) return <> · <a href={why.href}>why?</a> <span class="faint" title={why.text}>{why.text}</span></>;
  // Less runs than is asked for, and something failed: its page shows the last words of what did.
  const known = details.value.get(id);
  const isShort = known && known.Allocs && !job.Stop && job.Type === "service" && known.Allocs.filter((alloc) => alloc.ClientStatus === "running").length < known.GroupCountSum;
  return isShort && countsOf(job.JobSummary).Failed > 0 ? <> of {known.GroupCountSum} · <a href={jobLink(job.ID, job.Namespace)}>why?</a> <span class="faint">tasks fail</span></> : null;
}

function useReasons(): void {
  const list = useList<Evaluation>({ path: "/v1/evaluations", query: { filter: 'Status == "blocked"', fields: eval_fields }, idOf: (one) => one.ID, topic: "Evaluation",
    rowOf: (event) => { const row = event.row as Evaluation | null; return row?.Status === "blocked" ? row : undefined; } });
  useEffect(() => {
    reasons.value = new Map(list.rows.map((one): [string, Blocked] => {
      const [metrics] = Object.values(one.FailedTGAllocs ?? {});
      return [`${one.Namespace}/${one.JobID}`, { text: (metrics && reasonsOf(metrics)[0]) ?? one.StatusDescription, href: link("evaluations", one.ID, "why") }];
    }));
  }, [list.rows]);
}

/** How many there are of each status; each leads to them. */
function Counts({ rows }: { rows: JobStub[] }): JSX.Element {
  const counts = useMemo(() => {
    const of = new Map<string, number>();
    for (const job of rows) of.set(job.Status, (of.get(job.Status) ?? 0) + 1);
    const missing = rows.filter((job) => stateOf(job).includes("not placed")).length;
    return { of: [...of].sort(), missing };
  }, [rows]);
  return <span class="counts">{counts.of.map(([status, count]) => <a key={status} href={`/ui/jobs?filter=${word(`status=${status}`)}`}>{count.toLocaleString("en")} {status}</a>)}
    {counts.missing > 0 ? <a href={`/ui/jobs?filter=${word("not placed")}`}>{counts.missing.toLocaleString("en")} without a place</a> : null}</span>;
}

/** Members of which there are few values, to choose from; they stand in the filter, too. */
function Choices({ rows }: { rows: readonly JobStub[] }): JSX.Element {
  const text = place.value.query.get("filter") ?? "";
  const all = useMemo(() => ({ type: [...new Set(rows.map(kindOf))].sort(), status: [...new Set(rows.map((job) => job.Status))].sort(), pool: [...new Set(rows.map((job) => job.NodePool ?? ""))].filter((one) => one !== "").sort() }), [rows]);
  return <>{(["type", "status", "pool"] as const).filter((name) => all[name].length > 1 || memberOf(text, name) !== "").map((name) =>
    <select key={name} aria-label={`Only of a ${name}`} value={memberOf(text, name)} onChange={(event) => setParameter("filter", withMember(text, name, event.currentTarget.value))}>
      <option value="">any {name}</option>{[...new Set([...all[name].map((one) => one.split(" ").pop() ?? one), memberOf(text, name)])].filter((one) => one !== "").map((one) => <option key={one} value={one}>{name} {one}</option>)}</select>)}</>;
}

function useActions(): BulkAction<JobStub>[] {
  // Of several namespaces each row is judged when it is asked for.
  const isOne = namespace.value !== "*";
  const cannotSubmit = useWhyNot("submit-job", isOne ? namespace.value : undefined);
  const cannotRestart = useWhyNot("alloc-lifecycle", isOne ? namespace.value : undefined);
  const at = (job: JobStub): string => `/v1/job/${word(job.ID)}`;
  return [
    { name: "Stop", done: "stopped", kind: "danger", happens: "All their allocations are stopped. The jobs stay and can be started again.", fits: (job) => !job.Stop && job.Status !== "dead", whyNot: isOne ? cannotSubmit : undefined,
      act: (job) => send("DELETE", at(job), { namespace: job.Namespace }) },
    { name: "Start", done: "started", happens: "They run again as they were.", fits: (job) => job.Stop, whyNot: isOne ? cannotSubmit : undefined, act: (job) => startJob(at(job), job.Namespace) },
    { name: "Restart", done: "restarted", happens: "Their running tasks end and start again where they are, one allocation after the other.", fits: (job) => !job.Stop && countsOf(job.JobSummary).Running > 0, whyNot: isOne ? cannotRestart : undefined,
      act: (job) => restartJob(at(job), job.Namespace, () => undefined) },
    { name: "Purge", done: "purged", kind: "danger", happens: "Nothing of them stays: no versions, no allocations.", fits: (job) => job.Stop || job.Status === "dead", whyNot: isOne ? cannotSubmit : undefined,
      act: (job) => send("DELETE", at(job), { namespace: job.Namespace, purge: "true" }) },
  ];
}

export function JobsPage(): JSX.Element {
  const list = useList<JobStub>({ path: "/v1/jobs", query: {}, idOf, topic: "Job", rowOf: () => null, touches: touched, readOne });
  const hasNamespaces = list.rows.some((job) => job.Namespace !== list.rows[0]?.Namespace);
  const columns = useMemo(() => columnsOf(hasNamespaces), [hasNamespaces]);
  useReasons();
  return <>
    <div class="title-line"><Heading title="Jobs">Jobs</Heading><span class="grow" /><Counts rows={list.rows} /><a class="button main" href="/ui/jobs/run">Run job</a></div>
    <FilteredGrid name="Jobs" noun="job" list={list} columns={columns} idOf={idOf} nameOf={(job) => job.ID} needs="list-jobs" actions={useActions()} inSight={useDetails()} choices={<Choices rows={list.rows} />}
      empty={<p>There are no jobs yet: <a href="/ui/jobs/run">run the first one</a>.</p>} />
  </>;
}
