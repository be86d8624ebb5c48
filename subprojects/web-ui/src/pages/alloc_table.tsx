// Allocations in a table of a page: of a job, of a client.
import type { JSX } from "preact";
import { Ago, Status, Table, type Column } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { milliseconds, shortId } from "../pure/units.ts";
import { jobLink, link } from "../shell/router.ts";
import { isPast, type Allocation, type AllocStub } from "./job_types.ts";

const columns: Column<AllocStub>[] = [
  { name: "ID", by: (alloc) => alloc.ID, cell: (alloc) => <a href={link("allocations", alloc.ID)}>{shortId(alloc.ID)}</a> },
  { name: "Name", by: (alloc) => alloc.Name, cell: (alloc) => alloc.Name },
  { name: "Status", by: (alloc) => alloc.ClientStatus, cell: (alloc) => <Status value={alloc.ClientStatus} isPast={isPast(alloc)} /> },
  { name: "Desired", cell: (alloc) => alloc.DesiredStatus },
  { name: "CPU", cell: (alloc) => (alloc.ClientStatus === "running" ? <Spark of={[{ alloc_id: alloc.ID }]} measure="cpu" /> : null) },
  { name: "Memory", cell: (alloc) => (alloc.ClientStatus === "running" ? <Spark of={[{ alloc_id: alloc.ID }]} measure="memory" /> : null) },
  { name: "Version", isNumber: true, by: (alloc) => alloc.JobVersion ?? (alloc as Partial<Allocation>).Job?.Version ?? 0, cell: (alloc) => alloc.JobVersion ?? (alloc as Partial<Allocation>).Job?.Version },
  { name: "Created", by: (alloc) => alloc.CreateTime, cell: (alloc) => <Ago at={milliseconds(alloc.CreateTime)} /> },
  { name: "", cell: (alloc) => <a href={link("allocations", alloc.ID, "logs")} aria-label={`Logs of ${alloc.Name}`}>logs</a> },
];

const client: Column<AllocStub> = { name: "Client", by: (alloc) => alloc.NodeName, cell: (alloc) => <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a> };
const job: Column<AllocStub> = { name: "Job", by: (alloc) => alloc.JobID, cell: (alloc) => <a href={jobLink(alloc.JobID, alloc.Namespace)}>{alloc.JobID}</a> };

const sparks_at = 4;      // in the columns
const most_drawn = 100;  // of rows with their use: all of a table's are in the document, and each is read

/** `of`: what all of them have in common, which is in no column then. */
export function AllocTable({ allocs, of, name = "Allocations" }: { allocs: readonly AllocStub[]; of?: "job" | "client"; name?: string }): JSX.Element {
  return <Table name={name} rows={allocs} keyOf={(alloc) => alloc.ID}
    columns={[...columns.slice(0, 2), ...(of === "job" ? [] : [job]), ...columns.slice(2, sparks_at), ...(of === "client" ? [] : [client]), ...columns.slice(allocs.length > most_drawn ? sparks_at + 2 : sparks_at)]} />;
}

/** What is meant to run first, then the newest. */
export function inOrder(allocs: readonly AllocStub[]): AllocStub[] {
  const rank = (alloc: AllocStub): number => (alloc.DesiredStatus === "run" && !alloc.NextAllocation ? 0 : 1);
  return [...allocs].sort((a, b) => rank(a) - rank(b) || b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1));
}
