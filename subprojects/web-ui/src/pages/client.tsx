// One client: how it stands, what runs there, draining and eligibility.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { History } from "../parts/history.tsx";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { ActionButton, Ago, Check, Choice, Confirm, Facts, Heading, Meter, Panel, Status, Switch, Table, TextField } from "../parts/parts.tsx";
import { bytes, duration, shortId } from "../pure/units.ts";
import { exactly } from "../shell/preferences.ts";
import { go, place } from "../shell/router.ts";
import { send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";
import { AllocTable, inOrder } from "./alloc_table.tsx";
import type { AllocStub } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";
import { stateOf, type Node } from "./node_types.ts";

interface HostStats {
  CPU: { CPU: string; TotalPercent: number }[] | null;
  Memory: { Used: number; Total: number } | null;
  DiskStats: { Device: string; Mountpoint: string; Used: number; Size: number }[] | null;
  Uptime: number;
}

export function ClientPage(): JSX.Element {
  const id = place.value.path[1] ?? "";
  const at = `/v1/node/${word(id)}`;
  const node = useData<Node>(at, {}, { when: (event) => event.topic === "Node" && event.key === id });
  const allocs = useData<AllocStub[]>(`${at}/allocations`, {}, { when: (event) => event.topic === "Allocation" && event.node === id });
  if (node.error?.status === 404 || node.error?.status === 400) return <NotFound what={`Client ${id}`} back={{ href: "/ui/clients", text: "Clients" }} />;
  const value = node.value;
  const running = (allocs.value ?? []).filter((alloc) => alloc.ClientStatus === "running").length;
  return <>
    <Heading title={value?.Name ?? shortId(id)} back={{ href: "/ui/clients", text: "Clients" }}>{value?.Name ?? shortId(id)}</Heading>
    <Panel data={node} needs="node read">{(of) => <Actions node={of} running={running} />}</Panel>
    <Use id={id} isReady={value?.Status === "ready"} />
    {value?.Status === "ready" ? <History of={{ node_id: id }} /> : null}
    <Panel title="Allocations" data={allocs} needs="node read" empty="Nothing runs here.">{(all) => <AllocTable of="client" allocs={inOrder(all).slice(0, 500)} />}</Panel>
    {value ? <Details node={value} /> : null}
  </>;
}

function Actions({ node, running }: { node: Node; running: number }): JSX.Element {
  const [asks, setAsks] = useState("");
  const [hours, setHours] = useState("1");
  const [ends, setEnds] = useState("deadline");
  const [ignoresSystem, setIgnoresSystem] = useState(false);
  const close = (): void => setAsks("");
  const path = `/v1/node/${node.ID}`;
  const whyNot = useWhyNot("node-write");
  const isEligible = node.SchedulingEligibility === "eligible";
  const isDraining = node.DrainStrategy != null;
  const state = stateOf({ ...node, Drain: isDraining });
  const drain = (): Promise<unknown> => send("PUT", `${path}/drain`, {}, { NodeID: node.ID, DrainSpec: { Deadline: ends === "never" ? 0 : ends === "now" ? -1 : Math.round(Number(hours) * 3_600) * 1e9, IgnoreSystemJobs: ignoresSystem } });
  return <div class="actions">
    <Status value={state} label="Client status" />
    <ObjectTools id={node.ID} shown={shortId(node.ID)} command={commandOf("node status", node.ID)} raw={node} /><span>{node.Datacenter}</span><span>pool {node.NodePool}</span>{node.NodeClass ? <span>class {node.NodeClass}</span> : null}
    {isDraining ? <span>{running} {running === 1 ? "allocation" : "allocations"} left</span> : null}
    {!isDraining && node.LastDrain ? <span class="faint">last drain: {node.LastDrain.Status}, <Ago at={Date.parse(node.LastDrain.UpdatedAt)} /></span> : null}
    <span class="deeds">
      <Switch label="Eligible" isOn={isEligible} disabled={isDraining || whyNot !== undefined} act={() => send("PUT", `${path}/eligibility`, {}, { NodeID: node.ID, Eligibility: isEligible ? "ineligible" : "eligible" })} />
      {isDraining ? <ActionButton disabled={whyNot !== undefined} why={whyNot} done="The drain is stopped" act={() => send("PUT", `${path}/drain`, {}, { NodeID: node.ID, DrainSpec: null, MarkEligible: true })}>Stop drain</ActionButton>
        : <button type="button" class="danger" data-key="s" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("drain")}>Drain</button>}
      {node.Status === "down" ? <button type="button" class="danger" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("purge")}>Purge</button> : null}
    </span>
    <Confirm name="Drain client" button="Start drain" kind="danger" isOpen={asks === "drain"} close={close} done={`${node.Name} drains`} act={drain}>
      <p>Nothing new is placed on {node.Name}, and its {running} running {running === 1 ? "allocation moves" : "allocations move"} to other clients.</p>
      <Choice label="What is left" value={ends} options={[["deadline", "is stopped after a deadline"], ["never", "may stay until it has moved"], ["now", "is stopped at once"]]} onChange={setEnds} />
      {ends !== "deadline" ? null : <label class="field">Deadline in hours<input type="number" min="0.01" step="any" value={hours} onInput={(event) => setHours(event.currentTarget.value)} /></label>}
      <Check label="Let system jobs run on" checked={ignoresSystem} onChange={setIgnoresSystem} />
    </Confirm>
    <Confirm name="Purge client" button="Purge client" kind="danger" isOpen={asks === "purge"} close={close} done={`${node.Name} is purged`}
      act={async () => { await send("PUT", `${path}/purge`); go("/ui/clients"); }}><p>The servers forget {node.Name}. If its agent still runs, it registers again.</p></Confirm>
  </div>;
}

/** A disk that is mounted at several places is one of them, the shortest. */
function disksOf(all: NonNullable<HostStats["DiskStats"]>): NonNullable<HostStats["DiskStats"]> {
  const disks = new Map<string, (typeof all)[number]>();
  for (const disk of [...all].sort((a, b) => a.Mountpoint.length - b.Mountpoint.length)) if (!disks.has(`${disk.Device} ${disk.Size}`)) disks.set(`${disk.Device} ${disk.Size}`, disk);
  return [...disks.values()];
}

function Use({ id, isReady }: { id: string; isReady: boolean }): JSX.Element | null {
  const stats = useData<HostStats>(isReady ? "/v1/client/stats" : null, { node_id: id }, { every: 1_000 });
  const value = stats.value;
  if (!isReady) return null;
  return <Panel title="Use" data={stats} needs="node read">{() => {
    const cores = value?.CPU ?? [];
    const cpu = cores.reduce((sum, core) => sum + core.TotalPercent, 0) / Math.max(1, cores.length);
    return <Facts label="Use of the machine" rows={[["CPU", <Meter part={cpu} whole={100} text={`${Math.round(cpu)}% of ${cores.length} cores`} />],
      ["Memory", value?.Memory ? <Meter part={value.Memory.Used} whole={value.Memory.Total} text={`${bytes(value.Memory.Used)} of ${bytes(value.Memory.Total)}`} /> : undefined],
      ...disksOf(value?.DiskStats ?? []).slice(0, 3).map((disk): [string, JSX.Element] => [`Disk ${disk.Mountpoint}`, <Meter part={disk.Used} whole={disk.Size} text={`${bytes(disk.Used)} of ${bytes(disk.Size)}`} />]),
      ["Up for", duration(value?.Uptime ?? 0)]]} />;
  }}</Panel>;
}

function Details({ node }: { node: Node }): JSX.Element {
  const drivers = Object.entries(node.Drivers ?? {}).sort();
  const pairs = (of: Record<string, string> | null): [string, string][] => Object.entries(of ?? {}).sort();
  return <>
    <section class="panel"><h2>Drivers</h2><Table name="Drivers" rows={drivers} keyOf={([name]) => name} columns={[
      { name: "Driver", cell: ([name]) => name }, { name: "Detected", cell: ([, driver]) => (driver.Detected ? "yes" : "no") },
      { name: "Health", cell: ([, driver]) => (driver.Detected ? <Status value={driver.Healthy ? "healthy" : "unhealthy"} /> : "") }, { name: "Says", cell: ([, driver]) => driver.HealthDescription }]} /></section>
    <section class="panel"><h2>Events</h2><Table name="Events" rows={[...(node.Events ?? [])].reverse()} keyOf={(event) => event.Timestamp + event.Message} columns={[
      { name: "Time", cell: (event) => exactly(Date.parse(event.Timestamp)) }, { name: "Part", cell: (event) => event.Subsystem }, { name: "What", cell: (event) => event.Message }]} /></section>
    <details class="panel"><summary>Attributes</summary><Facts label="Attributes" rows={pairs(node.Attributes)} /></details>
    <details class="panel"><summary>Meta</summary><Facts label="Meta" rows={pairs(node.Meta)} /><MetaForm node={node} /></details>
  </>;
}

/** Sets or unsets one member of the client's meta, which stays over its restarts. */
function MetaForm({ node }: { node: Node }): JSX.Element {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const whyNot = useWhyNot("node-write");
  const isOff = whyNot !== undefined || node.Status !== "ready" || name.trim() === "";
  const set = (to: string | null): Promise<unknown> => send("PUT", "/v1/client/metadata", { node_id: node.ID }, { NodeID: node.ID, Meta: { [name.trim()]: to } });
  return <div class="item"><TextField label="Key" value={name} onChange={setName} /><TextField label="Value" value={value} onChange={setValue} />
    <ActionButton disabled={isOff} why={whyNot} done={`${name} is set`} act={() => set(value)}>Set</ActionButton>
    <ActionButton disabled={isOff} why={whyNot} done={`${name} is unset`} act={() => set(null)}>Unset</ActionButton></div>;
}
