// The frame of all pages: the head with search and connection, the navigation, and the page.
import { Component, type ComponentChildren, type ComponentType, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { keyOfPage } from "../pure/page_key.ts";
import { namespace, region, said, token } from "../store/api.ts";
import { useData, useKept } from "../store/data.ts";
import { connection, polls } from "../store/live.ts";
import { Dialog, notice } from "../parts/parts.tsx";
import { isHelpOpen, isSearchOpen, key_help } from "./keys.ts";
import { pageOf } from "./pages.ts";
import { chooseNamespace, goToRegion, place } from "./router.ts";
import { Search } from "./search.tsx";
import { nextTheme, theme } from "./theme.ts";

const links = ["Jobs", "Allocations", "Clients", "Servers", "Topology", "Evaluations", "Services", "Variables"];

interface Self {
  config?: { Region?: string; UI?: { Label?: { Text?: string; BackgroundColor?: string; TextColor?: string } } };
}

function Label(): JSX.Element | null {
  const label = useKept<Self>("/v1/agent/self").value?.config?.UI?.Label;
  if (!label?.Text) return null;
  return <span class="label" ref={(element) => {
    if (!element) return;
    element.style.backgroundColor = label.BackgroundColor ?? "";
    element.style.color = label.TextColor ?? "";
  }}>{label.Text}</span>;
}

function Choosers(): JSX.Element {
  const namespaces = useData<{ Name: string }[]>("/v1/namespaces").value ?? [];
  const regions = useData<string[]>("/v1/regions").value ?? [];
  const own = useKept<Self>("/v1/agent/self").value?.config?.Region;
  return <>
    {regions.length > 1 || region.value !== "" ? <select aria-label="Region" value={region.value === own ? "" : region.value} onChange={(event) => goToRegion(event.currentTarget.value)}>
      <option value="">{own ?? "this region"}</option>{[...new Set([...regions, region.value])].filter((one) => one !== own && one !== "").map((one) => <option key={one} value={one}>{one}</option>)}
    </select> : null}
    {namespaces.length > 1 || namespace.value !== "*" ? <select aria-label="Namespace" value={namespace.value} onChange={(event) => chooseNamespace(event.currentTarget.value)}>
      <option value="*">all namespaces</option>{[...new Set([...namespaces.map((one) => one.Name), namespace.value])].filter((one) => one !== "*").map((one) => <option key={one} value={one}>{one}</option>)}
    </select> : null}
  </>;
}

function Head(): JSX.Element {
  const state = connection.value;
  return <header>
    <a class="brand" href="/ui/jobs">Nomad</a><Label />
    <span class="grow" />
    <Choosers />
    <button type="button" onClick={() => { isSearchOpen.value = true; }}>Search <kbd aria-hidden="true">/</kbd></button>
    <button type="button" aria-label="Theme" title={`Theme: ${theme.value}`} onClick={nextTheme}>{theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}<span class="hidden"> {theme.value}</span></button>
    <span role="status" aria-label="Connection" aria-live="polite" class={`connection ${state}`} title={polls.value ? "The token may read no events: pages are read again every 5 s" : undefined}>
      {state === "live" ? "live" : state}</span>
    <a href="/ui/settings/tokens">{token.value === "" ? "Sign in" : "Token"}</a>
  </header>;
}

function Navigation(): JSX.Element {
  const here = place.value.path[0] ?? "jobs";
  return <nav class="main-nav" aria-label="Main"><ul>
    {links.map((name) => <li><a href={`/ui/${name.toLowerCase()}`} aria-current={here === name.toLowerCase() ? "page" : undefined}>{name}</a></li>)}
    <li class="apart"><a href="/ui/actors" aria-current={here === "actors" ? "page" : undefined}>Actors</a></li>
    <li><a href="/ui/access" aria-current={here === "access" ? "page" : undefined}>Access</a></li>
    <li><a href="/ui/settings" aria-current={here === "settings" && place.value.path.length === 1 ? "page" : undefined}>Settings</a></li>
  </ul></nav>;
}

const retry_pause = 2_000;

function Page(): JSX.Element {
  const { load, name } = pageOf(place.value.path);
  const [loaded, setLoaded] = useState<{ name: string; page: ComponentType } | null>(null);
  const [trouble, setTrouble] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    let again: ReturnType<typeof setTimeout> | undefined;
    load().then((page) => { if (isCurrent) { setLoaded({ name, page }); setTrouble(false); } }, () => {
      if (!isCurrent) return;
      setTrouble(true);
      again = setTimeout(() => setTries((count) => count + 1), retry_pause);
    });
    return () => { isCurrent = false; clearTimeout(again); };
  }, [name, tries]);
  if (trouble) return <><h1 tabIndex={-1}>This page could not be loaded yet</h1><p class="trouble" role="alert">The agent does not answer, which is tried again, or has been replaced by another version: <a href={location.href} data-reload="">load the page again</a>.</p></>;
  if (loaded === null) return <p class="faint">Loading…</p>;
  const key = keyOfPage(loaded.name, place.value, region.value);
  return <Whole key={key}><loaded.page /></Whole>;
}

/** A page that could not be drawn says so; the rest goes on, and so do other pages. */
class Whole extends Component<{ children: ComponentChildren }, { wrong: string }> {
  override state = { wrong: "" };

  static override getDerivedStateFromError(wrong: unknown): { wrong: string } {
    return { wrong: said(wrong) };
  }

  override render(): ComponentChildren {
    if (this.state.wrong === "") return this.props.children;
    return <><h1 tabIndex={-1}>This page could not be drawn</h1>
      <p class="trouble" role="alert">The agent has answered something else than was asked for ({this.state.wrong}).</p>
      <p><a href={location.href} data-reload="">Load it again</a></p></>;
  }
}

function Help(): JSX.Element {
  return <Dialog name="Keys" isOpen={isHelpOpen.value} close={() => { isHelpOpen.value = false; }}>
    <h2>Keys</h2>
    <dl class="facts">{key_help.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
  </Dialog>;
}

export function Layout(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const told = notice.value;
  return <div class={`frame ${connection.value}`}>
    <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
    <Head />
    <Navigation />
    <main id="main" ref={main} tabIndex={-1}><Page /></main>
    <div class={`notice ${told?.isError ? "error" : ""}`} role={told?.isError ? "alert" : "status"} aria-live="polite">{told?.text}
      {told ? <button type="button" class="plain" aria-label="Close message" onClick={() => { notice.value = null; }}>×</button> : null}</div>
    <Search />
    <Help />
  </div>;
}
