// What is reserved on each client: by datacenter, or pool.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Check, Heading, Meter, SearchBox, Status, Table, Trouble } from "../parts/parts.tsx";
import { mebibytes, percent } from "../pure/units.ts";
import { go, link, place, setParameter } from "../shell/router.ts";
import { useList } from "../store/data.ts";
import type { Allocation } from "./job_types.ts";
import { nodeStubOf, stateOf, type NodeStub } from "./node_types.ts";

interface Reserved {
  ID: string;
  NodeID: string;
  JobID: string;
  ClientStatus: string;
  AllocatedResources: Allocation["AllocatedResources"];
}

interface Used {
  cpu: number;
  memory: number;
  count: number;
}

function useOf(allocs: readonly Reserved[]): Map<string, Used> {
  const used = new Map<string, Used>();
  for (const alloc of allocs) {
    if (alloc.ClientStatus !== "running" && alloc.ClientStatus !== "pending") continue;
    const sum = used.get(alloc.NodeID) ?? { cpu: 0, memory: 0, count: 0 };
    for (const task of Object.values(alloc.AllocatedResources?.Tasks ?? {})) { sum.cpu += task.Cpu.CpuShares; sum.memory += task.Memory.MemoryMB; }
    sum.count += 1;
    used.set(alloc.NodeID, sum);
  }
  return used;
}

const nothing: Used = { cpu: 0, memory: 0, count: 0 };
const box = 26;

/** One box for each client, filled as far as its memory is reserved. A picture of the table below. */
function Picture({ nodes, used, marked }: { nodes: NodeStub[]; used: Map<string, Used>; marked: Set<string> }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const columns = (): number => Math.max(1, Math.floor((canvas.current?.parentElement?.clientWidth ?? 800) / box));
  useEffect(() => {
    const element = canvas.current;
    const paint = element?.getContext("2d");
    if (!element || !paint) return;
    const wide = columns();
    const scale = devicePixelRatio || 1;
    element.width = wide * box * scale;
    element.height = Math.ceil(nodes.length / wide) * box * scale;
    element.style.width = `${wide * box}px`;
    element.style.height = `${element.height / scale}px`;
    paint.scale(scale, scale);
    const style = getComputedStyle(element);
    nodes.forEach((node, at) => {
      const x = (at % wide) * box;
      const y = Math.floor(at / wide) * box;
      const whole = node.NodeResources?.Memory.MemoryMB ?? 0;
      const share = whole > 0 ? Math.min(1, (used.get(node.ID)?.memory ?? 0) / whole) : 0;
      paint.fillStyle = style.getPropertyValue("--hover");
      paint.fillRect(x + 2, y + 2, box - 4, box - 4);
      paint.fillStyle = style.getPropertyValue(marked.size > 0 && !marked.has(node.ID) ? "--line" : stateOf(node) === "ready" ? "--good" : "--bad");
      const tall = Math.max(share > 0 ? 2 : 0, (box - 4) * share);
      paint.fillRect(x + 2, y + box - 2 - tall, box - 4, tall);
      paint.strokeStyle = style.getPropertyValue(stateOf(node) === "ready" ? "--line" : "--bad");
      paint.strokeRect(x + 2.5, y + 2.5, box - 5, box - 5);
    });
  });
  return <canvas ref={canvas} aria-hidden="true" onClick={(event) => {
    const node = nodes[Math.floor(event.offsetY / box) * columns() + Math.floor(event.offsetX / box)];
    if (node) go(link("clients", node.ID));
  }} />;
}

export function TopologyPage(): JSX.Element {
  const nodes = useList<NodeStub>({ path: "/v1/nodes", query: { resources: "true" }, idOf: (node) => node.ID, topic: "Node",
    rowOf: (event, before) => (event.Type === "NodeDeregistration" ? undefined : event.Payload?.["Node"] ? nodeStubOf(event.Payload["Node"], before) : null) });
  const allocs = useList<Reserved>({ path: "/v1/allocations", query: { resources: "true", task_states: "false", namespace: "*", fields: "ID,NodeID,JobID,ClientStatus,AllocatedResources" }, idOf: (alloc) => alloc.ID, topic: "Allocation",
    rowOf: (event) => (event.Payload?.["Allocation"] as Reserved | undefined) ?? null });
  const { query } = place.value;
  const by = query.get("by") === "pool" ? "pool" : "datacenter";
  const text = (query.get("find") ?? "").toLowerCase();
  const onlyReady = query.get("ready") === "true";
  const used = useMemo(() => useOf(allocs.rows), [allocs.rows]);
  const marked = new Set(text === "" ? [] : allocs.rows.filter((alloc) => alloc.JobID.toLowerCase().includes(text)).map((alloc) => alloc.NodeID));
  const shown = nodes.rows.filter((node) => (!onlyReady || stateOf(node) === "ready") && (text === "" || marked.has(node.ID) || node.Name.toLowerCase().includes(text)));
  const groups = Map.groupBy(shown, (node) => (by === "pool" ? node.NodePool : node.Datacenter));
  return <><Heading title="Topology">Topology</Heading>
    <div class="actions">
      <label>By <select value={by} onChange={(event) => setParameter("by", event.currentTarget.value)}><option>datacenter</option><option>pool</option></select></label>
      <SearchBox label="Find job or client" value={query.get("find") ?? ""} onChange={(value) => setParameter("find", value)} />
      <Check label="Only ready" checked={onlyReady} onChange={(value) => setParameter("ready", value ? "true" : "")} /></div>
    <Trouble error={nodes.error} needs="node read" /><Trouble error={allocs.error} needs="read-job" />
    {[...groups].sort().map(([name, of]) => {
      const sum = (each: (node: NodeStub) => number): number => of.reduce((total, node) => total + each(node), 0);
      const cpu = sum((node) => node.NodeResources?.Cpu.CpuShares ?? 0);
      const memory = sum((node) => node.NodeResources?.Memory.MemoryMB ?? 0);
      return <section class="panel" key={name}><h2>{by} {name}</h2>
        <p>{of.length} {of.length === 1 ? "client" : "clients"}, {percent(sum((node) => used.get(node.ID)?.cpu ?? 0), cpu)} of {cpu} MHz and {percent(sum((node) => used.get(node.ID)?.memory ?? 0), memory)} of {mebibytes(memory)} reserved</p>
        <Picture nodes={of} used={used} marked={marked} /></section>;
    })}
    <Table name="Topology" rows={shown.slice(0, 500)} keyOf={(node) => node.ID} columns={[
      { name: "Client", cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> }, { name: "State", cell: (node) => <Status value={stateOf(node)} /> },
      { name: "Datacenter", cell: (node) => node.Datacenter }, { name: "Pool", cell: (node) => node.NodePool },
      { name: "Allocations", isNumber: true, cell: (node) => (used.get(node.ID) ?? nothing).count },
      { name: "CPU reserved", cell: (node) => { const whole = node.NodeResources?.Cpu.CpuShares ?? 0; const part = (used.get(node.ID) ?? nothing).cpu; return <Meter part={part} whole={whole} text={`${part} of ${whole} MHz`} />; } },
      { name: "Memory reserved", cell: (node) => { const whole = node.NodeResources?.Memory.MemoryMB ?? 0; const part = (used.get(node.ID) ?? nothing).memory; return <Meter part={part} whole={whole} text={`${mebibytes(part)} of ${mebibytes(whole)}`} />; } },
    ]} /></>;
}
