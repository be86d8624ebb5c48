// A job with its parts, each of which reads by itself.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { inWords, nextLaunch } from "../pure/cron.ts";
import { exactly } from "../shell/preferences.ts";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { ActionButton, Ago, Facts, Heading, Meter, Panel, Status, Table, Tabs, now } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { duration, milliseconds, several, shortId } from "../pure/units.ts";
import { shortened } from "../parts/visible.ts";
import { jobLink, link, place, splitName } from "../shell/router.ts";
import { send, word } from "../store/api.ts";
import { useData, type Data } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import type { Happened } from "../store/messages.ts";
import { AllocTable, inOrder } from "./alloc_table.tsx";
import { Actions } from "./job_actions.tsx";
import { DefinitionTab, VersionsTab } from "./job_versions.tsx";
import { LogsTab, ServicesTab, VariablesTab } from "./job_more.tsx";
import { countsOf, hasChildren, reasonsOf, type Allocation, type AllocStub, type Deployment, type Evaluation, type Group, type GroupCounts, type Job, type JobSummary } from "./job_types.ts";
import { TimelineTab } from "./job_timeline.tsx";
import { NotFound } from "./not_found.tsx";

const tabs = ["Overview", "Definition", "Versions", "Deployments", "Allocations", "Evaluations", "Logs", "Services", "Variables", "Timeline"];

/** Whether an event is about the job or what belongs to it. */
function isAbout(id: string, ns: string): (event: Happened) => boolean {
  return (event) => event.ns === ns && event.job === id;
}

export interface JobProps {
  id: string;
  ns: string;
  path: string;
  when: (event: Happened) => boolean;
  group: string;  // that the page is about; empty for all
}

export function JobPage(): JSX.Element {
  const { path, query } = place.value;
  const { name: id, ns } = splitName(path[1] ?? "", query);
  const at = `/v1/job/${word(id)}`;
  const when = isAbout(id, ns);
  const job = useData<Job>(at, { namespace: ns }, { when });
  const known = tabs.find((one) => one.toLowerCase() === (path[2] ?? "overview"));
  const tab = known ?? "Overview";
  const group = known ? "" : path[2] ?? "";
  if (group !== "" && job.value && !job.value.TaskGroups?.some((one) => one.Name === group)) return <NotFound what={`Group ${group} of job ${id}`} back={{ href: jobLink(id, ns), text: `Job ${id}` }} />;
  if (job.error?.status === 404) return <NotFound what={`Job ${id} in namespace ${ns}`} back={{ href: "/ui/jobs", text: "Jobs" }} />;
  const props: JobProps = { id, ns, path: at, when, group };
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
    case "Allocations": return <AllocationsTab {...props} />;
    case "Evaluations": return <EvaluationsTab {...props} />;
    case "Logs": return <LogsTab {...props} />;
    case "Services": return <ServicesTab {...props} />;
    case "Variables": return <VariablesTab {...props} />;
    case "Timeline": return <TimelineTab {...props} />;
    default: return <Overview {...props} job={job} />;
  }
}

function Overview({ job, ...props }: JobProps & { job: Data<Job> }): JSX.Element {
  const { path, ns, when } = props;
  const summary = useData<JobSummary>(`${path}/summary`, { namespace: ns }, { when });
  const allocs = useAllocs(props);
  const value = job.value;
  return <>
    {value?.UI ? <OfOwner ui={value.UI} /> : null}
    <WhyPanel {...props} />
    {value && allocs.value ? <Failing allocs={allocs.value} job={value} /> : null}
    <LatestDeployment {...props} />
    {value && hasChildren(value) ? <Children {...props} /> : null}
    <Panel title="Groups" data={summary} needs={`read-job in namespace ${ns}`}>{(counts) => value ? <Groups job={value} counts={counts.Summary ?? {}} allocs={allocs.value ?? []} {...props} /> : null}</Panel>
    <AllocationsPanel {...props} allocs={allocs} most={allocs_of_overview} isFolded />
    {value ? <section class="panel"><h2>About</h2><Facts label="About the job" rows={[
      ["Datacenters", value.Datacenters?.join(", ")], ["Node pool", value.NodePool], ["Submitted", <Ago at={milliseconds(value.SubmitTime)} />],
      ["Parent", value.ParentID ? <a href={jobLink(value.ParentID, ns)}>{value.ParentID}</a> : undefined],
      ["Schedule", value.Periodic ? <Schedule periodic={value.Periodic} isOff={value.Stop || !value.Periodic.Enabled} /> : undefined], ["Description", value.StatusDescription],
      ...Object.entries(value.Meta ?? {}).map(([name, text]): [string, ComponentChildren] => [name, text])]} /></section> : null}
  </>;
}

/** What the job's owner says of it. A link leads to a page, never to a script. */
function OfOwner({ ui }: { ui: NonNullable<Job["UI"]> }): JSX.Element {
  const links = (ui.Links ?? []).filter((one) => /^https?:\/\//i.test(one.Url));
  return <section class="panel" aria-label="Description"><p>{ui.Description}</p>
    {links.length === 0 ? null : <ul>{links.map((one, at) => <li key={at}><a href={one.Url} rel="noreferrer noopener" target="_blank">{one.Label || one.Url}</a></li>)}</ul>}
  </section>;
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

/** Of the group's allocations that run, some: what they use of what is reserved for them. */
function GroupUse({ allocs, group, measure }: { allocs: AllocStub[]; group: string; measure: "cpu" | "memory" }): JSX.Element | null {
  const running = allocs.filter((one) => one.TaskGroup === group && one.ClientStatus === "running");
  const asked = running.slice(0, most_sampled).map((one) => ({ alloc_id: one.ID }));
  return asked.length === 0 ? null : <Spark of={asked} measure={measure} about={running.length > asked.length ? `, ${asked.length} of ${running.length} allocations` : ""} />;
}

function portsOf(group: Group): string {
  return (group.Networks ?? []).flatMap((one) => [...(one.DynamicPorts ?? []).map((port) => port.Label), ...(one.ReservedPorts ?? []).map((port) => `${port.Label} ${port.Value}`)]).join(", ");
}

function Groups({ job, counts, allocs, path, ns, group }: JobProps & { job: Job; counts: Record<string, GroupCounts>; allocs: AllocStub[] }): JSX.Element {
  const cannotScale = useWhyNot("scale-job", ns);
  const cannotSubmit = useWhyNot("submit-job", ns);
  const whyNot = cannotSubmit === undefined ? undefined : cannotScale;  // either will do
  const scale = (group: string, count: number): Promise<unknown> =>
    send("PUT", `${path}/scale`, { namespace: ns }, { Count: count, Target: { Group: group }, Message: "scaled in the web UI" });
  const shown = (job.TaskGroups ?? []).filter((one) => group === "" || one.Name === group);
  return <Table name="Groups" rows={shown} keyOf={(group) => group.Name} columns={[
    { name: "Group", cell: (group) => <a href={jobLink(job.ID, ns, group.Name)}>{group.Name}</a> },
    { name: "Count", cell: (group) => job.Type === "system" || job.Type === "sysbatch" || job.Stop ? group.Count : <span class="stepper">
      <ActionButton disabled={group.Count === 0 || whyNot !== undefined} why={whyNot} done={`${group.Name}: ${group.Count - 1}`} act={() => scale(group.Name, group.Count - 1)}><span class="hidden">Fewer of {group.Name}</span><span aria-hidden="true">−</span></ActionButton>
      <span>{group.Count}</span>
      <ActionButton disabled={whyNot !== undefined} why={whyNot} done={`${group.Name}: ${group.Count + 1}`} act={() => scale(group.Name, group.Count + 1)}><span class="hidden">More of {group.Name}</span><span aria-hidden="true">+</span></ActionButton></span> },
    { name: "Running", isNumber: true, cell: (group) => counts[group.Name]?.Running ?? 0 },
    { name: "Starting", isNumber: true, cell: (group) => counts[group.Name]?.Starting ?? 0 },
    { name: "Not placed", isNumber: true, cell: (group) => counts[group.Name]?.Queued ?? 0 },
    { name: "Failed", isNumber: true, cell: (group) => counts[group.Name]?.Failed ?? 0 },
    { name: "Complete", isNumber: true, cell: (group) => counts[group.Name]?.Complete ?? 0 },
    { name: "CPU", cell: (group) => <GroupUse allocs={allocs} group={group.Name} measure="cpu" /> },
    { name: "Memory", cell: (group) => <GroupUse allocs={allocs} group={group.Name} measure="memory" /> },
    { name: "Ports", cell: portsOf },
    { name: "Tasks", cell: (group) => (group.Tasks ?? []).map((task) => `${task.Name} (${task.Driver})`).join(", ") },
  ]} />;
}

/** In words, as it is written, and when it is due next. */
function Schedule({ periodic, isOff }: { periodic: NonNullable<Job["Periodic"]>; isOff: boolean }): JSX.Element {
  const specs = periodic.Specs && periodic.Specs.length > 0 ? periodic.Specs : [periodic.Spec];
  const dues = specs.map((spec) => nextLaunch(spec, periodic.TimeZone, now.value)).filter((due) => due !== undefined);
  return <>{specs.map((spec) => <span key={spec} title={spec}>{inWords(spec)} </span>)}<span class="faint">{periodic.TimeZone}{dues.length > 0 && !isOff ? `, next ${exactly(Math.min(...dues))}` : ""}</span></>;
}

interface JobChild {
  ID: string;
  ParentID: string;
  Status: string;
  SubmitTime: number;
  JobSummary: JobSummary | null;
}

/** What came of a launch: one that is over has either failed or not. */
function outcomeOf(child: JobChild): string {
  if (child.Status !== "dead") return child.Status;
  const counts = countsOf(child.JobSummary);
  return counts.Failed + counts.Lost > 0 ? "failed" : counts.Complete > 0 ? "complete" : "dead";
}

const most_children = 20;

/** What a periodic or parameterized job has launched, the newest first. */
function Children({ id, ns, when }: JobProps): JSX.Element {
  const all = useData<JobChild[]>("/v1/jobs", { namespace: ns, prefix: `${id}/` }, { when: (event) => when(event) || (event.ns === ns && event.job.startsWith(`${id}/`)) });
  return <Panel title="Launches" data={all} needs={`list-jobs in namespace ${ns}`} empty="It has launched none yet, or none that is still known.">{(jobs) => {
    const children = jobs.filter((job) => job.ParentID === id).sort((a, b) => b.SubmitTime - a.SubmitTime);
    return <><Table name="Launches" rows={children.slice(0, most_children)} keyOf={(job) => job.ID} columns={[
      { name: "Job", cell: (job) => <a href={jobLink(job.ID, ns)}>{job.ID.slice(id.length + 1)}</a> }, { name: "Status", cell: (job) => <Status value={outcomeOf(job)} /> },
      { name: "Launched", cell: (job) => <Ago at={milliseconds(job.SubmitTime)} /> }]} />
      {children.length > most_children ? <p class="faint">{most_children} of {children.length}: <a href={`/ui/jobs?filter=${word(`${id}/`)}`}>all of them</a></p> : null}</>;
  }}</Panel>;
}

const most_sampled = 3;

const allocs_of_overview = 50;
const allocs_of_tab = 1_000;

function useAllocs({ path, ns, when }: JobProps): Data<AllocStub[]> {
  return useData<AllocStub[]>(`${path}/allocations`, { namespace: ns, task_states: "false" }, { when });
}

/** What is meant to run, or waits to, the newest of each slot; what has been replaced is history. */
function Folded({ all, most, id }: { all: AllocStub[]; most: number; id: string }): JSX.Element {
  const current = all.filter((one) => !one.NextAllocation && one.DesiredStatus === "run");
  const shown = current.length > 0 ? current : all;
  const past = current.length > 0 ? all.filter((one) => !current.includes(one)) : [];
  const [isOpen, setOpen] = useState(false);
  return <><AllocTable of="job" allocs={shown.slice(0, most)} />
    {shown.length > most ? <p class="faint">{most} of {shown.length}: <a href={`/ui/allocations?filter=${word(`job=${id}`)}`}>all of them</a></p> : null}
    {past.length > 0 ? <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}><summary>History: {several(past.length, "earlier allocation")}</summary>{isOpen ? <AllocTable of="job" name="History" allocs={past.slice(0, most)} /> : null}</details> : null}</>;
}

function AllocationsPanel({ id, ns, group, allocs, most, isFolded = false }: JobProps & { allocs: Data<AllocStub[]>; most: number; isFolded?: boolean }): JSX.Element {
  return <Panel title="Allocations" data={allocs} needs={`read-job in namespace ${ns}`} empty="There are no allocations.">{(all) => {
    const shown = group === "" ? all : all.filter((one) => one.TaskGroup === group);
    if (isFolded) return <Folded all={inOrder(shown)} most={most} id={id} />;
    return <><AllocTable of="job" allocs={inOrder(shown).slice(0, most)} />{shown.length > most ? <p class="faint">{most} of {shown.length}: <a href={`/ui/allocations?filter=${word(`job=${id}`)}`}>all of them</a></p> : null}</>;
  }}</Panel>;
}

function AllocationsTab(props: JobProps): JSX.Element {
  return <AllocationsPanel {...props} allocs={useAllocs(props)} most={allocs_of_tab} />;
}

const most_explained = 3;

/** What keeps allocations that are meant to run from running, in the words of their tasks' last events. */
function Failing({ allocs, job }: { allocs: AllocStub[]; job: Job }): JSX.Element | null {
  const newest = allocs.filter((one) => one.JobVersion === job.Version && !one.NextAllocation && (one.ClientStatus === "failed" || (one.DesiredStatus === "run" && one.ClientStatus !== "running" && one.ClientStatus !== "complete")));
  if (job.Stop || newest.length === 0) return null;
  return <section class="panel warning" aria-labelledby="failing"><h2 id="failing">Not running</h2>
    <ul>{inOrder(newest).slice(0, most_explained).map((one) => <Failure key={one.ID} stub={one} />)}</ul>
    {newest.length > most_explained ? <p class="faint">and {newest.length - most_explained} more</p> : null}</section>;
}

function Failure({ stub }: { stub: AllocStub }): JSX.Element {
  const { value } = useData<Allocation>(`/v1/allocation/${stub.ID}`, {}, { when: (event) => event.topic === "Allocation" && event.key === stub.ID });
  const said = Object.entries(value?.TaskStates ?? {}).map(([task, state]) => ({ task, events: (state.Events ?? []).filter((event) => event.Type !== "Alloc Unhealthy").slice(-2).map((event) => shortened(event.DisplayMessage)) }));
  return <li><a href={link("allocations", stub.ID)}>{stub.Name}</a>{" "}<Status value={stub.ClientStatus} /> on {stub.NodeName}
    {said.map(({ task, events }) => <div key={task}><b>{task}</b>: {events.join("; ")} <a href={`${link("allocations", stub.ID, task, "logs")}?type=both`}>its logs</a></div>)}</li>;
}

function EvaluationsTab({ path, ns, when }: JobProps): JSX.Element {
  const evals = useData<Evaluation[]>(`${path}/evaluations`, { namespace: ns }, { when });
  return <Panel title="Evaluations" data={evals} needs={`read-job in namespace ${ns}`} empty="There are no evaluations any more.">
    {(all) => <EvalTable evals={[...all].sort((a, b) => b.CreateIndex - a.CreateIndex)} />}</Panel>;
}

export function EvalTable({ evals, name = "Evaluations" }: { evals: readonly Evaluation[]; name?: string }): JSX.Element {
  return <Table name={name} rows={evals} keyOf={(one) => one.ID} columns={[
    { name: "ID", cell: (one) => <a href={link("evaluations", one.ID)}>{shortId(one.ID)}</a> },
    { name: "Status", by: (one) => one.Status, cell: (one) => <Status value={one.Status} /> },
    { name: "Triggered by", by: (one) => one.TriggeredBy, cell: (one) => one.TriggeredBy },
    { name: "Priority", isNumber: true, cell: (one) => one.Priority },
    { name: "Placement", cell: (one) => Object.keys(one.FailedTGAllocs ?? {}).length > 0 ? <a href={link("evaluations", one.ID, "why")}>failed: why?</a> : "" },
    { name: "Created", by: (one) => one.CreateTime, cell: (one) => <Ago at={milliseconds(one.CreateTime)} /> },
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

/** Until when the next one has to be healthy. */
function Deadline({ at }: { at: number }): JSX.Element | null {
  if (!(at > 0) || at <= now.value) return null;
  return <span class="faint">deadline in {duration((at - now.value) / 1000)}</span>;
}

function DeploymentView({ deployment, ns }: JobProps & { deployment: Deployment }): JSX.Element {
  const { ID, Status: status } = deployment;
  const groups = Object.entries(deployment.TaskGroups ?? {});
  const isOpen = ["running", "paused", "pending", "blocked", "unblocking", "initializing"].includes(status);
  const wantsPromotion = isOpen && groups.some(([, group]) => group.DesiredCanaries > 0 && !group.Promoted);
  const why = useWhyNot("submit-job", ns);
  const disabled = why !== undefined;
  const act = (verb: string, body: object): Promise<unknown> => send("PUT", `/v1/deployment/${verb}/${ID}`, { namespace: ns }, { DeploymentID: ID, ...body });
  return <>
    <div class="actions"><ObjectTools id={ID} of={`deployment ${shortId(ID)}`} shown={shortId(ID)} command={commandOf("deployment status", ID)} raw={deployment} /><Status value={status} /><span>version {deployment.JobVersion}</span><span class="faint">{deployment.StatusDescription}</span><span class="deeds">
      {wantsPromotion ? <ActionButton kind="main" disabled={disabled} why={why} done="Promoted" act={() => act("promote", { All: true })}>Promote</ActionButton> : null}
      {isOpen ? <><ActionButton disabled={disabled} why={why} done={status === "paused" ? "Resumed" : "Paused"} act={() => act("pause", { Pause: status !== "paused" })}>{status === "paused" ? "Resume" : "Pause"}</ActionButton>
        <ActionButton kind="danger" disabled={disabled} why={why} done="Failed" act={() => act("fail", {})}>Fail</ActionButton></> : null}</span>
    </div>
    {isOpen ? groups.map(([name, group]) => <p key={name}>{groups.length > 1 ? `${name} ` : ""}<Meter part={group.HealthyAllocs} whole={group.DesiredTotal} text={`${group.HealthyAllocs} of ${group.DesiredTotal} healthy`} /> <Deadline at={Date.parse(group.RequireProgressBy ?? "")} /></p>) : null}
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

