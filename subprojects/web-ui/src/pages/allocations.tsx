// All allocations, of which only those in sight are drawn.
import type { JSX } from "preact";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import type { BulkAction } from "../parts/bulk.tsx";
import { Ago, Heading, Status } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { milliseconds, shortId } from "../pure/units.ts";
import { jobLink, link } from "../shell/router.ts";
import { get, namespace, send } from "../store/api.ts";
import { useList } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import { isPast, type AllocStub } from "./job_types.ts";
import type { Happened } from "../store/messages.ts";

const fields = "ID,Name,Namespace,NodeID,NodeName,JobID,JobVersion,TaskGroup,DesiredStatus,ClientStatus,CreateTime,ModifyTime,CreateIndex,NextAllocation";

const columns: GridColumn<AllocStub>[] = [
  { name: "ID", width: "6.5rem", text: (alloc) => alloc.ID, cell: (alloc) => <a href={link("allocations", alloc.ID)}>{shortId(alloc.ID)}</a> },
  { name: "Name", width: "minmax(10rem, 2fr)", text: (alloc) => alloc.Name, cell: (alloc) => alloc.Name },
  { name: "Job", text: (alloc) => alloc.JobID, cell: (alloc) => <a href={jobLink(alloc.JobID, alloc.Namespace)}>{alloc.JobID}</a> },
  { name: "Namespace", isHidden: true, text: (alloc) => alloc.Namespace, cell: (alloc) => alloc.Namespace },
  { name: "Status", text: (alloc) => alloc.ClientStatus, cell: (alloc) => <Status value={alloc.ClientStatus} isPast={isPast(alloc)} /> },
  { name: "Desired", width: "5rem", isHidden: true, text: (alloc) => alloc.DesiredStatus, cell: (alloc) => alloc.DesiredStatus },
  { name: "Client", text: (alloc) => `${alloc.NodeName} ${alloc.NodeID}`, cell: (alloc) => <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a> },
  { name: "CPU", width: "7.2rem", isOfSight: true, text: () => "", cell: (alloc) => (alloc.ClientStatus === "running" ? <Spark of={[{ alloc_id: alloc.ID }]} measure="cpu" /> : null) },
  { name: "Memory", width: "7.2rem", isOfSight: true, text: () => "", cell: (alloc) => (alloc.ClientStatus === "running" ? <Spark of={[{ alloc_id: alloc.ID }]} measure="memory" /> : null) },
  { name: "Version", width: "5rem", text: (alloc) => alloc.JobVersion ?? "", cell: (alloc) => alloc.JobVersion },
  { name: "Changed", width: "6rem", text: (alloc) => alloc.ModifyTime, cell: (alloc) => <Ago at={milliseconds(alloc.ModifyTime)} /> },
];

async function readOne(id: string): Promise<AllocStub | undefined> {
  return (await get<AllocStub[]>("/v1/allocations", { prefix: id, namespace: "*", task_states: "false", fields })).value[0];
}

/** Of a job's version events say nothing: the row keeps it. */
function allocOf(event: Happened, before: AllocStub | undefined): AllocStub | null {
  const row = event.row as AllocStub | null;
  return row && row.JobVersion === undefined && before ? { ...row, JobVersion: before.JobVersion } : row;
}

function useActions(): BulkAction<AllocStub>[] {
  const isOne = namespace.value !== "*";
  const cannot = useWhyNot("alloc-lifecycle", isOne ? namespace.value : undefined);
  const whyNot = isOne ? cannot : undefined;  // of several namespaces each row is judged when it is asked for
  return [
    { name: "Restart", done: "restarted", happens: "Their running tasks end and start again where they are.", fits: (alloc) => alloc.ClientStatus === "running", whyNot,
      act: (alloc) => send("PUT", `/v1/client/allocation/${alloc.ID}/restart`, { namespace: alloc.Namespace }, {}) },
    { name: "Stop", done: "stopped", kind: "danger", happens: "They end, and the scheduler places others for them.", fits: (alloc) => alloc.DesiredStatus === "run" && (alloc.ClientStatus === "running" || alloc.ClientStatus === "pending"), whyNot,
      act: (alloc) => send("PUT", `/v1/allocation/${alloc.ID}/stop`, { namespace: alloc.Namespace }) },
  ];
}

export function AllocationsPage(): JSX.Element {
  const list = useList<AllocStub>({ path: "/v1/allocations", query: { task_states: "false", fields }, idOf: (alloc) => alloc.ID, topic: "Allocation", newestFirst: true,
    rowOf: allocOf, readOne });
  return <><Heading title="Allocations">Allocations</Heading>
    <FilteredGrid name="Allocations" noun="allocation" list={list} columns={columns} idOf={(alloc) => alloc.ID} nameOf={(alloc) => `${alloc.Name} ${shortId(alloc.ID)}`} actions={useActions()} needs="read-job" empty={<p>There are no allocations: nothing has been placed yet.</p>} /></>;
}
