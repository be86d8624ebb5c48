// A job with its parts, each of which reads by itself.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ActionButton, Ago, Check, Confirm, Facts, Heading, Panel, Status, Table, Tabs } from "../parts/parts.tsx";
import { milliseconds, shortId } from "../pure/units.ts";
import { go, jobLink, link, place, splitName } from "../shell/router.ts";
import { get, send, word } from "../store/api.ts";
import { useData, type Data } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import type { Happened } from "../store/messages.ts";
import { AllocTable, inOrder } from "./alloc_table.tsx";
import { DefinitionTab, VersionsTab } from "./job_versions.tsx";
import { LogsTab, ServicesTab, VariablesTab } from "./job_more.tsx";
import { reasonsOf, type AllocStub, type Deployment, type Evaluation, type GroupCounts, type Job, type JobSummary } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";

const tabs = ["Overview", "Definition", "Versions", "Deployments", "Allocations", "Evaluations", "Logs", "Services", "Variables"];

/** Whether an event is about the job or what belongs to it. */
function isAbout(id: string, ns: string): (event: Happened) => boolean {
  return (event) => {
    if (event.Namespace !== ns) return false;
    if (event.Topic === "Job") return event.Key === id;
    return event.FilterKeys?.includes(id) === true || (event.Payload?.[event.Topic] as { JobID?: string } | undefined)?.JobID === id;
  };
}

export interface JobProps {
  id: string;
  ns: string;
  path: string;
  when: (event: Happened) => boolean;
}

export function JobPage(): JSX.Element {
  const { path, query } = place.value;
  const { name: id, ns } = splitName(path[1] ?? "", query);
  const at = `/v1/job/${word(id)}`;
  const when = isAbout(id, ns);
  const job = useData<Job>(at, { namespace: ns }, { when });
  const tab = tabs.find((one) => one.toLowerCase() === (path[2] ?? "overview")) ?? "Overview";
  if (job.error?.status === 404) return <NotFound what={`Job ${id} in namespace ${ns}`} back={{ href: "/ui/jobs", text: "Jobs" }} />;
  const props: JobProps = { id, ns, path: at, when };
  return <>
    <Heading title={id} back={{ href: "/ui/jobs", text: "Jobs" }}>{id}</Heading>
    <Panel data={job} needs={`read-job in namespace ${ns}`}>{(value) => <Actions job={value} {...props} />}</Panel>
    <Tabs label="Job" current={tab} tabs={tabs.map((one) => ({ name: one, href: jobLink(id, ns, ...(one === "Overview" ? [] : [one.toLowerCase()])) }))} />
    <TabOf tab={tab} job={job} {...props} />
  </>;
}

function TabOf({ tab, job, ...props }: JobProps & { tab: string; job: Data<Job> }): JSX.Element {
  switch (tab) {
    case "Definition": return <DefinitionTab {...props} job={job.value} />;
    case "Versions": return <VersionsTab {...props} current={job.value?.Version} />;
    case "Deployments": return <DeploymentsTab {...props} />;
    case "Allocations": return <AllocationsPanel {...props} isWhole />;
    case "Evaluations": return <EvaluationsTab {...props} />;
    case "Logs": return <LogsTab {...props} />;
    case "Services": return <ServicesTab {...props} />;
    case "Variables": return <VariablesTab {...props} />;
    default: return <Overview {...props} job={job} />;
  }
}

function Actions({ job, path, ns, id }: JobProps & { job: Job }): JSX.Element {
  const [asks, setAsks] = useState("");
  const [purges, setPurges] = useState(false);
  const close = (): void => setAsks("");
  const whyNot = useWhyNot("submit-job", ns);
  const isStopped = job.Stop || job.Status === "dead";
  return <div class="actions">
    <Status value={job.Status} label="Job status" />
    <span>{job.Type}</span><span>priority {job.Priority}</span><span>namespace {ns}</span><span>version {job.Version}</span>
    <span class="grow" />
    {job.Stop ? <ActionButton kind="main" disabled={whyNot !== undefined} why={whyNot} done={`Job ${id} is started`} act={() => start(path, ns)}>Start</ActionButton>
      : <button type="button" class="danger" data-key="s" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("stop")}>Stop</button>}
    <a class="button" href={`/ui/jobs/run?job=${word(id)}&namespace=${word(ns)}`}>Edit</a>
    {job.Periodic ? <ActionButton disabled={whyNot !== undefined} why={whyNot} done="Launched" act={() => send("PUT", `${path}/periodic/force`, { namespace: ns })}>Launch now</ActionButton> : null}
    {isStopped ? <button type="button" class="danger" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("purge")}>Purge</button> : null}
    <Confirm name="Stop job" button="Stop job" kind="danger" isOpen={asks === "stop"} close={close} done={`Job ${id} is stopped`}
      act={async () => { await send("DELETE", path, { namespace: ns, purge: purges ? "true" : undefined }); if (purges) go("/ui/jobs"); }}>
      <p>All allocations of {id} are stopped. The job stays and can be started again.</p>
      <Check label="Also purge it: nothing of it stays" checked={purges} onChange={setPurges} />
    </Confirm>
    <Confirm name="Purge job" button="Purge job" kind="danger" isOpen={asks === "purge"} close={close} done={`Job ${id} is purged`}
      act={async () => { await send("DELETE", path, { namespace: ns, purge: "true" }); go("/ui/jobs"); }}>
      <p>Nothing of {id} stays: no versions, no allocations.</p>
    </Confirm>
  </div>;
}

async function start(path: string, ns: string): Promise<void> {
  const { value: job } = await get<Job>(path, { namespace: ns });
  const submission = await get<object>(`${path}/submission`, { namespace: ns, version: job.Version }).then((got) => got.value, () => undefined);
  await send("PUT", "/v1/jobs", { namespace: ns }, { Job: { ...job, Stop: false }, EnforceIndex: true, JobModifyIndex: job.JobModifyIndex, Submission: submission });
}

function Overview({ job, ...props }: JobProps & { job: Data<Job> }): JSX.Element {
  const { path, ns, when } = props;
  const summary = useData<JobSummary>(`${path}/summary`, { namespace: ns }, { when });
  const value = job.value;
  return <>
    <WhyPanel {...props} />
    <LatestDeployment {...props} />
    <Panel title="Groups" data={summary} needs={`read-job in namespace ${ns}`}>{(counts) => value ? <Groups job={value} counts={counts.Summary ?? {}} {...props} /> : null}</Panel>
    <AllocationsPanel {...props} />
    {value ? <section class="panel"><h2>About</h2><Facts label="About the job" rows={[
      ["Datacenters", value.Datacenters?.join(", ")], ["Node pool", value.NodePool], ["Submitted", <Ago at={milliseconds(value.SubmitTime)} />],
      ["Parent", value.ParentID ? <a href={jobLink(value.ParentID, ns)}>{value.ParentID}</a> : undefined],
      ["Schedule", value.Periodic ? `${value.Periodic.Spec} ${value.Periodic.TimeZone}` : undefined], ["Description", value.StatusDescription],
      ...Object.entries(value.Meta ?? {}).map(([name, text]): [string, ComponentChildren] => [name, text])]} /></section> : null}
  </>;
}

/** Why a job is not whole: what its newest evaluations found no place for. */
function WhyPanel({ path, ns, when }: JobProps): JSX.Element | null {
  const evals = useData<Evaluation[]>(`${path}/evaluations`, { namespace: ns }, { when });
  const newest = [...(evals.value ?? [])].sort((a, b) => b.CreateIndex - a.CreateIndex).find((one) => Object.keys(one.FailedTGAllocs ?? {}).length > 0 || one.Status === "complete");
  const failed = Object.entries(newest?.FailedTGAllocs ?? {});
  if (!newest || failed.length === 0) return null;
  return <section class="panel warning" aria-labelledby="why-not"><h2 id="why-not">Not placed</h2>
    {failed.map(([group, metrics]) => <div key={group}>
      <p><b>{group}</b>: no node for {metrics.CoalescedFailures + 1} {metrics.CoalescedFailures === 0 ? "allocation" : "allocations"}; {metrics.NodesEvaluated} {metrics.NodesEvaluated === 1 ? "node was" : "nodes were"} looked at</p>
      <ul>{reasonsOf(metrics).map((reason) => <li>{reason}</li>)}</ul>
    </div>)}
    <p><a href={link("evaluations", newest.ID)}>Evaluation {shortId(newest.ID)}</a> · <a href={link("evaluations", newest.ID, "why")}>why, node by node</a></p>
  </section>;
}

function Groups({ job, counts, path, ns }: JobProps & { job: Job; counts: Record<string, GroupCounts> }): JSX.Element {
  const cannotScale = useWhyNot("scale-job", ns);
  const cannotSubmit = useWhyNot("submit-job", ns);
  const whyNot = cannotSubmit === undefined ? undefined : cannotScale;  // either will do
  const scale = (group: string, count: number): Promise<unknown> =>
    send("PUT", `${path}/scale`, { namespace: ns }, { Count: count, Target: { Group: group }, Message: "scaled in the web UI" });
  return <Table name="Groups" rows={job.TaskGroups ?? []} keyOf={(group) => group.Name} columns={[
    { name: "Group", cell: (group) => group.Name },
    { name: "Count", cell: (group) => job.Type === "system" || job.Type === "sysbatch" || job.Stop ? group.Count : <span class="stepper">
      <ActionButton disabled={group.Count === 0 || whyNot !== undefined} why={whyNot} done={`${group.Name}: ${group.Count - 1}`} act={() => scale(group.Name, group.Count - 1)}><span class="hidden">Fewer of {group.Name}</span><span aria-hidden="true">−</span></ActionButton>
      <span>{group.Count}</span>
      <ActionButton disabled={whyNot !== undefined} why={whyNot} done={`${group.Name}: ${group.Count + 1}`} act={() => scale(group.Name, group.Count + 1)}><span class="hidden">More of {group.Name}</span><span aria-hidden="true">+</span></ActionButton></span> },
    { name: "Running", isNumber: true, cell: (group) => counts[group.Name]?.Running ?? 0 },
    { name: "Starting", isNumber: true, cell: (group) => counts[group.Name]?.Starting ?? 0 },
    { name: "Not placed", isNumber: true, cell: (group) => counts[group.Name]?.Queued ?? 0 },
    { name: "Failed", isNumber: true, cell: (group) => counts[group.Name]?.Failed ?? 0 },
    { name: "Complete", isNumber: true, cell: (group) => counts[group.Name]?.Complete ?? 0 },
    { name: "Tasks", cell: (group) => (group.Tasks ?? []).map((task) => `${task.Name} (${task.Driver})`).join(", ") },
  ]} />;
}

function AllocationsPanel({ path, ns, when, isWhole = false }: JobProps & { isWhole?: boolean }): JSX.Element {
  const allocs = useData<AllocStub[]>(`${path}/allocations`, { namespace: ns, task_states: "false" }, { when });
  const most = isWhole ? 1_000 : 50;
  return <Panel title="Allocations" data={allocs} needs={`read-job in namespace ${ns}`} empty="There are no allocations.">
    {(all) => <><AllocTable allocs={inOrder(all).slice(0, most)} />{all.length > most ? <p class="faint">{most} of {all.length}: <a href={`/ui/allocations?filter=${word(path.split("/").pop() ?? "")}`}>all of them</a></p> : null}</>}</Panel>;
}

function EvaluationsTab({ path, ns, when }: JobProps): JSX.Element {
  const evals = useData<Evaluation[]>(`${path}/evaluations`, { namespace: ns }, { when });
  return <Panel title="Evaluations" data={evals} needs={`read-job in namespace ${ns}`} empty="There are no evaluations any more.">
    {(all) => <EvalTable evals={[...all].sort((a, b) => b.CreateIndex - a.CreateIndex)} />}</Panel>;
}

export function EvalTable({ evals, name = "Evaluations" }: { evals: readonly Evaluation[]; name?: string }): JSX.Element {
  return <Table name={name} rows={evals} keyOf={(one) => one.ID} columns={[
    { name: "ID", cell: (one) => <a href={link("evaluations", one.ID)}>{shortId(one.ID)}</a> },
    { name: "Status", cell: (one) => <Status value={one.Status} /> },
    { name: "Triggered by", cell: (one) => one.TriggeredBy },
    { name: "Priority", isNumber: true, cell: (one) => one.Priority },
    { name: "Placement", cell: (one) => Object.keys(one.FailedTGAllocs ?? {}).length > 0 ? <a href={link("evaluations", one.ID, "why")}>failed: why?</a> : "" },
    { name: "Created", cell: (one) => <Ago at={milliseconds(one.CreateTime)} /> },
  ]} />;
}

function LatestDeployment({ path, ns, when, ...props }: JobProps): JSX.Element | null {
  const latest = useData<Deployment | null>(`${path}/deployment`, { namespace: ns }, { when });
  if (!latest.value || !["running", "pending", "blocked", "paused", "unblocking", "initializing"].includes(latest.value.Status)) return null;
  return <section class="panel"><h2>Deployment in progress</h2><DeploymentView deployment={latest.value} path={path} ns={ns} when={when} {...props} /></section>;
}

function DeploymentsTab(props: JobProps): JSX.Element {
  const all = useData<Deployment[]>(`${props.path}/deployments`, { namespace: props.ns, all: "true" }, { when: props.when });
  return <Panel title="Deployments" data={all} needs={`read-job in namespace ${props.ns}`} empty="This job has no deployments.">
    {(deployments) => <>{[...deployments].sort((a, b) => b.CreateIndex - a.CreateIndex).map((one) => <article class="card" key={one.ID}><DeploymentView deployment={one} {...props} /></article>)}</>}</Panel>;
}

function DeploymentView({ deployment, ns }: JobProps & { deployment: Deployment }): JSX.Element {
  const { ID, Status: status } = deployment;
  const groups = Object.entries(deployment.TaskGroups ?? {});
  const isOpen = ["running", "paused", "pending", "blocked", "unblocking", "initializing"].includes(status);
  const wantsPromotion = isOpen && groups.some(([, group]) => group.DesiredCanaries > 0 && !group.Promoted);
  const act = (verb: string, body: object): Promise<unknown> => send("PUT", `/v1/deployment/${verb}/${ID}`, { namespace: ns }, { DeploymentID: ID, ...body });
  return <>
    <div class="actions"><b>{shortId(ID)}</b><Status value={status} /><span>version {deployment.JobVersion}</span><span class="faint">{deployment.StatusDescription}</span><span class="grow" />
      {wantsPromotion ? <ActionButton kind="main" done="Promoted" act={() => act("promote", { All: true })}>Promote</ActionButton> : null}
      {isOpen ? <><ActionButton done={status === "paused" ? "Resumed" : "Paused"} act={() => act("pause", { Pause: status !== "paused" })}>{status === "paused" ? "Resume" : "Pause"}</ActionButton>
        <ActionButton kind="danger" done="Failed" act={() => act("fail", {})}>Fail</ActionButton></> : null}
    </div>
    <Table name={`Groups of ${shortId(ID)}`} rows={groups} keyOf={([name]) => name} columns={[
      { name: "Group", cell: ([name]) => name },
      { name: "Canaries", isNumber: true, cell: ([, group]) => group.DesiredCanaries },
      { name: "Promoted", cell: ([, group]) => (group.DesiredCanaries > 0 ? (group.Promoted ? "yes" : "no") : "") },
      { name: "Desired", isNumber: true, cell: ([, group]) => group.DesiredTotal },
      { name: "Placed", isNumber: true, cell: ([, group]) => group.PlacedAllocs },
      { name: "Healthy", isNumber: true, cell: ([, group]) => group.HealthyAllocs },
      { name: "Unhealthy", isNumber: true, cell: ([, group]) => group.UnhealthyAllocs },
    ]} />
  </>;
}

