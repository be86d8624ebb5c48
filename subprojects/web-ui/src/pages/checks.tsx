// What the checks of an allocation's services say.
import type { JSX } from "preact";
import { Ago, Status, Table } from "../parts/parts.tsx";
import { plain } from "../pure/ansi.ts";
import { shortId } from "../pure/units.ts";
import { link } from "../shell/router.ts";
import { useData } from "../store/data.ts";

interface CheckResult {
  ID: string;
  Check: string;
  Service: string;
  Status: string;
  Output: string;
  Timestamp: number;
}

/** The checks of its services, or of the one named; nothing if it has none. */
export function Checks({ alloc, of }: { alloc: { ID: string; Namespace: string }; of?: string }): JSX.Element | null {
  const checks = useData<Record<string, CheckResult> | null>(`/v1/client/allocation/${alloc.ID}/checks`, { namespace: alloc.Namespace }, { every: 5_000 });
  const rows = Object.values(checks.value ?? {}).filter((row) => of === undefined || row.Service === of).sort((a, b) => (a.Service + a.Check < b.Service + b.Check ? -1 : 1));
  if (rows.length === 0) return null;
  return <section class="panel"><h2>Checks{of === undefined ? "" : <> of <a href={link("allocations", alloc.ID)}>{shortId(alloc.ID)}</a></>}</h2><Table name={of === undefined ? "Checks" : `Checks of ${shortId(alloc.ID)}`} rows={rows} keyOf={(row) => row.ID} columns={[
    { name: "Service", cell: (row) => row.Service }, { name: "Check", cell: (row) => row.Check }, { name: "Status", cell: (row) => <Status value={row.Status} /> },
    { name: "Seen", cell: (row) => <Ago at={row.Timestamp * 1000} /> }, { name: "Output", cell: (row) => plain(row.Output.slice(0, 300)) }]} /></section>;
}
