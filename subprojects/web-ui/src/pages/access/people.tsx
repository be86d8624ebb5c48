// Who may do what: tokens, policies, roles, and the ways to sign in with what they bind.
import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { CodeView } from "../../parts/code.tsx";
import type { Editor } from "../../parts/editor.ts";
import { Check, Choice, Dialog, TextField } from "../../parts/parts.tsx";
import { lineOf } from "../../pure/parse_error.ts";
import { exactly } from "../../shell/preferences.ts";
import { get, said, send, word } from "../../store/api.ts";
import { useData } from "../../store/data.ts";
import { Managed, Names, objectOf, type Kind } from "./managed.tsx";

const manages = "a management token";

interface RoleLink {
  ID: string;
  Name: string;
}

interface Token {
  AccessorID: string;
  SecretID?: string;
  Name: string;
  Type: string;
  Global: boolean;
  Policies: string[] | null;
  Roles: RoleLink[] | null;
  ExpirationTime: string | null;
  ExpirationTTL?: string;
}

function TokenForm({ row, change, isNew }: { row: Token; change: (part: Partial<Token>) => void; isNew: boolean }): JSX.Element {
  const policies = (useData<{ Name: string }[]>("/v1/acl/policies").value ?? []).map((one) => one.Name);
  const roles = useData<RoleLink[]>("/v1/acl/roles").value ?? [];
  const isManagement = row.Type === "management";
  return <>
    <TextField label="Name" value={row.Name} onChange={(Name) => change({ Name })} />
    {isNew ? <><Check label="Management: may do everything" checked={isManagement} onChange={(on) => change(on ? { Type: "management", Policies: [], Roles: [] } : { Type: "client" })} />
      <Check label="Global: holds in all regions" checked={row.Global} onChange={(Global) => change({ Global })} />
      <TextField label="Ends after" hint="For example 8h; empty is never" value={row.ExpirationTTL ?? ""} onChange={(ExpirationTTL) => change({ ExpirationTTL })} /></> : null}
    {isManagement ? null : <>
      <Names legend="Policies" all={policies} chosen={row.Policies ?? []} change={(Policies) => change({ Policies })} empty="There are no policies." />
      <Names legend="Roles" all={roles.map((role) => role.Name)} chosen={(row.Roles ?? []).map((role) => role.Name)} empty="There are no roles."
        change={(names) => change({ Roles: names.map((name) => ({ Name: name, ID: roles.find((role) => role.Name === name)?.ID ?? "" })) })} /></>}</>;
}

export function Tokens(): JSX.Element {
  const [secret, setSecret] = useState("");
  const save = async (row: Token, isNew: boolean): Promise<void> => {
    const { ExpirationTTL: ttl, ...rest } = row;
    const body = { ...rest, Roles: (row.Roles ?? []).map((role) => (role.ID ? { ID: role.ID } : { Name: role.Name })), ...(isNew && ttl?.trim() ? { ExpirationTTL: ttl.trim() } : {}) };
    const made = await send<Token>("PUT", isNew ? "/v1/acl/token" : `/v1/acl/token/${word(row.AccessorID)}`, {}, body);
    if (isNew) setSecret(made.SecretID ?? "");
  };
  return <><Managed<Token> kind={{
    name: "Tokens", one: "token", list: "/v1/acl/tokens", needs: manages, changes: "management", empty: "There are no tokens.",
    keyOf: (row) => row.AccessorID, titleOf: (row) => row.Name || row.AccessorID,
    columns: [{ name: "Name", cell: (row) => row.Name }, { name: "Accessor", cell: (row) => <code>{row.AccessorID}</code> }, { name: "Type", cell: (row) => row.Type + (row.Global ? ", global" : "") },
      { name: "Policies", cell: (row) => row.Policies?.join(", ") }, { name: "Roles", cell: (row) => row.Roles?.map((role) => role.Name).join(", ") },
      { name: "Expires", cell: (row) => (row.ExpirationTime ? exactly(Date.parse(row.ExpirationTime)) : "never") }],
    blank: () => ({ AccessorID: "", Name: "", Type: "client", Global: false, Policies: [], Roles: [], ExpirationTime: null }),
    form: (row, change, isNew) => <TokenForm row={row} change={change} isNew={isNew} />,
    save, remove: (row) => send("DELETE", `/v1/acl/token/${word(row.AccessorID)}`), loses: "what it allowed ends at once.",
  }} />
    <Dialog name="Secret of the token" isOpen={secret !== ""} close={() => setSecret("")}><h2>Secret of the token</h2><p>It is shown this once.</p><CodeView label="Secret" text={secret} />
      <div class="actions"><button type="button" onClick={() => setSecret("")}>Close</button></div></Dialog></>;
}

interface Policy {
  Name: string;
  Description: string;
  Rules?: string;
}

/** What the agent has found wrong with the rules, which names a line. */
const mistake = signal<string | null>(null);

/** The rules in an editor, with the mistake at its line. */
function RulesField({ text, change }: { text: string; change: (text: string) => void }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const changed = useRef(change);
  changed.current = change;
  useEffect(() => {
    let isShown = true;
    mistake.value = null;
    void import("../../parts/editor.ts").then(({ makeEditor }) => {
      if (isShown && host.current) editor.current = makeEditor(host.current, "Rules", text, (now) => changed.current(now), () => undefined);
    });
    return () => { isShown = false; editor.current?.end(); };
  }, []);
  const wrong = mistake.value;
  useEffect(() => { editor.current?.setError(wrong === null ? null : lineOf(wrong), wrong ?? ""); }, [wrong]);
  return <div class="editor" ref={host} />;
}

const policies: Kind<Policy> = {
  name: "Policies", one: "policy", list: "/v1/acl/policies", needs: "a token of its own", changes: "management", empty: "There are no policies.",
  keyOf: (row) => row.Name, columns: [{ name: "Name", cell: (row) => row.Name }, { name: "Description", cell: (row) => row.Description }, { name: "Rules", cell: (row) => <Rules name={row.Name} /> }],
  blank: () => ({ Name: "", Description: "", Rules: 'namespace "default" {\n  policy = "read"\n}\n' }), read: async (row) => (await get<Policy>(`/v1/acl/policy/${word(row.Name)}`)).value,
  form: (row, change, isNew) => <><TextField label="Name" value={row.Name} isFixed={!isNew} onChange={(Name) => change({ Name })} /><TextField label="Description" value={row.Description} onChange={(Description) => change({ Description })} />
    <RulesField text={row.Rules ?? ""} change={(Rules) => change({ Rules })} /></>,
  save: async (row) => {
    mistake.value = null;
    await send("PUT", `/v1/acl/policy/${word(row.Name)}`, {}, row).catch((wrong: unknown) => { mistake.value = said(wrong); throw wrong; });
  },
  remove: (row) => send("DELETE", `/v1/acl/policy/${word(row.Name)}`), loses: "tokens and roles that have it lose what it allows.",
};

function Rules({ name }: { name: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const policy = useData<Policy>(isOpen ? `/v1/acl/policy/${word(name)}` : null);
  return <details onToggle={(event) => setOpen(event.currentTarget.open)}><summary aria-label={`show rules of ${name}`}>show rules</summary>
    {!isOpen ? null : policy.value ? <CodeView label={`Rules of ${name}`} text={policy.value.Rules ?? ""} /> : <p class="faint">{policy.error?.message ?? "Loading…"}</p>}</details>;
}

export const Policies = (): JSX.Element => <Managed kind={policies} />;

interface Role {
  ID: string;
  Name: string;
  Description: string;
  Policies: { Name: string }[] | null;
}

function RoleForm({ row, change }: { row: Role; change: (part: Partial<Role>) => void }): JSX.Element {
  const all = (useData<{ Name: string }[]>("/v1/acl/policies").value ?? []).map((one) => one.Name);
  return <><TextField label="Name" value={row.Name} onChange={(Name) => change({ Name })} /><TextField label="Description" value={row.Description} onChange={(Description) => change({ Description })} />
    <Names legend="Policies" all={all} chosen={(row.Policies ?? []).map((one) => one.Name)} change={(names) => change({ Policies: names.map((Name) => ({ Name })) })} empty="There are no policies: make one first." /></>;
}

const roles: Kind<Role> = {
  name: "Roles", one: "role", list: "/v1/acl/roles", needs: "a token of its own", changes: "management", empty: "There are no roles.",
  keyOf: (row) => row.ID, titleOf: (row) => row.Name, columns: [{ name: "Name", cell: (row) => row.Name }, { name: "Description", cell: (row) => row.Description }, { name: "Policies", cell: (row) => row.Policies?.map((one) => one.Name).join(", ") }],
  blank: () => ({ ID: "", Name: "", Description: "", Policies: [] }), form: (row, change) => <RoleForm row={row} change={change} />,
  save: ({ ID, Name, Description, Policies: names }, isNew) => send("PUT", isNew ? "/v1/acl/role" : `/v1/acl/role/${word(ID)}`, {}, { ...(isNew ? {} : { ID }), Name, Description, Policies: names }),
  remove: (row) => send("DELETE", `/v1/acl/role/${word(row.ID)}`), loses: "tokens that have it lose its policies.",
};

export const Roles = (): JSX.Element => <Managed kind={roles} />;

interface Method {
  Name: string;
  Type: string;
  TokenLocality?: string;
  MaxTokenTTL?: string;
  Default: boolean;
  Config?: Record<string, unknown> | null;
  text?: string;  // of Config, as it is typed
}

const config_of: Record<string, string> = {
  JWT: JSON.stringify({ JWKSURL: "https://provider.example/keys", BoundIssuer: ["https://provider.example"], BoundAudiences: ["nomad"], ClaimMappings: { sub: "user" } }, null, 2),
  OIDC: JSON.stringify({ OIDCDiscoveryURL: "https://provider.example", OIDCClientID: "nomad", OIDCClientSecret: "", BoundAudiences: ["nomad"], AllowedRedirectURIs: [`${location.origin}/ui/settings/tokens`], ListClaimMappings: { groups: "groups" } }, null, 2),
};

/** Only what says something: a method has many members, of which most are empty. */
function textOf(config: Record<string, unknown> | null | undefined): string {
  const says = Object.entries(config ?? {}).filter(([, value]) => value !== null && value !== "" && value !== "0s" && value !== 0 && !(Array.isArray(value) && value.length === 0) && !(typeof value === "object" && Object.keys(value as object).length === 0));
  return JSON.stringify(Object.fromEntries(says), null, 2);
}

const methods: Kind<Method> = {
  name: "Auth methods", one: "auth method", list: "/v1/acl/auth-methods", needs: "nothing", changes: "management", empty: "There are no auth methods: people sign in with tokens.",
  keyOf: (row) => row.Name, columns: [{ name: "Name", cell: (row) => row.Name }, { name: "Type", cell: (row) => row.Type }, { name: "Default", cell: (row) => (row.Default ? "yes" : "") }],
  blank: () => ({ Name: "", Type: "JWT", TokenLocality: "local", MaxTokenTTL: "8h", Default: false, text: config_of["JWT"] ?? "" }),
  read: async (row) => { const { value } = await get<Method>(`/v1/acl/auth-method/${word(row.Name)}`); return { ...value, text: textOf(value.Config) }; },
  form: (row, change, isNew) => <><TextField label="Name" value={row.Name} isFixed={!isNew} onChange={(Name) => change({ Name })} />
    {isNew ? <Choice label="Type" value={row.Type} options={["JWT", "OIDC"]} onChange={(Type) => change({ Type, text: config_of[Type] ?? "" })} /> : null}
    <Choice label="Tokens hold in" value={row.TokenLocality ?? "local"} options={[["local", "this region"], ["global", "all regions"]]} onChange={(TokenLocality) => change({ TokenLocality })} />
    <TextField label="Tokens end after" hint="For example 8h" value={row.MaxTokenTTL ?? ""} onChange={(MaxTokenTTL) => change({ MaxTokenTTL })} />
    <Check label="The default: people sign in by it unless they name another" checked={row.Default} onChange={(Default) => change({ Default })} />
    <TextField label="Configuration" rows={12} hint="JSON, as for acl auth-method create -config. A secret that is redacted stays as it is." value={row.text ?? ""} onChange={(text) => change({ text })} /></>,
  save: ({ text, Name, Type, TokenLocality, MaxTokenTTL, Default }, isNew) => send("PUT", isNew ? "/v1/acl/auth-method" : `/v1/acl/auth-method/${word(Name)}`, {}, { Name, Type, TokenLocality, MaxTokenTTL, Default, Config: objectOf(text ?? "", "The configuration") }),
  remove: (row) => send("DELETE", `/v1/acl/auth-method/${word(row.Name)}`), loses: "nobody can sign in by it any more; tokens that it made stay until they end.",
};

export const Methods = (): JSX.Element => <Managed kind={methods} />;

interface Rule {
  ID: string;
  Description: string;
  AuthMethod: string;
  Selector: string;
  BindType: string;
  BindName: string;
  ModifyIndex?: number;
}

/** What a rule gives and to whom, which its list does not say. */
function Gives({ id }: { id: string }): JSX.Element | null {
  const { value } = useData<Rule>(`/v1/acl/binding-rule/${word(id)}`);
  return value ? <>{value.BindType} {value.BindName}{value.Selector ? <> if <code>{value.Selector}</code></> : " for all"}</> : null;
}

function RuleForm({ row, change, isNew }: { row: Rule; change: (part: Partial<Rule>) => void; isNew: boolean }): JSX.Element {
  const known = (useData<{ Name: string }[]>("/v1/acl/auth-methods").value ?? []).map((one) => one.Name);
  const bound = (useData<{ Name: string }[]>(row.BindType === "role" ? "/v1/acl/roles" : row.BindType === "policy" ? "/v1/acl/policies" : null).value ?? []).map((one) => one.Name);
  return <>
    <TextField label="Auth method" value={row.AuthMethod} list={known} isFixed={!isNew} onChange={(AuthMethod) => change({ AuthMethod })} />
    <TextField label="Selector" hint={'Which claims it is for, such as "platform" in list.groups; empty is for all'} value={row.Selector} onChange={(Selector) => change({ Selector })} />
    <Choice label="Gives" value={row.BindType} options={["role", "policy", "management"]} onChange={(BindType) => change({ BindType, ...(BindType === "management" ? { BindName: "" } : {}) })} />
    {row.BindType === "management" ? null : <TextField label={`Name of the ${row.BindType}`} hint={"${value.team} stands for what the claim says"} value={row.BindName} list={bound} onChange={(BindName) => change({ BindName })} />}
    <TextField label="Description" value={row.Description} onChange={(Description) => change({ Description })} /></>;
}

const rules: Kind<Rule> = {
  name: "Binding rules", one: "binding rule", list: "/v1/acl/binding-rules", needs: manages, changes: "management", empty: "There are no binding rules: whoever signs in by a method gets nothing.",
  keyOf: (row) => row.ID, titleOf: (row) => row.Description || row.ID.slice(0, 8),
  columns: [{ name: "ID", cell: (row) => <code>{row.ID.slice(0, 8)}</code> }, { name: "Auth method", cell: (row) => row.AuthMethod }, { name: "Gives", cell: (row) => <Gives key={row.ModifyIndex} id={row.ID} /> }, { name: "Description", cell: (row) => row.Description }],
  blank: () => ({ ID: "", Description: "", AuthMethod: "", Selector: "", BindType: "role", BindName: "" }),
  read: async (row) => (await get<Rule>(`/v1/acl/binding-rule/${word(row.ID)}`)).value,
  form: (row, change, isNew) => <RuleForm row={row} change={change} isNew={isNew} />,
  save: ({ ID, Description, AuthMethod, Selector, BindType, BindName }, isNew) => send("PUT", isNew ? "/v1/acl/binding-rule" : `/v1/acl/binding-rule/${word(ID)}`, {}, { ...(isNew ? {} : { ID }), Description, AuthMethod, Selector, BindType, BindName }),
  remove: (row) => send("DELETE", `/v1/acl/binding-rule/${word(row.ID)}`), loses: "whoever signs in from now on does not get by it what it gives.",
};

export const BindingRules = (): JSX.Element => <Managed kind={rules} />;
