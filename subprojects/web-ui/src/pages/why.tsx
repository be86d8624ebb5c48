// Why an allocation is where it is, or nowhere: client by client.
import type { JSX } from "preact";
import { Facts, Heading, Panel, Status, Table } from "../parts/parts.tsx";
import { shortId } from "../pure/units.ts";
import { reasonsAgainst, type Offered, type WantedBy } from "../pure/verdict.ts";
import { jobLink, link, place } from "../shell/router.ts";
import { word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { reasonsOf, type Allocation, type Evaluation, type Job, type Metrics } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";

interface Subject {
  job: string;
  ns: string;
  group: string;
  metrics: Metrics | undefined;
  chosen: string;
}

function subjectOf(alloc: Allocation | undefined, evaluation: Evaluation | undefined): Subject | undefined {
  if (alloc) return { job: alloc.JobID, ns: alloc.Namespace, group: alloc.TaskGroup, metrics: alloc.Metrics ?? undefined, chosen: alloc.NodeID };
  if (!evaluation) return undefined;
  const [group, metrics] = Object.entries(evaluation.FailedTGAllocs ?? {})[0] ?? ["", undefined];
  return { job: evaluation.JobID, ns: evaluation.Namespace, group, metrics, chosen: "" };
}

export function WhyPage(): JSX.Element {
  const [kind, id = ""] = place.value.path;
  const isAlloc = kind === "allocations";
  const alloc = useData<Allocation>(isAlloc ? `/v1/allocation/${word(id)}` : null);
  const evaluation = useData<Evaluation>(isAlloc ? null : `/v1/evaluation/${word(id)}`);
  const subject = subjectOf(alloc.value, evaluation.value);
  const job = useData<Job & WantedBy>(subject?.job ? `/v1/job/${word(subject.job)}` : null, { namespace: subject?.ns });
  const nodes = useData<Offered[]>("/v1/nodes", { resources: "true" }, { when: (event) => event.Topic === "Node" });
  const status = (alloc.error ?? evaluation.error)?.status;
  const back = { href: link(isAlloc ? "allocations" : "evaluations", id), text: `${isAlloc ? "Allocation" : "Evaluation"} ${shortId(id)}` };
  if (status === 404 || status === 400) return <NotFound what={back.text} back={{ href: `/ui/${kind}`, text: isAlloc ? "Allocations" : "Evaluations" }} />;
  return <>
    <Heading title="Why" back={back}>Why</Heading>
    {isAlloc ? <Panel data={alloc} needs="read-job in its namespace">{() => null}</Panel> : <Panel data={evaluation} needs="read-job in its namespace">{() => null}</Panel>}
    {subject ? <Summary {...subject} /> : null}
    <Panel title="Nodes, as they are now" data={nodes} needs="node read">{(all) => subject ? <NodeTable subject={subject} job={job.value} nodes={all} /> : null}</Panel>
  </>;
}

function Summary({ job, ns, group, metrics, chosen }: Subject): JSX.Element {
  return <section class="panel"><h2>Then</h2><Facts label="What the scheduler saw" rows={[["Job", <a href={jobLink(job, ns)}>{job}</a>], ["Group", group],
    ["Looked at", metrics ? `${metrics.NodesEvaluated} nodes` : undefined], ["Filtered", metrics?.NodesFiltered ? `${metrics.NodesFiltered} nodes` : undefined], ["Without room", metrics?.NodesExhausted ? `${metrics.NodesExhausted} nodes` : undefined],
    ["Chosen", chosen ? <a href={link("clients", chosen)}>{shortId(chosen)}</a> : undefined]]} />
    {metrics && !chosen ? <ul>{reasonsOf(metrics).map((reason) => <li>{reason}</li>)}</ul> : null}
    {!metrics && !chosen ? <p>Nothing failed to find a place in this evaluation.</p> : null}</section>;
}

/** The full attributes of a client are read for its constraints, for as many as a page shows. */
function NodeTable({ subject, job, nodes }: { subject: Subject; job: (Job & WantedBy) | undefined; nodes: Offered[] }): JSX.Element {
  const scores = new Map((subject.metrics?.ScoreMetaData ?? []).map((one) => [one.NodeID, one]));
  const rank = (node: Offered): number => (node.ID === subject.chosen ? 0 : scores.has(node.ID) ? 1 : 2);
  const ordered = [...nodes].sort((a, b) => rank(a) - rank(b) || (scores.get(b.ID)?.NormScore ?? 0) - (scores.get(a.ID)?.NormScore ?? 0) || (a.Name < b.Name ? -1 : 1)).slice(0, 200);
  return <><Table name="Nodes" rows={ordered} keyOf={(node) => node.ID} columns={[
    { name: "Node", cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> },
    { name: "Verdict", cell: (node) => <Verdict node={node} job={job} subject={subject} isScored={scores.has(node.ID)} /> },
    { name: "Score", isNumber: true, cell: (node) => scores.get(node.ID)?.NormScore.toFixed(3) ?? "" },
    { name: "Parts of the score", cell: (node) => Object.entries(scores.get(node.ID)?.Scores ?? {}).filter(([, score]) => score !== 0).map(([name, score]) => `${name} ${score.toFixed(3)}`).join(", ") },
  ]} />{nodes.length > ordered.length ? <p class="faint">{ordered.length} of {nodes.length} nodes.</p> : null}</>;
}

function Verdict({ node, job, subject, isScored }: { node: Offered; job: (Job & WantedBy) | undefined; subject: Subject; isScored: boolean }): JSX.Element {
  const whole = useData<Offered>(job && !isScored && node.ID !== subject.chosen ? `/v1/node/${node.ID}` : null);
  if (node.ID === subject.chosen) return <Status value="chosen" />;
  const reasons = job ? reasonsAgainst(job, subject.group, { ...node, Attributes: whole.value?.Attributes ?? {}, Meta: whole.value?.Meta ?? {} }) : [];
  if (isScored && reasons.length === 0) return <span>scored lower</span>;
  return reasons.length > 0 ? <span><Status value="filtered" />: {reasons.join("; ")}</span> : <span>{subject.metrics?.NodesExhausted ? "no room, or not looked at" : "would do now"}</span>;
}
