// Who may do what: tokens, roles, policies, ways to sign in; and what else an administrator divides: namespaces and pools.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { CodeView } from "../parts/code.tsx";
import { ActionButton, Check, Confirm, Dialog, Heading, Panel, Table, Tabs, announce } from "../parts/parts.tsx";
import { place } from "../shell/router.ts";
import { send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { NotFoundPage } from "./not_found.tsx";

const tabs = ["Namespaces", "Node pools", "Tokens", "Policies", "Roles", "Auth methods"];
const slug = (name: string): string => name.toLowerCase().replaceAll(" ", "-");
const every = 10_000;

export function AccessPage(): JSX.Element {
  const given = place.value.path[1] ?? slug(tabs[0] ?? "");
  const current = tabs.find((name) => slug(name) === given);
  if (!current) return <NotFoundPage />;
  return <><Heading title="Access">Access</Heading>
    <Tabs label="Access" current={current} tabs={tabs.map((name) => ({ name, href: `/ui/access/${slug(name)}` }))} />
    {current === "Namespaces" ? <Named key="ns" name="Namespaces" one="namespace" list="/v1/namespaces" path="/v1/namespace" needs="namespace rights" />
      : current === "Node pools" ? <Named key="pool" name="Node pools" one="node pool" list="/v1/node/pools" path="/v1/node/pool" needs="node_pool read" />
        : current === "Tokens" ? <Tokens /> : current === "Policies" ? <Policies /> : current === "Roles" ? <Roles /> : <Methods />}</>;
}

interface NamedObject {
  Name: string;
  Description: string;
}

const built_in = new Set(["default", "all"]);

function Named({ name, one, list, path, needs }: { name: string; one: string; list: string; path: string; needs: string }): JSX.Element {
  const all = useData<NamedObject[]>(list, {}, { every });
  const [made, setMade] = useState<NamedObject | null>(null);
  const [removed, setRemoved] = useState("");
  return <><Panel title={name} data={all} needs={needs}>{(rows) => <Table name={name} rows={rows} keyOf={(row) => row.Name} columns={[
    { name: "Name", cell: (row) => row.Name }, { name: "Description", cell: (row) => row.Description },
    { name: "", cell: (row) => (built_in.has(row.Name) ? "" : <><button type="button" class="plain link" aria-label={`Change ${row.Name}`} onClick={() => setMade(row)}>change</button> <button type="button" class="plain link" aria-label={`Delete ${row.Name}`} onClick={() => setRemoved(row.Name)}>delete</button></>) }]} />}</Panel>
    <button type="button" class="main" onClick={() => setMade({ Name: "", Description: "" })}>New {one}</button>
    <Confirm name={made?.Name && all.value?.some((row) => row.Name === made.Name) ? `Change ${one}` : `New ${one}`} button="Save" isOpen={made !== null} close={() => setMade(null)} done="Saved"
      act={async () => { await send("PUT", `${path}/${word(made?.Name ?? "")}`, {}, { ...made }); all.reload(); }}>
      <label class="field">Name<input type="text" value={made?.Name} onInput={(event) => setMade({ ...(made ?? { Description: "" }), Name: event.currentTarget.value })} /></label>
      <label class="field">Description<input type="text" value={made?.Description} onInput={(event) => setMade({ ...(made ?? { Name: "" }), Description: event.currentTarget.value })} /></label></Confirm>
    <Confirm name={`Delete ${one}`} button={`Delete ${one}`} kind="danger" isOpen={removed !== ""} close={() => setRemoved("")} done={`${removed} is deleted`}
      act={async () => { await send("DELETE", `${path}/${word(removed)}`); all.reload(); }}><p>{removed} must not be used by anything.</p></Confirm></>;
}

interface Token {
  AccessorID: string;
  SecretID?: string;
  Name: string;
  Type: string;
  Policies: string[] | null;
  CreateTime: string;
  ExpirationTime: string | null;
}

function Tokens(): JSX.Element {
  const all = useData<Token[]>("/v1/acl/tokens", {}, { every });
  const policies = useData<{ Name: string }[]>("/v1/acl/policies");
  const [isMaking, setMaking] = useState(false);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const [manages, setManages] = useState(false);
  const [removed, setRemoved] = useState<Token | null>(null);
  const [secret, setSecret] = useState("");
  const create = async (): Promise<void> => {
    const made = await send<Token>("PUT", "/v1/acl/token", {}, { Name: name, Type: manages ? "management" : "client", Policies: manages ? [] : chosen });
    all.reload();
    setSecret(made.SecretID ?? "");
  };
  return <><Panel title="Tokens" data={all} needs="a management token">{(rows) => <Table name="Tokens" rows={rows} keyOf={(row) => row.AccessorID} columns={[
    { name: "Name", cell: (row) => row.Name }, { name: "Accessor", cell: (row) => <code>{row.AccessorID}</code> }, { name: "Type", cell: (row) => row.Type }, { name: "Policies", cell: (row) => row.Policies?.join(", ") },
    { name: "Expires", cell: (row) => (row.ExpirationTime ? new Date(row.ExpirationTime).toLocaleString() : "never") },
    { name: "", cell: (row) => <button type="button" class="plain link" aria-label={`Delete ${row.Name || row.AccessorID}`} onClick={() => setRemoved(row)}>delete</button> }]} />}</Panel>
    {all.value ? <button type="button" class="main" onClick={() => setMaking(true)}>New token</button> : null}
    <Confirm name="New token" button="Make token" isOpen={isMaking} close={() => setMaking(false)} act={create}>
      <label class="field">Name<input type="text" value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <Check label="Management: may do everything" checked={manages} onChange={setManages} />
      {manages ? null : <fieldset><legend>Policies</legend>{(policies.value ?? []).map((policy) => <Check label={policy.Name} checked={chosen.includes(policy.Name)} onChange={(on) => setChosen(on ? [...chosen, policy.Name] : chosen.filter((one) => one !== policy.Name))} />)}</fieldset>}</Confirm>
    <Dialog name="Secret of the token" isOpen={secret !== ""} close={() => setSecret("")}><h2>Secret of the token</h2><p>It is shown this once.</p><CodeView label="Secret" text={secret} /><div class="actions"><button type="button" onClick={() => setSecret("")}>Close</button></div></Dialog>
    <Confirm name="Delete token" button="Delete token" kind="danger" isOpen={removed !== null} close={() => setRemoved(null)} done="The token is deleted"
      act={async () => { await send("DELETE", `/v1/acl/token/${word(removed?.AccessorID ?? "")}`); all.reload(); }}><p>What {removed?.Name || removed?.AccessorID} allowed ends at once.</p></Confirm></>;
}

interface Policy {
  Name: string;
  Description: string;
  Rules?: string;
}

function Policies(): JSX.Element {
  const all = useData<Policy[]>("/v1/acl/policies", {}, { every });
  const [opened, setOpened] = useState("");
  const [made, setMade] = useState<Policy | null>(null);
  const [removed, setRemoved] = useState("");
  const policy = useData<Policy>(opened ? `/v1/acl/policy/${word(opened)}` : null);
  return <><Panel title="Policies" data={all} needs="a token of its own" empty="There are no policies.">{(rows) => <Table name="Policies" rows={rows} keyOf={(row) => row.Name} columns={[
    { name: "Name", cell: (row) => <button type="button" class="plain link" onClick={() => setOpened(row.Name)}>{row.Name}</button> }, { name: "Description", cell: (row) => row.Description },
    { name: "", cell: (row) => <button type="button" class="plain link" aria-label={`Delete ${row.Name}`} onClick={() => setRemoved(row.Name)}>delete</button> }]} />}</Panel>
    {all.value ? <button type="button" class="main" onClick={() => setMade({ Name: "", Description: "", Rules: 'namespace "default" {\n  policy = "read"\n}\n' })}>New policy</button> : null}
    {opened ? <Panel title={opened} data={policy} needs="a management token">{(value) => <><CodeView label="Rules" text={value.Rules ?? ""} /><ActionButton act={() => { setMade(value); return Promise.resolve(); }}>Change</ActionButton></>}</Panel> : null}
    <Confirm name="Policy" button="Save" isOpen={made !== null} close={() => setMade(null)} done="Saved" act={async () => { await send("PUT", `/v1/acl/policy/${word(made?.Name ?? "")}`, {}, made); all.reload(); policy.reload(); }}>
      <label class="field">Name<input type="text" value={made?.Name} onInput={(event) => setMade({ ...(made as Policy), Name: event.currentTarget.value })} /></label>
      <label class="field">Description<input type="text" value={made?.Description} onInput={(event) => setMade({ ...(made as Policy), Description: event.currentTarget.value })} /></label>
      <label class="field">Rules<textarea rows={12} spellcheck={false} value={made?.Rules} onInput={(event) => setMade({ ...(made as Policy), Rules: event.currentTarget.value })} /></label></Confirm>
    <Confirm name="Delete policy" button="Delete policy" kind="danger" isOpen={removed !== ""} close={() => setRemoved("")} done={`${removed} is deleted`}
      act={async () => { await send("DELETE", `/v1/acl/policy/${word(removed)}`); all.reload(); announce(`${removed} is deleted`); }}><p>Tokens that have it lose what it allows.</p></Confirm></>;
}

function Roles(): JSX.Element {
  const all = useData<{ ID: string; Name: string; Description: string; Policies: { Name: string }[] | null }[]>("/v1/acl/roles", {}, { every });
  return <Panel title="Roles" data={all} needs="a token of its own" empty="There are no roles.">{(rows) => <Table name="Roles" rows={rows} keyOf={(row) => row.ID} columns={[
    { name: "Name", cell: (row) => row.Name }, { name: "Description", cell: (row) => row.Description }, { name: "Policies", cell: (row) => row.Policies?.map((one) => one.Name).join(", ") }]} />}</Panel>;
}

function Methods(): JSX.Element {
  const all = useData<{ Name: string; Type: string; Default: boolean }[]>("/v1/acl/auth-methods", {}, { every });
  return <Panel title="Auth methods" data={all} empty="There are no auth methods: people sign in with tokens.">{(rows) => <Table name="Auth methods" rows={rows} keyOf={(row) => row.Name} columns={[
    { name: "Name", cell: (row) => row.Name }, { name: "Type", cell: (row) => row.Type }, { name: "Default", cell: (row) => (row.Default ? "yes" : "") }]} />}</Panel>;
}
