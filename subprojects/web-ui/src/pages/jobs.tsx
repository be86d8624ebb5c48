// The list of jobs: what they are, how they stand, and why one is not whole.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import { Ago, Heading, Status } from "../parts/parts.tsx";
import { milliseconds } from "../pure/units.ts";
import { eval_fields } from "../pure/rows.ts";
import { jobLink, link } from "../shell/router.ts";
import { get, word } from "../store/api.ts";
import { useList } from "../store/data.ts";
import type { Happened } from "../store/messages.ts";
import { countsOf, reasonsOf, type Evaluation, type JobStub } from "./job_types.ts";

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

const columns: GridColumn<JobStub>[] = [
  { name: "Name", width: "minmax(11rem, 3fr)", text: (job) => `${job.ID} ${job.Name}`, cell: (job) => <a href={jobLink(job.ID, job.Namespace)}>{job.ID}</a> },
  { name: "Status", width: "6.5rem", text: (job) => job.Status, cell: (job) => <Status value={job.Status} /> },
  { name: "Namespace", width: "minmax(6.5rem, 1fr)", text: (job) => job.Namespace, cell: (job) => job.Namespace },
  { name: "Type", width: "minmax(5.5rem, 1fr)", text: (job) => kindOf(job), cell: (job) => kindOf(job) },
  { name: "Priority", width: "5rem", text: (job) => job.Priority, cell: (job) => job.Priority },
  { name: "Allocations", width: "minmax(22rem, 6fr)", text: (job) => stateOf(job), cell: (job) => <>{stateOf(job)}<Reason id={idOf(job)} /></> },
  { name: "Changed", width: "6rem", text: (job) => job.SubmitTime, cell: (job) => <Ago at={milliseconds(job.SubmitTime)} /> },
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

function Reason({ id }: { id: string }): JSX.Element | null {
  const why = reasons.value.get(id);
  return why ? <> · <a href={why.href}>why?</a> <span class="faint" title={why.text}>{why.text}</span></> : null;
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

export function JobsPage(): JSX.Element {
  const list = useList<JobStub>({ path: "/v1/jobs", query: {}, idOf, topic: "Job", rowOf: () => null, touches: touched, readOne });
  useReasons();
  return <>
    <div class="title-line"><Heading title="Jobs">Jobs</Heading><span class="grow" /><Counts rows={list.rows} /><a class="button main" href="/ui/jobs/run">Run job</a></div>
    <FilteredGrid name="Jobs" noun="job" list={list} columns={columns} idOf={idOf} needs="list-jobs" empty={<p>There are no jobs yet: <a href="/ui/jobs/run">run the first one</a>.</p>} />
  </>;
}
