// Allocations in a table of a page: of a job, of a client.
import type { JSX } from "preact";
import { Ago, Status, Table, type Column } from "../parts/parts.tsx";
import { milliseconds, shortId } from "../pure/units.ts";
import { jobLink, link } from "../shell/router.ts";
import { isPast, type Allocation, type AllocStub } from "./job_types.ts";

const columns: Column<AllocStub>[] = [
  { name: "ID", cell: (alloc) => <a href={link("allocations", alloc.ID)}>{shortId(alloc.ID)}</a> },
  { name: "Name", cell: (alloc) => alloc.Name },
  { name: "Status", cell: (alloc) => <Status value={alloc.ClientStatus} isPast={isPast(alloc)} /> },
  { name: "Desired", cell: (alloc) => alloc.DesiredStatus },
  { name: "Version", isNumber: true, cell: (alloc) => alloc.JobVersion ?? (alloc as Partial<Allocation>).Job?.Version },
  { name: "Created", cell: (alloc) => <Ago at={milliseconds(alloc.CreateTime)} /> },
  { name: "", cell: (alloc) => <a href={link("allocations", alloc.ID, "logs")} aria-label={`Logs of ${alloc.Name}`}>logs</a> },
];

const client: Column<AllocStub> = { name: "Client", cell: (alloc) => <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a> };
const job: Column<AllocStub> = { name: "Job", cell: (alloc) => <a href={jobLink(alloc.JobID, alloc.Namespace)}>{alloc.JobID}</a> };

/** `of`: what all of them have in common, which is in no column then. */
export function AllocTable({ allocs, of }: { allocs: readonly AllocStub[]; of?: "job" | "client" }): JSX.Element {
  return <Table name="Allocations" rows={allocs} keyOf={(alloc) => alloc.ID}
    columns={[...columns.slice(0, 2), ...(of === "job" ? [] : [job]), ...columns.slice(2, 4), ...(of === "client" ? [] : [client]), ...columns.slice(4)]} />;
}

/** What is meant to run first, then the newest. */
export function inOrder(allocs: readonly AllocStub[]): AllocStub[] {
  const rank = (alloc: AllocStub): number => (alloc.DesiredStatus === "run" && !alloc.NextAllocation ? 0 : 1);
  return [...allocs].sort((a, b) => rank(a) - rank(b) || b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1));
}
