// The clients of the cluster.
import type { JSX } from "preact";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import { Heading, Status } from "../parts/parts.tsx";
import { mebibytes, shortId } from "../pure/units.ts";
import { link } from "../shell/router.ts";
import { useList } from "../store/data.ts";
import { nodeOf, stateOf, type NodeStub } from "./node_types.ts";

function driversOf(node: NodeStub): string {
  return Object.entries(node.Drivers ?? {}).filter(([, driver]) => driver.Detected).map(([name, driver]) => (driver.Healthy ? name : `${name} (unhealthy)`)).sort().join(", ");
}

const columns: GridColumn<NodeStub>[] = [
  { name: "ID", width: "6.5rem", text: (node) => node.ID, cell: (node) => <code>{shortId(node.ID)}</code> },
  { name: "Name", width: "minmax(9rem, 2fr)", text: (node) => node.Name, cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> },
  { name: "State", text: (node) => stateOf(node), cell: (node) => <Status value={stateOf(node)} /> },
  { name: "Address", text: (node) => node.Address, cell: (node) => node.Address },
  { name: "Datacenter", text: (node) => node.Datacenter, cell: (node) => node.Datacenter },
  { name: "Pool", text: (node) => node.NodePool, cell: (node) => node.NodePool },
  { name: "Class", text: (node) => node.NodeClass, cell: (node) => node.NodeClass },
  { name: "CPU", width: "6rem", text: (node) => node.NodeResources?.Cpu.CpuShares ?? 0, cell: (node) => (node.NodeResources ? `${node.NodeResources.Cpu.CpuShares} MHz` : "") },
  { name: "Memory", width: "6rem", text: (node) => node.NodeResources?.Memory.MemoryMB ?? 0, cell: (node) => (node.NodeResources ? mebibytes(node.NodeResources.Memory.MemoryMB) : "") },
  { name: "Drivers", width: "minmax(10rem, 2fr)", text: driversOf, cell: driversOf },
];

export function ClientsPage(): JSX.Element {
  const list = useList<NodeStub>({ path: "/v1/nodes", query: { resources: "true" }, idOf: (node) => node.ID, topic: "Node",
    rowOf: nodeOf });
  return <><Heading title="Clients">Clients</Heading>
    <FilteredGrid name="Clients" noun="client" list={list} columns={columns} idOf={(node) => node.ID} needs="node read" empty={<p>No client has joined: start an agent with client &#123; enabled = true &#125;.</p>} /></>;
}
