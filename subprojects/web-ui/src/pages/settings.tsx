// Signing in and out, and what the user has chosen.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ActionButton, Check, Facts, Heading, Panel, announce } from "../parts/parts.tsx";
import { request, said, send, token } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useToken } from "../store/live.ts";
import { key_help } from "../shell/keys.ts";
import { go, place } from "../shell/router.ts";
import { nextTheme, theme } from "../shell/theme.ts";

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
      <p class="faint">The secret of a token. It is kept by this session of the browser, goes into a header of requests to this agent, and nowhere else.</p>
      <Check label="Stay signed in" checked={stays} onChange={setStays} />
      {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
      <div class="actions"><button type="submit" class="main" disabled={secret.trim() === ""}>Sign in</button></div>
    </form><Providers /></>;
}

interface Method {
  Name: string;
  Type: string;
}

/** A button for each provider that people may sign in at. */
function Providers(): JSX.Element | null {
  const methods = (useData<Method[]>("/v1/acl/auth-methods").value ?? []).filter((method) => method.Type === "OIDC");
  useEffect(() => { void completeSignIn().catch((wrong: unknown) => announce(said(wrong), true)); }, []);
  if (methods.length === 0) return null;
  return <section class="panel"><h2>Or by a provider</h2><div class="actions">{methods.map((method) => <ActionButton act={() => beginSignIn(method.Name)}>Sign in with {method.Name}</ActionButton>)}</div></section>;
}

function Current(): JSX.Element {
  const self = useData<Token>("/v1/acl/token/self");
  return <Panel title="Signed in" data={self}>{(value) => <>
    <Facts label="The token" rows={[["Name", value.Name], ["Accessor", <code>{value.AccessorID}</code>], ["Type", value.Type], ["Policies", value.Policies?.join(", ")],
      ["Roles", value.Roles?.map((role) => role.Name).join(", ")], ["Expires", value.ExpirationTime ? new Date(value.ExpirationTime).toLocaleString() : undefined]]} />
    <ActionButton act={() => { useToken(""); return Promise.resolve(); }} done="Signed out">Sign out</ActionButton></>}</Panel>;
}

export function SettingsPage(): JSX.Element {
  const self = useData<{ config: { Version?: { Version?: string; VersionMetadata?: string }; Region?: string; Datacenter?: string; NodeName?: string } }>("/v1/agent/self");
  return <><Heading title="Settings">Settings</Heading>
    <section class="panel"><h2>Look</h2><p>The theme is {theme.value}. <button type="button" onClick={nextTheme}>Change theme</button></p></section>
    <section class="panel"><h2>Access</h2><p>{token.value === "" ? "Not signed in." : "Signed in."} <a href="/ui/settings/tokens">Sign in or out</a></p></section>
    <Panel title="Agent" data={self} needs="agent read">{({ config }) => <><Facts label="The agent" rows={[["Name", config.NodeName], ["Region", config.Region], ["Datacenter", config.Datacenter], ["API", config.Version?.Version], ["Build", config.Version?.VersionMetadata]]} />
      <ActionButton done="Garbage is collected" act={() => request("PUT", "/v1/system/gc")}>Collect garbage</ActionButton></>}</Panel>
    <section class="panel"><h2>Keys</h2><dl class="facts">{key_help.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl></section>
    <p><a href="/ui/LICENSES.txt" data-reload="">Licences of what this page is made of</a></p></>;
}

