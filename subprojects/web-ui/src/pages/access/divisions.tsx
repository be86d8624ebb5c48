// What an administrator divides a cluster into: namespaces, node pools, and how much each namespace may take.
import type { JSX } from "preact";
import { Choice, Meter, TextField, type Column } from "../../parts/parts.tsx";
import { mebibytes } from "../../pure/units.ts";
import { get, region, send, word } from "../../store/api.ts";
import { useData } from "../../store/data.ts";
import { Managed, every, type Kind } from "./managed.tsx";

interface Named {
  Name: string;
  Description: string;
  Quota?: string;
}

const built_in = new Set(["default", "all"]);

const named_columns: Column<Named>[] = [{ name: "Name", cell: (row) => row.Name }, { name: "Description", cell: (row) => row.Description }];

function nameFields(row: Named, change: (part: Partial<Named>) => void, isNew: boolean): JSX.Element {
  return <><TextField label="Name" value={row.Name} isFixed={!isNew} onChange={(Name) => change({ Name })} />
    <TextField label="Description" value={row.Description} onChange={(Description) => change({ Description })} /></>;
}

function QuotaField({ row, change }: { row: Named; change: (part: Partial<Named>) => void }): JSX.Element | null {
  const quotas = (useData<{ Name: string }[]>("/v1/quotas").value ?? []).map((one) => one.Name);
  if (quotas.length === 0 && !row.Quota) return null;
  return <Choice label="Quota" value={row.Quota ?? ""} options={[["", "none"], ...quotas.map((name): [string, string] => [name, name])]} onChange={(Quota) => change({ Quota })} />;
}

const namespaces: Kind<Named> = {
  name: "Namespaces", one: "namespace", list: "/v1/namespaces", needs: "rights in a namespace", changes: "management", empty: "There are no namespaces.",
  keyOf: (row) => row.Name, columns: [...named_columns, { name: "Quota", cell: (row) => row.Quota }], blank: () => ({ Name: "", Description: "" }),
  form: (row, change, isNew) => <>{nameFields(row, change, isNew)}<QuotaField row={row} change={change} /></>,
  save: (row) => send("PUT", `/v1/namespace/${word(row.Name)}`, {}, row), remove: (row) => send("DELETE", `/v1/namespace/${word(row.Name)}`),
  loses: "it must not have jobs that run, variables or allocations.", stays: (row) => row.Name === "default",
};

const pools: Kind<Named> = {
  name: "Node pools", one: "node pool", list: "/v1/node/pools", needs: "node_pool read", changes: "management", empty: "There are no node pools.",
  keyOf: (row) => row.Name, columns: named_columns, blank: () => ({ Name: "", Description: "" }), form: nameFields,
  save: (row) => send("PUT", `/v1/node/pool/${word(row.Name)}`, {}, row), remove: (row) => send("DELETE", `/v1/node/pool/${word(row.Name)}`),
  loses: "no client and no job must be of it.", isFixed: (row) => built_in.has(row.Name),
};

export const Namespaces = (): JSX.Element => <Managed kind={namespaces} />;
export const Pools = (): JSX.Element => <Managed kind={pools} />;

type Measure = "CPU" | "MemoryMB" | "MemoryMaxMB" | "Cores" | "Allocations";

interface Limit {
  Region: string;
  RegionLimit: (Partial<Record<Measure, number>> & { Devices?: { Name: string; Count: number }[] | null }) | null;
  VariablesLimit?: number;
  Hash?: string;
}

interface Quota {
  Name: string;
  Description: string;
  Limits: Limit[] | null;
}

interface Usage {
  Name: string;
  Used: Record<string, Limit> | null;
}

const measures: readonly (readonly [Measure, string, (count: number) => string])[] = [["CPU", "CPU in MHz", (count) => `${count} MHz`], ["MemoryMB", "Memory in MiB", mebibytes],
  ["MemoryMaxMB", "Memory beyond the reservation in MiB", mebibytes], ["Cores", "Cores", String], ["Allocations", "Allocations", String]];

/** What a limit allows, and what of it is in use where that is known: other regions count their own. */
function LimitView({ limit, used }: { limit: Limit; used: Limit | undefined }): JSX.Element {
  const part = (name: string, most: number, now: number | undefined, text: (count: number) => string): JSX.Element | null => (most === 0 ? null
    : <li>{name}: {most < 0 ? "nothing" : now === undefined ? `at most ${text(most)}` : <Meter part={now} whole={most} text={`${text(now)} of ${text(most)}`} />}</li>);
  return <div><b>{limit.Region}</b><ul class="plain-list">
    {measures.map(([key, , text]) => part(key === "MemoryMB" ? "Memory" : key === "MemoryMaxMB" ? "Memory at most" : key, limit.RegionLimit?.[key] ?? 0, used?.RegionLimit?.[key], text))}
    {(limit.RegionLimit?.Devices ?? []).map((device) => part(device.Name, device.Count, used?.RegionLimit?.Devices?.find((one) => one.Name === device.Name)?.Count, String))}
    {part("Variables", limit.VariablesLimit ?? 0, used?.VariablesLimit, mebibytes)}</ul></div>;
}

function QuotaForm({ row, change, isNew }: { row: Quota; change: (part: Partial<Quota>) => void; isNew: boolean }): JSX.Element {
  const regions = useData<string[]>("/v1/regions").value ?? [];
  const limits = row.Limits ?? [];
  const set = (at: number, part: Partial<Limit>): void => change({ Limits: limits.map((limit, place) => (place === at ? { ...limit, ...part } : limit)) });
  const count = (text: string): number => Math.round(Number(text) || 0);
  return <>
    <TextField label="Name" value={row.Name} isFixed={!isNew} onChange={(Name) => change({ Name })} />
    <TextField label="Description" value={row.Description} onChange={(Description) => change({ Description })} />
    <p class="faint">0 is no limit, less than 0 allows nothing. All namespaces that name this quota share it.</p>
    {limits.map((limit, at) => <fieldset key={at}><legend>Limit {at + 1}</legend>
      <TextField label="Region" value={limit.Region} list={regions} onChange={(Region) => set(at, { Region })} />
      {measures.map(([key, text]) => <label class="field">{text}<input type="number" value={limit.RegionLimit?.[key] ?? 0} onInput={(event) => set(at, { RegionLimit: { ...limit.RegionLimit, [key]: count(event.currentTarget.value) } })} /></label>)}
      <label class="field">Variables in MiB<input type="number" value={limit.VariablesLimit ?? 0} onInput={(event) => set(at, { VariablesLimit: count(event.currentTarget.value) })} /></label>
      <button type="button" onClick={() => change({ Limits: limits.filter((_, place) => place !== at) })}>Remove this limit</button></fieldset>)}
    <button type="button" onClick={() => change({ Limits: [...limits, { Region: regions.find((one) => !limits.some((limit) => limit.Region === one)) ?? "", RegionLimit: {} }] })}>Add a limit</button></>;
}

export function Quotas(): JSX.Element {
  const usages = useData<Usage[]>("/v1/quota-usages", {}, { every });
  const home = useData<string[]>("/v1/regions").value?.[0] ?? "global";
  const usedOf = (quota: Quota, limit: Limit): Limit | undefined => usages.value?.find((one) => one.Name === quota.Name)?.Used?.[limit.Hash ?? ""];
  return <Managed<Quota> kind={{
    name: "Quotas", one: "quota", list: "/v1/quotas", needs: "quota read", changes: "quota-write", empty: "There are no quotas: each namespace may take what there is.",
    keyOf: (row) => row.Name, blank: () => ({ Name: "", Description: "", Limits: [{ Region: region.value || home, RegionLimit: {} }] }),
    columns: [...(named_columns as Column<Quota>[]), { name: "Limits and use", cell: (row) => (row.Limits ?? []).map((limit) => <LimitView limit={limit} used={usedOf(row, limit)} />) }],
    read: async (row) => (await get<Quota>(`/v1/quota/${word(row.Name)}`)).value,
    form: (row, change, isNew) => <QuotaForm row={row} change={change} isNew={isNew} />,
    save: (row) => send("PUT", "/v1/quota", {}, row), remove: (row) => send("DELETE", `/v1/quota/${word(row.Name)}`),
    loses: "no namespace must name it.",
  }} />;
}
