// Allocations in a table of a page: of a job, of a client.
import type { JSX } from "preact";
import { Ago, Status, Table, type Column } from "../parts/parts.tsx";
import { milliseconds, shortId } from "../pure/units.ts";
import { link } from "../shell/router.ts";
import type { Allocation, AllocStub } from "./job_types.ts";

const columns: Column<AllocStub>[] = [
  { name: "ID", cell: (alloc) => <a href={link("allocations", alloc.ID)}>{shortId(alloc.ID)}</a> },
  { name: "Name", cell: (alloc) => alloc.Name },
  { name: "Status", cell: (alloc) => <Status value={alloc.ClientStatus} /> },
  { name: "Desired", cell: (alloc) => alloc.DesiredStatus },
  { name: "Client", cell: (alloc) => <a href={link("clients", alloc.NodeID)}>{alloc.NodeName || shortId(alloc.NodeID)}</a> },
  { name: "Version", isNumber: true, cell: (alloc) => alloc.JobVersion ?? (alloc as Partial<Allocation>).Job?.Version },
  { name: "Created", cell: (alloc) => <Ago at={milliseconds(alloc.CreateTime)} /> },
  { name: "", cell: (alloc) => <a href={link("allocations", alloc.ID, "logs")} aria-label={`Logs of ${alloc.Name}`}>logs</a> },
];

export function AllocTable({ allocs, name = "Allocations" }: { allocs: readonly AllocStub[]; name?: string }): JSX.Element {
  return <Table name={name} rows={allocs} keyOf={(alloc) => alloc.ID} columns={columns} />;
}

/** What is meant to run first, then the newest. */
export function inOrder(allocs: readonly AllocStub[]): AllocStub[] {
  const rank = (alloc: AllocStub): number => (alloc.DesiredStatus === "run" && !alloc.NextAllocation ? 0 : 1);
  return [...allocs].sort((a, b) => rank(a) - rank(b) || b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1));
}
