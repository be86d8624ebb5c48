// A job's logs, services and variables.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Panel, Table } from "../parts/parts.tsx";
import { taskFollower } from "../parts/follow.ts";
import { jobFollower } from "../parts/job_log.ts";
import { LogView } from "../parts/log.tsx";
import { addressed, link } from "../shell/router.ts";
import { word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { inOrder } from "./alloc_table.tsx";
import type { JobProps } from "./job.tsx";
import type { AllocStub, Job } from "./job_types.ts";
import { shortId } from "../pure/units.ts";

/** Of all allocations together, or of one. */
export function LogsTab({ path, ns, when, id }: JobProps): JSX.Element {
  const allocs = useData<AllocStub[]>(`${path}/allocations`, { namespace: ns, task_states: "false" }, { when });
  const job = useData<Job>(path, { namespace: ns }, {});
  const [chosen, setChosen] = addressed("allocation");
  const [task, setTask] = addressed("task");
  const [isMerged, setMerged] = useState(true);  // whether the agent can
  const needs = `read-logs in namespace ${ns}`;
  return <Panel title="Logs" data={allocs} needs={`read-job in namespace ${ns}`} empty="There are no allocations, so there are no logs.">{(all) => {
    const ordered = inOrder(all);
    const alloc = ordered.find((one) => one.ID === chosen) ?? (isMerged ? undefined : ordered[0]);
    const groups = (job.value?.TaskGroups ?? []).filter((group) => !alloc || group.Name === alloc.TaskGroup);
    const tasks = [...new Set(groups.flatMap((group) => (group.Tasks ?? []).map((one) => one.Name)))];
    const name = tasks.includes(task) ? task : alloc ? tasks[0] ?? "" : "";
    if (tasks.length === 0) return <p class="faint">Loading…</p>;
    return <>
      <div class="actions">
        <label>Allocation <select value={alloc?.ID ?? ""} onChange={(event) => setChosen(event.currentTarget.value)}>
          {isMerged ? <option value="">all of them</option> : null}{ordered.slice(0, 100).map((one) => <option value={one.ID}>{one.Name} {shortId(one.ID)} {one.ClientStatus}</option>)}</select></label>
        <label>Task <select value={name} onChange={(event) => setTask(event.currentTarget.value)}>{alloc ? null : <option value="">all of them</option>}{tasks.map((one) => <option>{one}</option>)}</select></label>
      </div>
      <LogView key={`${alloc?.ID ?? ""} ${name}`} isTimed={!alloc} name={[id, name].filter((one) => one !== "").join(".")} needs={needs} follower={alloc ? taskFollower(alloc.ID, name, ns) : jobFollower(id, ns, name, () => setMerged(false))} />
    </>;
  }}</Panel>;
}

interface JobService {
  ID: string;
  ServiceName: string;
  AllocID: string;
  Address: string;
  Port: number;
  Tags: string[] | null;
}

export function ServicesTab({ path, ns, when }: JobProps): JSX.Element {
  const services = useData<JobService[]>(`${path}/services`, { namespace: ns }, { when });
  return <Panel title="Services" data={services} needs={`read-job in namespace ${ns}`} empty="This job has registered no services.">{(all) =>
    <Table name="Services" rows={all} keyOf={(one) => one.ID} columns={[
      { name: "Service", cell: (one) => <a href={`${link("services", one.ServiceName)}?namespace=${word(ns)}`}>{one.ServiceName}</a> },
      { name: "Address", cell: (one) => (one.Port ? `${one.Address}:${one.Port}` : one.Address) },
      { name: "Tags", cell: (one) => one.Tags?.join(", ") },
      { name: "Allocation", cell: (one) => <a href={link("allocations", one.AllocID)}>{shortId(one.AllocID)}</a> },
    ]} />}</Panel>;
}

export function VariablesTab({ id, ns }: JobProps): JSX.Element {
  const variables = useData<{ Path: string; Namespace: string; ModifyTime: number }[]>("/v1/vars", { prefix: `nomad/jobs/${id}`, namespace: ns });
  return <Panel title="Variables" data={variables} needs={`variables list in namespace ${ns}`} empty={`The tasks of this job may read variables at nomad/jobs/${id} and below; there are none.`}>{(all) =>
    <Table name="Variables" rows={all} keyOf={(one) => one.Path} columns={[{ name: "Path", cell: (one) => <a href={link("variables", "var", `${one.Path}@${one.Namespace}`)}>{one.Path}</a> }]} />}</Panel>;
}
