// What is reserved on each client: by datacenter, or pool.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Check, Heading, Meter, SearchBox, Status, Table, Trouble } from "../parts/parts.tsx";
import { reservedOf, type AllocRow } from "../pure/rows.ts";
import { mebibytes, percent, several } from "../pure/units.ts";
import { go, link, place, setParameter } from "../shell/router.ts";
import { useList } from "../store/data.ts";
import type { Allocation } from "./job_types.ts";
import { nodeOf, stateOf, type NodeStub } from "./node_types.ts";

interface Reserved {
  ID: string;
  NodeID: string;
  JobID: string;
  ClientStatus: string;
  cpu: number;
  memory: number;
}

interface Used {
  cpu: number;
  memory: number;
  count: number;
  job: string;  // that has reserved most memory
  most: number;
}

function useOf(allocs: readonly Reserved[]): Map<string, Used> {
  const used = new Map<string, Used>();
  for (const alloc of allocs) {
    if (alloc.ClientStatus !== "running" && alloc.ClientStatus !== "pending") continue;
    let sum = used.get(alloc.NodeID);
    if (!sum) used.set(alloc.NodeID, sum = { ...nothing });
    sum.cpu += alloc.cpu;
    sum.memory += alloc.memory;
    sum.count += 1;
    if (alloc.memory > sum.most || sum.job === "") { sum.most = alloc.memory; sum.job = alloc.JobID; }
  }
  return used;
}

const nothing: Used = { cpu: 0, memory: 0, count: 0, job: "", most: 0 };
const box = 26;
const most_in_table = 500;
const colorings = ["memory", "cpu", "status", "job"] as const;
type Coloring = typeof colorings[number];

/** What of a client is reserved, from 0 to 1. */
function shareOf(node: NodeStub, used: Used, by: "memory" | "cpu"): number {
  const whole = (by === "cpu" ? node.NodeResources?.Cpu.CpuShares : node.NodeResources?.Memory.MemoryMB) ?? 0;
  return whole > 0 ? Math.min(1, used[by] / whole) : 0;
}

/** The same colour for the same job, on both themes. */
function hueOf(job: string): string {
  let sum = 0;
  for (let at = 0; at < job.length; at += 1) sum = (sum * 31 + job.charCodeAt(at)) % 360;
  return `hsl(${sum} 55% 50%)`;
}

/** One box for each client, filled as far as it is reserved. A picture of the table below. */
function Picture({ nodes, used, marked, by }: { nodes: NodeStub[]; used: Map<string, Used>; marked: Set<string>; by: Coloring }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const columns = (): number => Math.max(1, Math.floor((canvas.current?.parentElement?.clientWidth ?? 800) / box));
  const at = (event: MouseEvent): NodeStub | undefined => nodes[Math.floor(event.offsetY / box) * columns() + Math.floor(event.offsetX / box)];
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
    const colors = Object.fromEntries(["--hover", "--line", "--good", "--bad", "--wait"].map((name) => [name, style.getPropertyValue(name)]));
    nodes.forEach((node, place) => {
      const x = (place % wide) * box;
      const y = Math.floor(place / wide) * box;
      const sum = used.get(node.ID) ?? nothing;
      const state = stateOf(node);
      const share = by === "status" ? 1 : shareOf(node, sum, by === "cpu" ? "cpu" : "memory");
      const kind = state === "ready" ? "--good" : state === "down" || state === "disconnected" ? "--bad" : "--wait";
      const color = colors[kind] ?? "";
      paint.fillStyle = colors["--hover"] ?? "";
      paint.fillRect(x + 2, y + 2, box - 4, box - 4);
      paint.fillStyle = marked.size > 0 && !marked.has(node.ID) ? colors["--line"] ?? "" : by === "job" && sum.job ? hueOf(sum.job) : color;
      const tall = Math.max(share > 0 ? 2 : 0, (box - 4) * share);
      paint.fillRect(x + 2, y + box - 2 - tall, box - 4, tall);
      paint.strokeStyle = colors[state === "ready" ? "--line" : kind] ?? "";
      paint.strokeRect(x + 2.5, y + 2.5, box - 5, box - 5);
    });
  });
  return <canvas ref={canvas} aria-hidden="true" onClick={(event) => { const node = at(event); if (node) go(link("clients", node.ID)); }}
    onMouseMove={(event) => {
      const node = at(event);
      const sum = used.get(node?.ID ?? "") ?? nothing;
      event.currentTarget.title = node ? `${node.Name}: ${stateOf(node)}, ${several(sum.count, "allocation")}, ${percent(sum.memory, node.NodeResources?.Memory.MemoryMB ?? 0)} of its memory reserved${sum.job ? `, most by ${sum.job}` : ""}` : "";
    }} />;
}

export function TopologyPage(): JSX.Element {
  const nodes = useList<NodeStub>({ path: "/v1/nodes", query: { resources: "true" }, idOf: (node) => node.ID, topic: "Node",
    rowOf: nodeOf });
  const allocs = useList<Reserved>({ path: "/v1/allocations", query: { resources: "true", task_states: "false", namespace: "*", fields: "ID,NodeID,JobID,ClientStatus,AllocatedResources" }, idOf: (alloc) => alloc.ID, topic: "Allocation",
    from: (alloc: Allocation): Reserved => ({ ID: alloc.ID, NodeID: alloc.NodeID, JobID: alloc.JobID, ClientStatus: alloc.ClientStatus, ...reservedOf(alloc.AllocatedResources) }),
    rowOf: (event) => event.row as AllocRow | null });
  const { query } = place.value;
  const by = query.get("by") === "pool" ? "pool" : "datacenter";
  const coloring = colorings.find((one) => one === query.get("colour")) ?? "memory";
  const text = (query.get("find") ?? "").toLowerCase();
  const onlyReady = query.get("ready") === "true";
  const used = useMemo(() => useOf(allocs.rows), [allocs.rows]);
  const marked = new Set(text === "" ? [] : allocs.rows.filter((alloc) => alloc.JobID.toLowerCase().includes(text)).map((alloc) => alloc.NodeID));
  const shown = nodes.rows.filter((node) => (!onlyReady || stateOf(node) === "ready") && (text === "" || marked.has(node.ID) || node.Name.toLowerCase().includes(text)));
  const groups = Map.groupBy(shown, (node) => (by === "pool" ? node.NodePool : node.Datacenter));
  return <><Heading title="Topology">Topology</Heading>
    <div class="actions">
      <label>By <select value={by} onChange={(event) => setParameter("by", event.currentTarget.value)}><option>datacenter</option><option>pool</option></select></label>
      <label>Colour <select value={coloring} onChange={(event) => setParameter("colour", event.currentTarget.value)}>{colorings.map((one) => <option>{one}</option>)}</select></label>
      <SearchBox label="Find job or client" value={query.get("find") ?? ""} onChange={(value) => setParameter("find", value)} />
      <Check label="Only ready" checked={onlyReady} onChange={(value) => setParameter("ready", value ? "true" : "")} /></div>
    <Trouble error={nodes.error} needs="node read" /><Trouble error={allocs.error} needs="read-job" />
    {[...groups].sort().map(([name, of]) => {
      const sum = (each: (node: NodeStub) => number): number => of.reduce((total, node) => total + each(node), 0);
      const cpu = sum((node) => node.NodeResources?.Cpu.CpuShares ?? 0);
      const memory = sum((node) => node.NodeResources?.Memory.MemoryMB ?? 0);
      return <section class="panel" key={name}><h2>{by} {name}</h2>
        <p>{of.length} {of.length === 1 ? "client" : "clients"}, {percent(sum((node) => used.get(node.ID)?.cpu ?? 0), cpu)} of {cpu} MHz and {percent(sum((node) => used.get(node.ID)?.memory ?? 0), memory)} of {mebibytes(memory)} reserved</p>
        <Picture nodes={of} used={used} marked={marked} by={coloring} /></section>;
    })}
    <section class="panel"><Table name="Topology" rows={shown.slice(0, most_in_table)} keyOf={(node) => node.ID} columns={[
      { name: "Client", cell: (node) => <a href={link("clients", node.ID)}>{node.Name}</a> }, { name: "State", cell: (node) => <Status value={stateOf(node)} /> },
      { name: "Datacenter", cell: (node) => node.Datacenter }, { name: "Pool", cell: (node) => node.NodePool },
      { name: "Allocations", isNumber: true, cell: (node) => (used.get(node.ID) ?? nothing).count },
      { name: "CPU reserved", cell: (node) => { const whole = node.NodeResources?.Cpu.CpuShares ?? 0; const part = (used.get(node.ID) ?? nothing).cpu; return <Meter part={part} whole={whole} text={`${part} of ${whole} MHz`} />; } },
      { name: "Memory reserved", cell: (node) => { const whole = node.NodeResources?.Memory.MemoryMB ?? 0; const part = (used.get(node.ID) ?? nothing).memory; return <Meter part={part} whole={whole} text={`${mebibytes(part)} of ${mebibytes(whole)}`} />; } },
    ]} />{shown.length > most_in_table ? <p class="faint">{most_in_table} of {shown.length.toLocaleString("en")} clients.</p> : shown.length === 0 && !nodes.isLoading ? <p class="faint">{nodes.rows.length === 0 ? "There are no clients yet: an agent with a client block is one." : "No client is like that."}</p> : null}</section></>;
}
