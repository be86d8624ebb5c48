// Signing in and out, and what the user has chosen.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ActionButton, Check, Choice, Facts, Heading, Panel, Status, Table, TextField, announce, now } from "../parts/parts.tsx";
import { clockAhead, get, request, said, send, token } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { duration } from "../pure/units.ts";
import { isKept, polls, useToken } from "../store/live.ts";
import { useEnforced, useWhyNot } from "../store/may.ts";
import { key_help } from "../shell/keys.ts";
import { chooseDensity, chooseZone, density, exactly, zone, type Density, type Zone } from "../shell/preferences.ts";
import { followed, unfollow, whyNoNotifications, type Followed } from "../shell/notify.ts";
import { go, jobLink, place } from "../shell/router.ts";
import { chooseTheme, theme, type Theme } from "../shell/theme.ts";

interface Token {
  AccessorID: string;
  Name: string;
  Type: string;
  Policies: string[] | null;
  Roles: { ID: string; Name: string }[] | null;
  ExpirationTime: string | null;
}

/** Who a token is; refuses one that the agent does not know. */
async function check(secret: string): Promise<Token> {
  const answer = await fetch("/v1/acl/token/self", { headers: { "X-Nomad-Token": secret }, credentials: "omit", cache: "no-store" });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.includes("ACL support disabled") ? "This agent has no access control: no token is needed" : "The agent does not know this token");
  return JSON.parse(text) as Token;
}

const kept = "sign-in under way";

interface UnderWay {
  method: string;
  nonce: string;
}

const redirect = (): string => `${location.origin}/ui/settings/tokens`;

/** Goes to the provider, which sends the browser back to this page. */
async function beginSignIn(method: string): Promise<void> {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const { AuthURL } = await send<{ AuthURL: string }>("POST", "/v1/acl/oidc/auth-url", {}, { AuthMethodName: method, RedirectURI: redirect(), ClientNonce: nonce });
  const to = new URL(AuthURL);
  if (to.protocol !== "https:" && to.protocol !== "http:") throw new Error("The provider's address is none");
  sessionStorage.setItem(kept, JSON.stringify({ method, nonce } satisfies UnderWay));
  location.assign(to);
}

/** Back from the provider: what it gave leaves the address, and becomes a token. */
async function completeSignIn(): Promise<void> {
  const { query } = place.value;
  const code = query.get("code");
  const state = query.get("state");
  if (!code || !state) return;
  go("/ui/settings/tokens", true);
  const begun = sessionStorage.getItem(kept);
  sessionStorage.removeItem(kept);
  if (begun === null) throw new Error("This browser has begun no sign-in: try again");
  const { method, nonce } = JSON.parse(begun) as UnderWay;
  const made = await send<Token & { SecretID: string }>("POST", "/v1/acl/oidc/complete-auth", {}, { AuthMethodName: method, ClientNonce: nonce, State: state, Code: code, RedirectURI: redirect() });
  useToken(made.SecretID);
  announce(`Signed in as ${made.Name || made.AccessorID}`);
}

export function SignInPage(): JSX.Element {
  const [secret, setSecret] = useState("");
  const [stays, setStays] = useState(false);
  const [wrong, setWrong] = useState("");
  const signIn = async (): Promise<void> => {
    setWrong("");
    try {
      const known = await check(secret.trim());
      useToken(secret.trim(), stays);
      setSecret("");
      announce(`Signed in as ${known.Name || known.AccessorID}`);
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return <><Heading title="Sign in">Sign in</Heading>
    {token.value === "" ? null : <Current />}
    <form class="form panel" onSubmit={(event) => { event.preventDefault(); void signIn(); }}>
      <label class="field">Token<input type="text" class="secret" value={secret} autocomplete="off" spellcheck={false} onInput={(event) => setSecret(event.currentTarget.value)} /></label>
      <p class="faint">The secret of a token. It is kept {stays ? "by this browser until you sign out" : "by this session of the browser"}, goes into a header of requests to this agent, and nowhere else.</p>
      <Check label="Stay signed in" checked={stays} onChange={setStays} />
      {stays ? <p class="faint">Whoever uses this browser later has the token, too: not on a machine that others use.</p> : null}
      {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
      <div class="actions"><button type="submit" class="main" disabled={secret.trim() === ""}>Sign in</button></div>
    </form><Providers /></>;
}

interface Method {
  Name: string;
  Type: string;
}

/** A button for each provider that people may sign in at, and a box for what another one has given them already. */
function Providers(): JSX.Element | null {
  const isEnforced = useEnforced();
  const methods = useData<Method[]>(isEnforced ? "/v1/acl/auth-methods" : null).value ?? [];
  useEffect(() => { void completeSignIn().catch((wrong: unknown) => announce(said(wrong), true)); }, []);
  const providers = methods.filter((method) => method.Type === "OIDC");
  const trusted = methods.filter((method) => method.Type === "JWT").map((method) => method.Name);
  return <>
    {providers.length > 0 ? <section class="panel"><h2>Or by a provider</h2><div class="actions">{providers.map((method) => <ActionButton act={() => beginSignIn(method.Name)}>Sign in with {method.Name}</ActionButton>)}</div></section> : null}
    {trusted.length > 0 ? <JwtForm methods={trusted} /> : null}</>;
}

/** Signing in by a JWT that somebody else has made, such as a CI system. */
function JwtForm({ methods }: { methods: string[] }): JSX.Element {
  const [chosen, setChosen] = useState(methods[0] ?? "");
  const [jwt, setJwt] = useState("");
  const [wrong, setWrong] = useState("");
  const method = methods.includes(chosen) ? chosen : methods[0] ?? "";
  const logIn = async (): Promise<void> => {
    setWrong("");
    const made = await send<Token & { SecretID: string }>("POST", "/v1/acl/login", {}, { AuthMethodName: method, LoginToken: jwt.trim() });
    setJwt("");
    useToken(made.SecretID);
    announce(`Signed in as ${made.Name || made.AccessorID}`);
  };
  return <form class="form panel" onSubmit={(event) => event.preventDefault()}><h2>Or by a JWT</h2>
    {methods.length > 1 ? <Choice label="Method" value={method} options={methods} onChange={setChosen} /> : null}
    <label class="field">JWT<input type="text" class="secret" value={jwt} autocomplete="off" spellcheck={false} onInput={(event) => setJwt(event.currentTarget.value)} /></label>
    <p class="faint">What {method} has made for you. The agent takes it for a token of its own, which ends by itself.</p>
    {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
    <div class="actions"><ActionButton disabled={jwt.trim() === ""} failed={setWrong} act={logIn}>Sign in with {method}</ActionButton></div></form>;
}

function Current(): JSX.Element {
  const [stays, setStays] = useState(isKept());
  const self = useData<Token>("/v1/acl/token/self");
  return <Panel title="Signed in" data={self}>{(value) => <>
    <Facts label="The token" rows={[["Name", value.Name], ["Accessor", <code>{value.AccessorID}</code>], ["Type", value.Type], ["Policies", value.Policies?.join(", ")],
      ["Roles", value.Roles?.map((role) => role.Name).join(", ")], ["Expires", value.ExpirationTime ? exactly(Date.parse(value.ExpirationTime)) : undefined]]} />
    <Check label="Stay signed in on this browser" checked={stays} onChange={(on) => { useToken(token.value, on); setStays(on); announce(on ? "You stay signed in" : "You are signed in for this session of the browser"); }} />
    <ActionButton act={() => { useToken(""); return Promise.resolve(); }} done="Signed out">Sign out</ActionButton></>}</Panel>;
}

interface Explained {
  Allowed: boolean;
  Reason: string;
  Rules: { Line: number; Note: string; Policy: string; Rule: string }[] | null;
}

/** What the token may do, and which rule says so. */
function MayI(): JSX.Element {
  const [capability, setCapability] = useState("submit-job");
  const [ns, setNs] = useState("default");
  const [answer, setAnswer] = useState<Explained | null>(null);
  const [wrong, setWrong] = useState("");
  const ask = async (): Promise<void> => {
    setWrong("");
    setAnswer(null);
    setAnswer((await get<Explained>("/v1/acl/explain", { capability: capability.trim(), namespace: ns.trim() })).value);
  };
  return <form class="form" onSubmit={(event) => event.preventDefault()}><h3>May I…</h3>
    <TextField label="Capability" value={capability} list={asked_often} onChange={setCapability} />
    <TextField label="In namespace" hint="For what is in one; empty for clients, agents and operators" value={ns} onChange={setNs} />
    <div class="actions"><ActionButton act={ask} failed={setWrong}>Ask</ActionButton></div>
    {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
    {answer ? <p role="status" aria-label="Answer"><Status value={answer.Allowed ? "allowed" : "refused"} /> {answer.Reason} {(answer.Rules ?? []).map((rule) => `${rule.Policy}, line ${rule.Line}: ${rule.Rule}`).join("; ")}</p> : null}</form>;
}

const asked_often = ["list-jobs", "read-job", "submit-job", "dispatch-job", "scale-job", "read-logs", "read-fs", "alloc-lifecycle", "alloc-exec", "variables-list", "node-read", "node-write",
  "quota-read", "agent-read", "agent-write", "operator-read", "operator-write", "management"];

/** Of which jobs this browser says when something fails. */
function Notifications(): JSX.Element {
  const why = whyNoNotifications();
  return <section class="panel"><h2>Notifications</h2>
    {why ? <p class="warning">{why}.</p> : polls.value ? <p class="warning">The token may read no events, and without them nothing is known of failures.</p> : null}
    {followed.value.length === 0 ? <p class="faint">Of no job. “Notify me” on a job's page has this browser say so when a deployment or an allocation of it fails, while a page of this agent is open.</p>
      : <Table name="Jobs with notifications" rows={followed.value} keyOf={(one) => `${one.region} ${one.ns} ${one.id}`} columns={[
        { name: "Job", cell: (one) => <a href={jobLink(one.id, one.ns)}>{one.id}</a> }, { name: "Namespace", cell: (one) => one.ns }, ...(followed.value.some((one) => one.region !== "") ? [{ name: "Region", cell: (one: Followed) => one.region }] : []),
        { name: "", cell: (one) => <button type="button" class="plain link" aria-label={`No notifications of ${one.id}`} onClick={() => unfollow(one)}>none of it</button> }]} />}</section>;
}

export function SettingsPage(): JSX.Element {
  const isEnforced = useEnforced();
  const cannotCollect = useWhyNot("management");
  const self = useData<{ config: { Version?: { Version?: string; VersionMetadata?: string }; Region?: string; Datacenter?: string; NodeName?: string } }>("/v1/agent/self");
  return <><Heading title="Settings">Settings</Heading>
    <section class="panel"><h2>Look</h2><div class="actions">
      <Choice label="Theme" value={theme.value} options={[["system", "as the system"], "light", "dark"]} onChange={(to) => chooseTheme(to as Theme)} />
      <Choice label="Density of lists" value={density.value} options={["comfortable", "compact"]} onChange={(to) => chooseDensity(to as Density)} />
      <Choice label="Time zone" value={zone.value} options={[["browser", `the browser's: ${Intl.DateTimeFormat().resolvedOptions().timeZone}`], "UTC"]} onChange={(to) => chooseZone(to as Zone)} /></div>
      <p class="faint">This browser keeps it. Times such as {exactly(now.value)} are in this zone.</p>
      {clockAhead.value === 0 ? null : <p class="warning">This browser's clock is {duration(60 * Math.round(Math.abs(clockAhead.value) / 60_000))} {clockAhead.value > 0 ? "behind" : "ahead of"} the agent's: ages count by the agent's.</p>}</section>
    <section class="panel"><h2>Access</h2>{isEnforced === false ? <p>This agent has no access control: everybody may do everything.</p> : <><p>{token.value === "" ? "Not signed in." : "Signed in."} <a href="/ui/settings/tokens">Sign in or out</a></p><MayI /></>}</section>
    <Notifications />
    <Panel title="Agent" data={self} needs="agent read">{({ config }) => <><Facts label="The agent" rows={[["Name", config.NodeName], ["Region", config.Region], ["Datacenter", config.Datacenter], ["API", config.Version?.Version], ["Build", config.Version?.VersionMetadata]]} />
      <ActionButton disabled={cannotCollect !== undefined} why={cannotCollect} done="Garbage is collected" act={() => request("PUT", "/v1/system/gc")}>Collect garbage</ActionButton></>}</Panel>
    <section class="panel"><h2>Keys</h2><dl class="facts">{key_help.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl></section>
    <p><a href="/ui/LICENSES.txt" data-reload="">Licences of what this page is made of</a></p></>;
}

