// Why an allocation is where it is, or nowhere: client by client.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Choice, Facts, Heading, Panel, Status, Table } from "../parts/parts.tsx";
import { several, shortId } from "../pure/units.ts";
import { reservedOf } from "../pure/rows.ts";
import { lacks, reasonsAgainst, type Offered, type Room, type WantedBy } from "../pure/verdict.ts";
import { jobLink, link, place } from "../shell/router.ts";
import { word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { reasonsOf, type Allocation, type Evaluation, type Group, type Job, type Metrics, type Task } from "./job_types.ts";
import { ExplainedPanel } from "./explained.tsx";
import { NotFound } from "./not_found.tsx";

/** A client with what it has for tasks. */
interface Sized extends Offered {
  NodeResources?: { Cpu: { CpuShares: number }; Memory: { MemoryMB: number }; Disk: { DiskMB: number } } | null;
  ReservedResources?: { Cpu?: { CpuShares: number } | null; Memory?: { MemoryMB: number } | null; Disk?: { DiskMB: number } | null } | null;
}

interface Placed {
  ClientStatus: string;
  AllocatedResources: Allocation["AllocatedResources"];
}

function wholeOf({ NodeResources: all, ReservedResources: kept }: Sized): Room {
  return { cpu: (all?.Cpu.CpuShares ?? 0) - (kept?.Cpu?.CpuShares ?? 0), memory: (all?.Memory.MemoryMB ?? 0) - (kept?.Memory?.MemoryMB ?? 0), disk: (all?.Disk.DiskMB ?? 0) - (kept?.Disk?.DiskMB ?? 0) };
}

function usedOn(allocs: readonly Placed[] | undefined): Room | undefined {
  return allocs?.filter((one) => one.ClientStatus === "running" || one.ClientStatus === "pending").reduce<Room>((sum, { AllocatedResources: taken }) => {
    const { cpu, memory } = reservedOf(taken);
    return { cpu: sum.cpu + cpu, memory: sum.memory + memory, disk: sum.disk + (taken?.Shared.DiskMB ?? 0) };
  }, { cpu: 0, memory: 0, disk: 0 });
}

/** Tasks that end before the others begin, or begin after them, share what these take. */
function askedBy(group: Group): Room {
  const tasks = group.Tasks ?? [];
  const sum = (of: (task: Task) => number): number => {
    const total = (which: (task: Task) => boolean): number => tasks.filter(which).reduce((all, task) => all + of(task), 0);
    const stays = (task: Task): boolean => !task.Lifecycle || task.Lifecycle.Sidecar || task.Lifecycle.Hook === "poststart";
    return Math.max(total(stays), total((task) => task.Lifecycle?.Hook === "prestart"), total((task) => task.Lifecycle?.Hook === "poststop"));
  };
  return { cpu: sum((task) => task.Resources?.CPU ?? 0), memory: sum((task) => task.Resources?.MemoryMB ?? 0), disk: group.EphemeralDisk?.SizeMB ?? 0 };
}

interface Subject {
  job: string;
  ns: string;
  group: string;
  metrics: Metrics | undefined;
  chosen: string;
}

function subjectOf(alloc: Allocation | undefined, evaluation: Evaluation | undefined, wanted: string): Subject | undefined {
  if (alloc) return { job: alloc.JobID, ns: alloc.Namespace, group: alloc.TaskGroup, metrics: alloc.Metrics ?? undefined, chosen: alloc.NodeID };
  if (!evaluation) return undefined;
  const failed = Object.entries(evaluation.FailedTGAllocs ?? {});
  const [group, metrics] = failed.find(([name]) => name === wanted) ?? failed[0] ?? ["", undefined];
  return { job: evaluation.JobID, ns: evaluation.Namespace, group, metrics, chosen: "" };
}

export function WhyPage(): JSX.Element {
  const [kind, id = ""] = place.value.path;
  const isAlloc = kind === "allocations";
  const alloc = useData<Allocation>(isAlloc ? `/v1/allocation/${word(id)}` : null);
  const evaluation = useData<Evaluation>(isAlloc ? null : `/v1/evaluation/${word(id)}`);
  const [wanted, setWanted] = useState("");
  const subject = subjectOf(alloc.value, evaluation.value, wanted);
  const failed = Object.keys(evaluation.value?.FailedTGAllocs ?? {});
  const job = useData<Job & WantedBy>(subject?.job ? `/v1/job/${word(subject.job)}` : null, { namespace: subject?.ns });
  const nodes = useData<Sized[]>("/v1/nodes", { resources: "true" }, { when: (event) => event.topic === "Node" });
  const status = (alloc.error ?? evaluation.error)?.status;
  const back = { href: link(isAlloc ? "allocations" : "evaluations", id), text: `${isAlloc ? "Allocation" : "Evaluation"} ${shortId(id)}` };
  if (status === 404 || status === 400) return <NotFound what={back.text} back={{ href: `/ui/${kind}`, text: isAlloc ? "Allocations" : "Evaluations" }} />;
  return <>
    <Heading title="Why" back={back}>Why</Heading>
    {isAlloc ? <Panel data={alloc} needs="read-job in its namespace">{() => null}</Panel> : <Panel data={evaluation} needs="read-job in its namespace">{() => null}</Panel>}
    {failed.length > 1 && subject ? <Choice label="Group" value={subject.group} options={failed} onChange={setWanted} /> : null}
    {subject ? <Summary {...subject} /> : null}
    {subject?.group ? <ExplainedPanel job={subject.job} ns={subject.ns} group={subject.group} alloc={isAlloc ? id : undefined} /> : null}
    <Panel title="Nodes, as they are now" data={nodes} needs="node read">{(all) => subject ? <NodeTable subject={subject} job={job.value} nodes={all} /> : null}</Panel>
  </>;
}

function Summary({ job, ns, group, metrics, chosen }: Subject): JSX.Element {
  return <section class="panel"><h2>Then</h2><Facts label="What the scheduler saw" rows={[["Job", <a href={jobLink(job, ns)}>{job}</a>], ["Group", group],
    ["Looked at", metrics ? several(metrics.NodesEvaluated, "node") : undefined], ["Filtered", metrics?.NodesFiltered ? several(metrics.NodesFiltered, "node") : undefined], ["Without room", metrics?.NodesExhausted ? several(metrics.NodesExhausted, "node") : undefined],
    ["Chosen", chosen ? <a href={link("clients", chosen)}>{shortId(chosen)}</a> : undefined]]} />
    {metrics && !chosen ? <ul>{reasonsOf(metrics).map((reason) => <li>{reason}</li>)}</ul> : null}
    {!metrics && !chosen ? <p>Nothing failed to find a place in this evaluation.</p> : null}</section>;
}

const most_shown = 200;
const most_read = 40;  // clients whose attributes are read, one request each

/** Whether something is asked of clients that their list does not say. */
function wantsAttributes(job: WantedBy): boolean {
  const all = [job, ...job.TaskGroups ?? [], ...(job.TaskGroups ?? []).flatMap((group) => group.Tasks ?? [])];
  return all.some((one) => one.Constraints?.some((constraint) => /\$\{(attr|meta)\./.test(constraint.LTarget + constraint.RTarget)));
}

function NodeTable({ subject, job, nodes }: { subject: Subject; job: (Job & WantedBy) | undefined; nodes: Sized[] }): JSX.Element {
  const scores = new Map((subject.metrics?.ScoreMetaData ?? []).map((one) => [one.NodeID, one]));
  const rank = (node: Offered): number => (node.ID === subject.chosen ? 0 : scores.has(node.ID) ? 1 : 2);
  const ordered = [...nodes].sort((a, b) => rank(a) - rank(b) || (scores.get(b.ID)?.NormScore ?? 0) - (scores.get(a.ID)?.NormScore ?? 0) || (a.Name < b.Name ? -1 : 1)).slice(0, most_shown);
  const read = new Set(job && wantsAttributes(job) ? ordered.filter((node) => !scores.has(node.ID) && node.ID !== subject.chosen).slice(0, most_read).map((node) => node.ID) : []);
  const looked = new Set(ordered.slice(0, most_read).map((node) => node.ID));
  return <><Table name="Nodes" rows={ordered} keyOf={(node) => node.ID} columns={[
    { name: "Node", cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> },
    { name: "Verdict", cell: (node) => <Verdict node={node} job={job} subject={subject} isScored={scores.has(node.ID)} isRead={read.has(node.ID)} isRoomRead={looked.has(node.ID)} /> },
    { name: "Score", isNumber: true, cell: (node) => scores.get(node.ID)?.NormScore.toFixed(3) ?? "" },
    { name: "Parts of the score", cell: (node) => Object.entries(scores.get(node.ID)?.Scores ?? {}).filter(([, score]) => score !== 0).map(([name, score]) => `${name} ${score.toFixed(3)}`).join(", ") },
  ]} />{nodes.length > ordered.length ? <p class="faint">{ordered.length} of {nodes.length} nodes.</p> : null}</>;
}

/** The attributes of a client are read for the constraints, if there are any. Where they are not known, constraints on them say nothing. */
function Verdict({ node, job, subject, isScored, isRead, isRoomRead }: { node: Sized; job: (Job & WantedBy) | undefined; subject: Subject; isScored: boolean; isRead: boolean; isRoomRead: boolean }): JSX.Element {
  const whole = useData<Offered>(isRead ? `/v1/node/${node.ID}` : null);
  // What runs there is asked for where it would matter: the newest decision found too little room.
  const asksRoom = isRoomRead && !isScored && node.ID !== subject.chosen && (subject.metrics?.NodesExhausted ?? 0) > 0;
  const allocs = useData<Placed[]>(asksRoom ? `/v1/node/${node.ID}/allocations` : null);
  if (node.ID === subject.chosen) return <Status value="chosen" />;
  const reasons = job ? reasonsAgainst(job, subject.group, { ...node, Attributes: whole.value?.Attributes ?? null, Meta: whole.value?.Meta ?? null }) : [];
  if (isScored && reasons.length === 0) return <span>scored lower</span>;
  const group = job?.TaskGroups?.find((one) => one.Name === subject.group);
  const room = isScored || reasons.length > 0 || !group ? [] : lacks(askedBy(group), wholeOf(node), usedOn(allocs.value));
  if (room.length > 0) return <span><Status value="no room" />: {room.join("; ")}</span>;
  return reasons.length > 0 ? <span><Status value="filtered" />: {reasons.join("; ")}</span> : <span>{subject.metrics?.NodesExhausted ? "no room, or not looked at" : "would do now"}</span>;
}
