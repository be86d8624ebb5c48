// The list of jobs: what they are, how they stand, and why one is not whole.
import type { JSX } from "preact";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import { Ago, Heading, Status } from "../parts/parts.tsx";
import { milliseconds } from "../pure/units.ts";
import { jobLink } from "../shell/router.ts";
import { get } from "../store/api.ts";
import { useList } from "../store/data.ts";
import type { Happened } from "../store/messages.ts";
import { countsOf, type JobStub } from "./job_types.ts";

const idOf = (job: JobStub): string => `${job.Namespace}/${job.ID}`;

/** The job that an event is about. */
function touched(event: Happened): string | undefined {
  if (event.Topic === "Job") return `${event.Namespace}/${event.Key}`;
  const payload = event.Payload?.[event.Topic === "Evaluation" || event.Topic === "Allocation" || event.Topic === "Deployment" ? event.Topic : ""];
  const job = (payload as { JobID?: string } | undefined)?.JobID;
  return job ? `${event.Namespace}/${job}` : undefined;
}

async function readOne(id: string): Promise<JobStub | undefined> {
  const at = id.indexOf("/");
  const { value } = await get<JobStub[]>("/v1/jobs", { prefix: id.slice(at + 1), namespace: id.slice(0, at), per_page: 1 });
  return value.find((job) => idOf(job) === id);
}

const columns: GridColumn<JobStub>[] = [
  { name: "Name", width: "minmax(12rem, 3fr)", text: (job) => `${job.ID} ${job.Name}`, cell: (job) => <a href={jobLink(job.ID, job.Namespace)}>{job.ID}</a> },
  { name: "Status", text: (job) => job.Status, cell: (job) => <Status value={job.Status} /> },
  { name: "Namespace", text: (job) => job.Namespace, cell: (job) => job.Namespace },
  { name: "Type", text: (job) => kindOf(job), cell: (job) => kindOf(job) },
  { name: "Priority", width: "5rem", text: (job) => job.Priority, cell: (job) => job.Priority },
  { name: "Allocations", width: "minmax(14rem, 3fr)", text: (job) => stateOf(job), cell: (job) => stateOf(job) },
  { name: "Changed", text: (job) => job.SubmitTime, cell: (job) => <Ago at={milliseconds(job.SubmitTime)} /> },
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

export function JobsPage(): JSX.Element {
  const list = useList<JobStub>({ path: "/v1/jobs", query: {}, idOf, topic: "Job", rowOf: () => null, touches: touched, readOne });
  return <>
    <div class="title-line"><Heading title="Jobs">Jobs</Heading><a class="button main" href="/ui/jobs/run">Run job</a></div>
    <FilteredGrid name="Jobs" noun="job" list={list} columns={columns} idOf={idOf} needs="list-jobs" empty={<p>There are no jobs yet: <a href="/ui/jobs/run">run the first one</a>.</p>} />
  </>;
}
