// An allocation: its tasks, their logs, files and events.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { CodeView } from "../parts/code.tsx";
import { taskFollower } from "../parts/follow.ts";
import { History } from "../parts/history.tsx";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { LogView } from "../parts/log.tsx";
import { ActionButton, Ago, Choice, Confirm, Facts, Heading, Meter, Panel, Status, Table, Tabs } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { bytes, mebibytes, milliseconds, shortId } from "../pure/units.ts";
import { clock } from "../shell/preferences.ts";
import { addressed, jobLink, link, place } from "../shell/router.ts";
import { send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import type { Happened } from "../store/messages.ts";
import { Checks } from "./checks.tsx";
import { FilesTab } from "./files.tsx";
import { type Allocation, type TaskState } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";
import { Schedules } from "./schedule.tsx";

interface Usage {
  CpuStats: { Percent: number; TotalTicks: number } | null;
  MemoryStats: { RSS: number; Usage: number } | null;
}

interface Stats {
  ResourceUsage: Usage | null;
  Tasks: Record<string, { ResourceUsage: Usage | null }> | null;
}

const tab_names = ["Overview", "Logs", "Files", "Events", "Raw"];

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
  const when = (event: Happened): boolean => event.topic === "Allocation" && event.key === id;
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
    {current === "Raw" ? <CodeView label="Allocation as the API has it" text={JSON.stringify(value, null, 2)} /> : null}
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
  const cannotExec = useWhyNot("alloc-exec", ns);
  const [signals, setSignals] = useState(false);
  const why = whyNot ?? (isOver ? `It is ${alloc.ClientStatus}` : undefined);
  return <div class="actions">
    <Status value={alloc.ClientStatus} label="Allocation status" />
    <ObjectTools id={alloc.ID} shown={shortId(alloc.ID)} command={commandOf("alloc status", alloc.ID)} raw={undefined} /><span>desired {alloc.DesiredStatus}</span>
    <span>on <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a></span>
    <span class="deeds">
      <a class="button" href={link("allocations", alloc.ID, "why")}>Why here</a>
      {alloc.ClientStatus !== "running" || !task ? null : cannotExec !== undefined ? <button type="button" disabled title={cannotExec}>Exec</button> : <a class="button" data-key="x" href={`${link("exec", alloc.JobID, alloc.TaskGroup, task)}?allocation=${alloc.ID}&namespace=${word(ns)}`}>Exec</a>}
      <button type="button" disabled={alloc.ClientStatus !== "running" || whyNot !== undefined} title={why} onClick={() => setSignals(true)}>Signal</button>
      <ActionButton disabled={alloc.ClientStatus !== "running" || whyNot !== undefined} why={why ?? "Its running tasks end and start again, in place"} done="The tasks are restarted"
        act={() => send("PUT", `/v1/client/allocation/${alloc.ID}/restart`, { namespace: ns }, {})}>Restart</ActionButton>
      <ActionButton kind="danger" disabled={isOver || whyNot !== undefined || alloc.DesiredStatus === "stop"} why={why ?? "It ends, and the scheduler places another one"} done="The allocation is stopped"
        act={() => send("PUT", `/v1/allocation/${alloc.ID}/stop`, { namespace: ns })}>Stop</ActionButton>
    </span>
    <SignalDialog alloc={alloc} isOpen={signals} close={() => setSignals(false)} />
  </div>;
}

const signal_names = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGCONT", "SIGSTOP"];

function SignalDialog({ alloc, isOpen, close }: { alloc: Allocation; isOpen: boolean; close: () => void }): JSX.Element {
  const [signal, setSignal] = useState("SIGHUP");
  const [task, setTask] = useState("");
  return <Confirm name="Signal allocation" button="Send signal" isOpen={isOpen} close={close} done={`${signal} was sent`}
    act={() => send("PUT", `/v1/client/allocation/${alloc.ID}/signal`, { namespace: alloc.Namespace }, { Signal: signal, Task: task })}>
    <Choice label="Signal" value={signal} options={signal_names} onChange={setSignal} />
    <Choice label="Task" value={task} options={[["", "all of them"], ...tasksOf(alloc).map((one): [string, string] => [one, one])]} onChange={setTask} />
  </Confirm>;
}

function Overview({ alloc }: { alloc: Allocation }): JSX.Element {
  const isRunning = alloc.ClientStatus === "running";
  const stats = useData<Stats>(isRunning ? `/v1/client/allocation/${alloc.ID}/stats` : null, { namespace: alloc.Namespace }, { every: 1_000 });
  const tasks = tasksOf(alloc);
  const whyNot = useWhyNot("alloc-lifecycle", alloc.Namespace);
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
        { name: "", cell: (task) => <span class="row-actions"><a data-key="l" href={link("allocations", alloc.ID, task, "logs")} aria-label={`Logs of ${task}`}>logs</a>
          {tasks.length > 1 && alloc.TaskStates?.[task]?.State === "running" ? <ActionButton kind="plain link" disabled={whyNot !== undefined} why={whyNot} label={`Restart ${task}`} done={`${task} is restarted`}
            act={() => send("PUT", `/v1/client/allocation/${alloc.ID}/restart`, { namespace: alloc.Namespace }, { TaskName: task })}>restart</ActionButton> : null}</span> },
      ]} />
      {stats.error && isRunning ? <p class="faint">No figures of use: {stats.error.message}</p> : null}
    </section>
    <Schedules alloc={alloc} />
    {isRunning ? <Checks alloc={alloc} /> : null}
    <History of={{ alloc_id: alloc.ID }} />
    {ports.length > 0 ? <section class="panel"><h2>Ports</h2><Table name="Ports" rows={ports} keyOf={(port) => port.Label} columns={[
      { name: "Label", cell: (port) => port.Label }, { name: "Address", cell: (port) => `${port.HostIP}:${port.Value}` }, { name: "In the task", cell: (port) => port.To || "" }]} /></section> : null}
    <section class="panel"><h2>About</h2><Facts label="About the allocation" rows={factsOf(alloc)} /></section>
  </>;
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
  const [search] = addressed("search");
  return <section class="panel" aria-label="Logs of a task">
    {tasks.length > 1 ? <nav class="tabs small" aria-label="Task">{tasks.map((one) => <a href={link("allocations", alloc.ID, one, "logs")} aria-current={one === task ? "page" : undefined}>{one}</a>)}</nav> : null}
    <div class="actions"><a href={`${jobLink(alloc.JobID, alloc.Namespace, "logs")}${search === "" ? "" : `?search=${word(search)}`}`}>The whole job's log</a><span class="grow" />
      {alloc.ClientStatus === "running" ? <span class="row-actions"><span>CPU <Spark of={[{ alloc_id: alloc.ID }]} measure="cpu" /></span> <span>Memory <Spark of={[{ alloc_id: alloc.ID }]} measure="memory" /></span></span> : null}</div>
    {task ? <LogView key={task} name={task} hasEnded={alloc.TaskStates?.[task]?.State === "dead"} needs={`read-logs in namespace ${alloc.Namespace}`} follower={taskFollower(alloc.ID, task, alloc.Namespace)} /> : <p class="faint">It has no tasks.</p>}
  </section>;
}

function Events({ states }: { states: Record<string, TaskState> }): JSX.Element {
  const events = Object.entries(states).flatMap(([task, state]) => (state.Events ?? []).map((event) => ({ task, ...event }))).sort((a, b) => b.Time - a.Time);
  return <section class="panel"><h2>Events</h2>{events.length === 0 ? <p class="faint">Nothing has happened yet.</p> : <Table name="Events" rows={events} keyOf={(event) => `${event.task}${event.Time}${event.Type}`} columns={[
    { name: "Time", cell: (event) => <><Ago at={milliseconds(event.Time)} /> <span class="faint">{clock(milliseconds(event.Time))}</span></> },
    { name: "Task", cell: (event) => event.task }, { name: "Type", cell: (event) => event.Type }, { name: "What", cell: (event) => event.DisplayMessage }]} />}</section>;
}
