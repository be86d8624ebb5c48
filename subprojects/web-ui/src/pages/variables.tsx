// Variables: where they are, and one with its values, which are shown when that is asked for.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { ActionButton, Ago, Confirm, Heading, Panel, SearchBox, Table } from "../parts/parts.tsx";
import { inFolder, type Folder } from "../pure/folders.ts";
import { milliseconds, several } from "../pure/units.ts";
import { go, link, place, setParameter, splitName } from "../shell/router.ts";
import { ApiError, namespace, request, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";

interface Meta {
  Path: string;
  Namespace: string;
  ModifyTime: number;
  ModifyIndex: number;
}

interface Variable extends Meta {
  Items: Record<string, string> | null;
}

const every = 5_000;
const linkOf = (one: { Path: string; Namespace: string }): string => link("variables", "var", `${one.Path}@${one.Namespace}`);
const pathOf = (path: string): string => `/v1/var/${path.split("/").map(word).join("/")}`;

/** What is in one folder, or all below it that the filter wants. */
export function VariablesPage(): JSX.Element {
  const { query } = place.value;
  const folder = query.get("path") ?? "";
  const variables = useData<Meta[]>("/v1/vars", { namespace: namespace.value, prefix: folder === "" ? undefined : `${folder}/` }, { every });
  const text = query.get("filter") ?? "";
  const all = variables.value ?? [];
  const { folders, files } = text === "" ? inFolder(all, folder) : { folders: [], files: all.filter((one) => one.Path.toLowerCase().includes(text.toLowerCase())) };
  const words = folder.split("/").filter((word) => word !== "");
  const at = (path: string): string => `/ui/variables${path === "" ? "" : `?path=${word(path)}`}`;
  const rows: (Folder | Meta)[] = [...folders, ...files];
  return <><div class="title-line"><Heading title="Variables">Variables</Heading><span class="grow" /><a class="button main" href={`/ui/variables/new${folder === "" ? "" : `?path=${word(`${folder}/`)}`}`}>New variable</a></div>
    <SearchBox label="Filter variables" value={text} onChange={(value) => setParameter("filter", value)} />
    <nav class="crumb" aria-label="Folder"><a href={at("")}>all</a>{words.map((name, place) => <> / <a href={at(words.slice(0, place + 1).join("/"))}>{name}</a></>)}</nav>
    <Panel data={variables} needs="variables list">{() => <>
      <Table name="Variables" inAddress rows={rows} keyOf={(one) => ("count" in one ? one.path : `${one.Namespace} ${one.Path}`)} columns={[
        { name: "Path", by: (one) => ("count" in one ? one.path : one.Path), cell: (one) => ("count" in one ? <a href={at(one.path)}>{one.path.split("/").pop()}/</a> : <a href={linkOf(one)}>{one.Path}</a>) },
        { name: "Namespace", cell: (one) => ("count" in one ? <span class="faint">{several(one.count, "variable")}</span> : one.Namespace) },
        { name: "Changed", by: (one) => ("count" in one ? one.changed : one.ModifyTime), cell: (one) => <Ago at={milliseconds("count" in one ? one.changed : one.ModifyTime)} /> }]} />
      {rows.length === 0 ? <p class="faint">There are no variables{text ? " with this in their path" : ""}.</p> : null}</>}</Panel></>;
}

interface Item {
  key: string;
  value: string;
}

/** Writes only if nobody else did since `index`; the variable as it is now if somebody has. */
async function save(path: string, ns: string, items: Item[], index: number): Promise<Variable | null> {
  const body = { Path: path, Namespace: ns, Items: Object.fromEntries(items.filter((item) => item.key !== "").map((item) => [item.key, item.value])) };
  try {
    await request("PUT", pathOf(path), { namespace: ns, cas: index }, body);
    return null;
  } catch (wrong) {
    if (wrong instanceof ApiError && wrong.status === 409) return JSON.parse(wrong.message) as Variable;
    throw wrong;
  }
}

function Items({ items, change }: { items: Item[]; change: (items: Item[]) => void }): JSX.Element {
  const set = (at: number, part: Partial<Item>): void => change(items.map((item, place) => (place === at ? { ...item, ...part } : item)));
  const label = (name: string, at: number): string => (at === 0 ? name : `${name} ${at + 1}`);
  return <>{items.map((item, at) => <div class="item" key={at}>
    <label class="field">{label("Key", at)}<input type="text" value={item.key} spellcheck={false} autocomplete="off" onInput={(event) => set(at, { key: event.currentTarget.value })} /></label>
    <label class="field grow">{label("Value", at)}<textarea rows={1} value={item.value} spellcheck={false} onInput={(event) => set(at, { value: event.currentTarget.value })} /></label>
    <button type="button" disabled={items.length === 1} aria-label={`Remove ${item.key || "item"}`} onClick={() => change(items.filter((_, place) => place !== at))}>Remove</button>
  </div>)}<button type="button" onClick={() => change([...items, { key: "", value: "" }])}>Add another</button></>;
}

export function NewVariablePage(): JSX.Element {
  const [path, setPath] = useState(place.value.query.get("path") ?? "");
  const [wanted, setNs] = useState(namespace.value === "*" ? "default" : namespace.value);
  const [items, setItems] = useState<Item[]>([{ key: "", value: "" }]);
  const namespaces = useData<{ Name: string }[]>("/v1/namespaces").value ?? [];
  // Who may see one namespace alone means that one.
  const ns = namespaces.length === 0 || namespaces.some((one) => one.Name === wanted) ? wanted : namespaces[0]?.Name ?? wanted;
  const create = async (): Promise<void> => {
    if (path === "" || items.every((item) => item.key === "")) throw new Error("A variable needs a path and a key");
    const conflict = await save(path, ns, items, 0);
    if (conflict) throw new Error(`There is a variable at ${path} already: open it to change it`);
    go(linkOf({ Path: path, Namespace: ns }));
  };
  return <><Heading title="New variable" back={{ href: "/ui/variables", text: "Variables" }}>New variable</Heading>
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      <label class="field">Path<input type="text" value={path} spellcheck={false} autocomplete="off" onInput={(event) => setPath(event.currentTarget.value)} /></label>
      <p class="faint">Tasks of a job web may read what is at nomad/jobs/web and below.</p>
      {namespaces.length > 1 || ns !== "default" ? <label class="field">Namespace<select value={ns} onChange={(event) => setNs(event.currentTarget.value)}>{namespaces.map((one) => <option>{one.Name}</option>)}</select></label> : null}
      <Items items={items} change={setItems} />
      <div class="actions"><ActionButton kind="main" done="Saved" act={create}>Save</ActionButton></div>
    </form></>;
}

export function VariablePage(): JSX.Element {
  const { path: words, query } = place.value;
  const { name: path, ns } = splitName(words.slice(2).join("/"), query);
  const variable = useData<Variable>(pathOf(path), { namespace: ns });
  const [shows, setShows] = useState(false);
  const [edited, setEdited] = useState<Item[] | null>(null);
  const [conflict, setConflict] = useState<Variable | null>(null);
  const [deletes, setDeletes] = useState(false);
  const cannotWrite = useWhyNot("variables-write", ns, path);
  const cannotDelete = useWhyNot("variables-destroy", ns, path);
  if (variable.error?.status === 404) return <><Heading title="Not found">Not found</Heading><p>There is no variable {path} in namespace {ns}.</p><p><a href="/ui/variables">Back to Variables</a> · <a href={`/ui/variables/new?path=${word(path)}`}>Make it</a></p></>;
  const write = async (value: Variable, index: number): Promise<void> => {
    const other = await save(path, ns, edited ?? [], index);
    setConflict(other);
    if (other) throw new Error("Somebody else has changed it meanwhile: see below");
    setEdited(null);
    variable.reload();
    void value;
  };
  return <><Heading title={path} back={{ href: "/ui/variables", text: "Variables" }}>{path}</Heading>
    <Panel data={variable} needs={`variables read for ${path} in namespace ${ns}`}>{(value) => {
      const items = Object.entries(value.Items ?? {}).map(([key, text]) => ({ key, value: text }));
      return <>
        <div class="actions"><ObjectTools id={path} shown="" command={commandOf("var get", path, ns)} raw={undefined} /><span>namespace {ns}</span><Ago at={milliseconds(value.ModifyTime)} /><span class="grow" />
          <button type="button" aria-pressed={shows} onClick={() => setShows(!shows)}>{shows ? "Hide values" : "Show values"}</button>
          {edited ? null : <button type="button" disabled={cannotWrite !== undefined} title={cannotWrite} onClick={() => { setShows(true); setEdited(items); }}>Edit</button>}
          <button type="button" class="danger" disabled={cannotDelete !== undefined} title={cannotDelete} onClick={() => setDeletes(true)}>Delete</button></div>
        {edited ? <form class="form" onSubmit={(event) => event.preventDefault()}><Items items={edited} change={setEdited} />
          <div class="actions"><button type="button" onClick={() => { setEdited(null); setConflict(null); }}>Cancel</button><ActionButton kind="main" done="Saved" act={() => write(value, value.ModifyIndex)}>Save</ActionButton></div></form>
          : <Table name="Items" rows={items} keyOf={(item) => item.key} columns={[{ name: "Key", cell: (item) => item.key }, { name: "Value", cell: (item) => (shows ? <code class="value">{item.value}</code> : <span class="faint">hidden</span>) }]} />}
        {conflict && edited ? <section class="warning"><h2>As it is now</h2><Table name="Items now" rows={Object.entries(conflict.Items ?? {})} keyOf={([key]) => key} columns={[{ name: "Key", cell: ([key]) => key }, { name: "Value", cell: ([, text]) => <code class="value">{text}</code> }]} />
          <ActionButton kind="danger" done="Saved" act={() => write(value, conflict.ModifyIndex)}>Save mine over it</ActionButton></section> : null}
        <Confirm name="Delete variable" button="Delete variable" kind="danger" isOpen={deletes} close={() => setDeletes(false)} done={`${path} is deleted`}
          act={async () => { await request("DELETE", pathOf(path), { namespace: ns, cas: value.ModifyIndex }); go("/ui/variables"); }}><p>Tasks that read it lose it.</p></Confirm>
      </>;
    }}</Panel></>;
}
