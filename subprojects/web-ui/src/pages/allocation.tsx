// An allocation: its tasks, their logs, files and events.
import type { ComponentChildren, JSX } from "preact";
import { LogView } from "../parts/log.tsx";
import { ActionButton, Ago, Facts, Heading, Meter, Panel, Status, Table, Tabs } from "../parts/parts.tsx";
import { plain } from "../pure/ansi.ts";
import { bytes, mebibytes, milliseconds, shortId } from "../pure/units.ts";
import { jobLink, link, place } from "../shell/router.ts";
import { send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import { FilesTab } from "./files.tsx";
import { type Allocation, type TaskState } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";

interface Usage {
  CpuStats: { Percent: number; TotalTicks: number } | null;
  MemoryStats: { RSS: number; Usage: number } | null;
}

interface Stats {
  ResourceUsage: Usage | null;
  Tasks: Record<string, { ResourceUsage: Usage | null }> | null;
}

const tab_names = ["Overview", "Logs", "Files", "Events"];

/** Which tab, and of which task, an address below an allocation means. */
function readPath(rest: string[]): { tab: string; task: string } {
  const isTab = (text: string | undefined): boolean => tab_names.some((name) => name.toLowerCase() === text);
  const [first, second] = rest;
  if (first === undefined) return { tab: "overview", task: "" };
  if (second !== undefined) return { tab: second, task: first };
  return isTab(first) ? { tab: first, task: "" } : { tab: "overview", task: first };
}

export function AllocationPage(): JSX.Element {
  const { path } = place.value;
  const id = path[1] ?? "";
  const { tab, task } = readPath(path.slice(2));
  const when = (event: { Topic: string; Key: string }): boolean => event.Topic === "Allocation" && event.Key === id;
  const alloc = useData<Allocation>(`/v1/allocation/${word(id)}`, {}, { when });
  if (alloc.error?.status === 404 || alloc.error?.status === 400) return <NotFound what={`Allocation ${id}`} back={{ href: "/ui/allocations", text: "Allocations" }} />;
  const value = alloc.value;
  if (!value) return <><Heading title={shortId(id)} back={{ href: "/ui/allocations", text: "Allocations" }}>{shortId(id)}</Heading><Panel data={alloc} needs="read-job in its namespace">{() => null}</Panel></>;
  const tasks = tasksOf(value);
  const chosen = tasks.includes(task) ? task : tasks[0] ?? "";
  const current = tab_names.find((name) => name.toLowerCase() === tab) ?? "Overview";
  return <>
    <Heading title={value.Name} back={{ href: jobLink(value.JobID, value.Namespace), text: `Job ${value.JobID}` }}>{value.Name}</Heading>
    <Actions alloc={value} task={chosen} />
    <Tabs label="Allocation" current={current} tabs={tab_names.map((name) => ({ name, href: name === "Overview" ? link("allocations", id) : task && (name === "Logs" || name === "Files") ? link("allocations", id, task, name.toLowerCase()) : link("allocations", id, name.toLowerCase()) }))} />
    {current === "Overview" ? <Overview alloc={value} /> : null}
    {current === "Logs" ? <Logs alloc={value} tasks={tasks} task={chosen} /> : null}
    {current === "Files" ? <FilesTab alloc={value.ID} ns={value.Namespace} task={task} /> : null}
    {current === "Events" ? <Events states={value.TaskStates ?? {}} /> : null}
  </>;
}

/** In the order of the job. */
function tasksOf(alloc: Allocation): string[] {
  const group = alloc.Job?.TaskGroups?.find((one) => one.Name === alloc.TaskGroup);
  return (group?.Tasks ?? []).map((one) => one.Name);
}

function Actions({ alloc, task }: { alloc: Allocation; task: string }): JSX.Element {
  const ns = alloc.Namespace;
  const isOver = alloc.ClientStatus !== "running" && alloc.ClientStatus !== "pending";
  const whyNot = useWhyNot("alloc-lifecycle", ns);
  const why = whyNot ?? (isOver ? `It is ${alloc.ClientStatus}` : undefined);
  return <div class="actions">
    <Status value={alloc.ClientStatus} label="Allocation status" />
    <code>{shortId(alloc.ID)}</code><span>desired {alloc.DesiredStatus}</span>
    <span>on <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a></span>
    <span class="grow" />
    <a class="button" href={link("allocations", alloc.ID, "why")}>Why here</a>
    {alloc.ClientStatus === "running" && task ? <a class="button" data-key="x" href={`${link("exec", alloc.JobID, alloc.TaskGroup, task)}?allocation=${alloc.ID}&namespace=${word(ns)}`}>Exec</a> : null}
    <ActionButton disabled={alloc.ClientStatus !== "running" || whyNot !== undefined} why={why ?? "Its running tasks end and start again, in place"} done="The tasks are restarted"
      act={() => send("PUT", `/v1/client/allocation/${alloc.ID}/restart`, { namespace: ns }, {})}>Restart</ActionButton>
    <ActionButton kind="danger" disabled={isOver || whyNot !== undefined || alloc.DesiredStatus === "stop"} why={why ?? "It ends, and the scheduler places another one"} done="The allocation is stopped"
      act={() => send("PUT", `/v1/allocation/${alloc.ID}/stop`, { namespace: ns })}>Stop</ActionButton>
  </div>;
}

function Overview({ alloc }: { alloc: Allocation }): JSX.Element {
  const isRunning = alloc.ClientStatus === "running";
  const stats = useData<Stats>(isRunning ? `/v1/client/allocation/${alloc.ID}/stats` : null, { namespace: alloc.Namespace }, { every: 1_000 });
  const tasks = tasksOf(alloc);
  const resources = alloc.AllocatedResources;
  const ports = resources?.Shared.Ports ?? [];
  return <>
    <section class="panel"><h2>Tasks</h2>
      <Table name="Tasks" rows={tasks} keyOf={(task) => task} columns={[
        { name: "Task", cell: (task) => <a href={link("allocations", alloc.ID, task, "logs")}>{task}</a> },
        { name: "State", cell: (task) => <Status value={stateOf(alloc.TaskStates?.[task])} /> },
        { name: "Last event", cell: (task) => alloc.TaskStates?.[task]?.Events?.at(-1)?.DisplayMessage ?? "" },
        { name: "Restarts", isNumber: true, cell: (task) => alloc.TaskStates?.[task]?.Restarts ?? 0 },
        { name: "CPU", cell: (task) => <Cpu used={stats.value?.Tasks?.[task]?.ResourceUsage} whole={resources?.Tasks?.[task]?.Cpu.CpuShares ?? 0} /> },
        { name: "Memory", cell: (task) => <Memory used={stats.value?.Tasks?.[task]?.ResourceUsage} whole={resources?.Tasks?.[task]?.Memory.MemoryMB ?? 0} /> },
        { name: "", cell: (task) => <a data-key="l" href={link("allocations", alloc.ID, task, "logs")} aria-label={`Logs of ${task}`}>logs</a> },
      ]} />
      {stats.error && isRunning ? <p class="faint">No figures of use: {stats.error.message}</p> : null}
    </section>
    {isRunning ? <Checks alloc={alloc} /> : null}
    {ports.length > 0 ? <section class="panel"><h2>Ports</h2><Table name="Ports" rows={ports} keyOf={(port) => port.Label} columns={[
      { name: "Label", cell: (port) => port.Label }, { name: "Address", cell: (port) => `${port.HostIP}:${port.Value}` }, { name: "In the task", cell: (port) => port.To || "" }]} /></section> : null}
    <section class="panel"><h2>About</h2><Facts label="About the allocation" rows={factsOf(alloc)} /></section>
  </>;
}

interface CheckResult {
  ID: string;
  Check: string;
  Service: string;
  Status: string;
  Output: string;
  Timestamp: number;
}

/** The checks of its services; nothing if it has none. */
function Checks({ alloc }: { alloc: Allocation }): JSX.Element | null {
  const checks = useData<Record<string, CheckResult> | null>(`/v1/client/allocation/${alloc.ID}/checks`, { namespace: alloc.Namespace }, { every: 5_000 });
  const rows = Object.values(checks.value ?? {}).sort((a, b) => (a.Service + a.Check < b.Service + b.Check ? -1 : 1));
  if (rows.length === 0) return null;
  return <section class="panel"><h2>Checks</h2><Table name="Checks" rows={rows} keyOf={(row) => row.ID} columns={[
    { name: "Service", cell: (row) => row.Service }, { name: "Check", cell: (row) => row.Check }, { name: "Status", cell: (row) => <Status value={row.Status} /> },
    { name: "Seen", cell: (row) => <Ago at={row.Timestamp * 1000} /> }, { name: "Output", cell: (row) => plain(row.Output.slice(0, 300)) }]} /></section>;
}

function factsOf(alloc: Allocation): [string, ComponentChildren][] {
  const health = alloc.DeploymentStatus?.Healthy;
  return [["ID", <code>{alloc.ID}</code>], ["Job", <a href={jobLink(alloc.JobID, alloc.Namespace)}>{alloc.JobID}</a>], ["Group", alloc.TaskGroup], ["Namespace", alloc.Namespace],
    ["Version", String(alloc.JobVersion ?? alloc.Job?.Version ?? "")], ["Evaluation", <a href={link("evaluations", alloc.EvalID)}>{shortId(alloc.EvalID)}</a>],
    ["Created", <Ago at={milliseconds(alloc.CreateTime)} />], ["Changed", <Ago at={milliseconds(alloc.ModifyTime)} />],
    ["Health", health === true ? "healthy" : health === false ? "unhealthy" : undefined], ["Canary", alloc.DeploymentStatus?.Canary ? "yes" : undefined],
    ["Replaces", alloc.PreviousAllocation ? <a href={link("allocations", alloc.PreviousAllocation)}>{shortId(alloc.PreviousAllocation)}</a> : undefined],
    ["Replaced by", alloc.NextAllocation ? <a href={link("allocations", alloc.NextAllocation)}>{shortId(alloc.NextAllocation)}</a> : undefined],
    ["Disk", alloc.AllocatedResources ? mebibytes(alloc.AllocatedResources.Shared.DiskMB) : undefined]];
}

function stateOf(state: TaskState | undefined): string {
  if (!state) return "pending";
  return state.State === "dead" ? (state.Failed ? "failed" : "complete") : state.State;
}

function Cpu({ used, whole }: { used: Usage | null | undefined; whole: number }): JSX.Element {
  const ticks = used?.CpuStats?.TotalTicks;
  return ticks === undefined ? <span>{whole} MHz reserved</span> : <Meter part={ticks} whole={whole} text={`${Math.round(ticks)} of ${whole} MHz`} />;
}

function Memory({ used, whole }: { used: Usage | null | undefined; whole: number }): JSX.Element {
  const now = used?.MemoryStats ? Math.max(used.MemoryStats.RSS, used.MemoryStats.Usage) : undefined;
  return now === undefined ? <span>{mebibytes(whole)} reserved</span> : <Meter part={now} whole={whole * 1024 * 1024} text={`${bytes(now)} of ${mebibytes(whole)}`} />;
}

function Logs({ alloc, tasks, task }: { alloc: Allocation; tasks: string[]; task: string }): JSX.Element {
  return <section class="panel" aria-label="Logs of a task">
    {tasks.length > 1 ? <nav class="tabs small" aria-label="Task">{tasks.map((one) => <a href={link("allocations", alloc.ID, one, "logs")} aria-current={one === task ? "page" : undefined}>{one}</a>)}</nav> : null}
    {task ? <LogView key={task} alloc={alloc.ID} task={task} ns={alloc.Namespace} /> : <p class="faint">It has no tasks.</p>}
  </section>;
}

function Events({ states }: { states: Record<string, TaskState> }): JSX.Element {
  const events = Object.entries(states).flatMap(([task, state]) => (state.Events ?? []).map((event) => ({ task, ...event }))).sort((a, b) => b.Time - a.Time);
  return <section class="panel"><h2>Events</h2>{events.length === 0 ? <p class="faint">Nothing has happened yet.</p> : <Table name="Events" rows={events} keyOf={(event) => `${event.task}${event.Time}${event.Type}`} columns={[
    { name: "Time", cell: (event) => <><Ago at={milliseconds(event.Time)} /> <span class="faint">{new Date(milliseconds(event.Time)).toLocaleTimeString()}</span></> },
    { name: "Task", cell: (event) => event.task }, { name: "Type", cell: (event) => event.Type }, { name: "What", cell: (event) => event.DisplayMessage }]} />}</section>;
}
