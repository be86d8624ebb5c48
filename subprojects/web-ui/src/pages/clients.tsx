// The clients of the cluster.
import type { JSX } from "preact";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import type { BulkAction } from "../parts/bulk.tsx";
import { Heading, Status } from "../parts/parts.tsx";
import { Spark } from "../parts/spark.tsx";
import { mebibytes, shortId } from "../pure/units.ts";
import { link } from "../shell/router.ts";
import { send } from "../store/api.ts";
import { useList } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import { nodeOf, stateOf, type NodeStub } from "./node_types.ts";

function driversOf(node: NodeStub): string {
  return Object.entries(node.Drivers ?? {}).filter(([, driver]) => driver.Detected).map(([name, driver]) => (driver.Healthy ? name : `${name} (unhealthy)`)).sort().join(", ");
}

function Use({ node, measure }: { node: NodeStub; measure: "cpu" | "memory" }): JSX.Element | null {
  const { NodeResources: all } = node;
  if (node.Status !== "ready") return null;
  return <Spark of={[{ node_id: node.ID }]} measure={measure} whole={measure === "cpu" ? all?.Cpu.CpuShares ?? 0 : (all?.Memory.MemoryMB ?? 0) * 1024 * 1024} />;
}

const columns: GridColumn<NodeStub>[] = [
  { name: "ID", width: "6.5rem", text: (node) => node.ID, cell: (node) => <code>{shortId(node.ID)}</code> },
  { name: "Name", width: "minmax(9rem, 2fr)", text: (node) => node.Name, cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> },
  { name: "State", text: (node) => stateOf(node), cell: (node) => <Status value={stateOf(node)} /> },
  { name: "Address", text: (node) => node.Address, cell: (node) => node.Address },
  { name: "Datacenter", text: (node) => node.Datacenter, cell: (node) => node.Datacenter },
  { name: "Pool", text: (node) => node.NodePool, cell: (node) => node.NodePool },
  { name: "Class", isHidden: true, text: (node) => node.NodeClass, cell: (node) => node.NodeClass },
  { name: "CPU in use", width: "7.5rem", isOfSight: true, text: () => "", cell: (node) => <Use node={node} measure="cpu" /> },
  { name: "Memory in use", width: "8.4rem", isOfSight: true, text: () => "", cell: (node) => <Use node={node} measure="memory" /> },
  { name: "CPU", width: "6rem", text: (node) => node.NodeResources?.Cpu.CpuShares ?? 0, cell: (node) => (node.NodeResources ? `${node.NodeResources.Cpu.CpuShares} MHz` : "") },
  { name: "Memory", width: "6rem", text: (node) => node.NodeResources?.Memory.MemoryMB ?? 0, cell: (node) => (node.NodeResources ? mebibytes(node.NodeResources.Memory.MemoryMB) : "") },
  { name: "Drivers", width: "minmax(10rem, 2fr)", text: driversOf, cell: driversOf },
];

const hour = 3_600e9;  // nanoseconds

function useActions(): BulkAction<NodeStub>[] {
  const whyNot = useWhyNot("node-write");
  const become = (node: NodeStub, Eligibility: string): Promise<unknown> => send("PUT", `/v1/node/${node.ID}/eligibility`, {}, { NodeID: node.ID, Eligibility });
  return [
    { name: "Drain", done: "draining", kind: "danger", happens: "Nothing new is placed on them, and what runs there moves to other clients; what is left after an hour is stopped.", fits: (node) => node.Status === "ready" && !node.Drain, whyNot,
      act: (node) => send("PUT", `/v1/node/${node.ID}/drain`, {}, { NodeID: node.ID, DrainSpec: { Deadline: hour, IgnoreSystemJobs: false } }) },
    { name: "Stop draining", done: "not draining any more", happens: "They take work again; what has moved stays where it is.", fits: (node) => node.Drain, whyNot,
      act: (node) => send("PUT", `/v1/node/${node.ID}/drain`, {}, { NodeID: node.ID, DrainSpec: null, MarkEligible: true }) },
    { name: "Make eligible", done: "eligible", happens: "New work is placed on them.", fits: (node) => !node.Drain && node.SchedulingEligibility === "ineligible", whyNot, act: (node) => become(node, "eligible") },
    { name: "Make ineligible", done: "ineligible", happens: "Nothing new is placed on them; what runs there stays.", fits: (node) => !node.Drain && node.SchedulingEligibility === "eligible", whyNot, act: (node) => become(node, "ineligible") },
  ];
}

export function ClientsPage(): JSX.Element {
  const list = useList<NodeStub>({ path: "/v1/nodes", query: { resources: "true" }, idOf: (node) => node.ID, topic: "Node",
    rowOf: nodeOf });
  return <><Heading title="Clients">Clients</Heading>
    <FilteredGrid name="Clients" noun="client" list={list} columns={columns} idOf={(node) => node.ID} nameOf={(node) => node.Name} actions={useActions()} needs="node read" empty={<p>No client has joined: start an agent with client &#123; enabled = true &#125;.</p>} /></>;
}
