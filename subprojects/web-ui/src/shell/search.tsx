// The search over everything: a box and what it finds, by keys alone.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../store/api.ts";
import { Dialog } from "../parts/parts.tsx";
import { isSearchOpen } from "./keys.ts";
import { go, jobLink, link } from "./router.ts";
import { shortId } from "../pure/units.ts";

interface Found {
  kind: string;
  name: string;
  href: string;
}

type Matches = Record<string, ({ ID: string; Scope?: string[] } | string)[] | null>;

const pages: readonly Found[] = ["Jobs", "Allocations", "Clients", "Servers", "Topology", "Evaluations", "Services", "Variables"].map((name) => ({ kind: "page", name, href: `/ui/${name.toLowerCase()}` }));

function founds(matches: Matches): Found[] {
  const found: Found[] = [];
  const each = (context: string, make: (id: string, scope: string[]) => Found): void => {
    for (const one of matches[context] ?? []) found.push(typeof one === "string" ? make(one, []) : make(one.ID, one.Scope ?? []));
  };
  each("jobs", (id, scope) => ({ kind: "job", name: scope[1] ?? id, href: jobLink(scope[1] ?? id, scope[0] ?? "default") }));
  each("nodes", (id, scope) => ({ kind: "client", name: id, href: link("clients", scope[0] ?? id) }));
  each("allocs", (id, scope) => ({ kind: "allocation", name: scope.length > 1 ? `${id} ${shortId(scope[1] ?? "")}` : shortId(id), href: link("allocations", scope[1] ?? id) }));
  each("groups", (id, scope) => ({ kind: "group", name: `${scope[1]} / ${id}`, href: jobLink(scope[1] ?? "", scope[0] ?? "default") }));
  each("tasks", (id, scope) => ({ kind: "task", name: scope.slice(1).concat(id).join(" / "), href: jobLink(scope[1] ?? "", scope[0] ?? "default") }));
  each("evals", (id) => ({ kind: "evaluation", name: shortId(id), href: link("evaluations", id) }));
  each("services", (id, scope) => ({ kind: "service", name: id, href: `${link("services", id)}?namespace=${scope[0] ?? "default"}` }));
  return found;
}

const kinds = ["job", "service", "client", "page"];

/** What has just that name comes first, then what begins so; jobs before what is in them. */
function rankOf(one: Found, text: string): number {
  const name = one.name.toLowerCase();
  const wanted = text.toLowerCase();
  const closeness = name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2;
  const kind = kinds.indexOf(one.kind);
  return closeness * 10 + (kind < 0 ? kinds.length : kind);
}

async function search(text: string): Promise<Found[]> {
  const known = pages.filter((page) => page.name.toLowerCase().includes(text.toLowerCase()));
  if (text.length < 2) return known;
  const ask = async (path: string, body: object): Promise<Found[]> => founds((await send<{ Matches: Matches }>("POST", path, { namespace: "*" }, body)).Matches);
  // Fuzzy search does not look at ids.
  const asked = await Promise.allSettled([ask("/v1/search/fuzzy", { Text: text, Context: "all" }), ask("/v1/search", { Prefix: text, Context: "all" })]);
  const all = [...known, ...asked.flatMap((one) => (one.status === "fulfilled" ? one.value : []))];
  const failed = asked.find((one) => one.status === "rejected");
  if (all.length === 0 && failed && failed.reason instanceof ApiError) throw failed.reason;
  const different = [...new Map(all.map((one) => [one.href + one.kind, one])).values()];
  return different.map((one, at) => ({ one, at, rank: rankOf(one, text) })).sort((a, b) => a.rank - b.rank || a.at - b.at).map(({ one }) => one).slice(0, 50);
}

export function Search(): JSX.Element {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Found[]>(pages);
  const [at, setAt] = useState(0);
  const [trouble, setTrouble] = useState("");
  const close = (): void => { isSearchOpen.value = false; setText(""); };
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(() => {
      search(text).then((all) => { if (isCurrent) { setFound(all); setAt(0); setTrouble(""); } }, (wrong: unknown) => { if (isCurrent) { setFound([]); setTrouble(String((wrong as Error).message)); } });
    }, text === "" ? 0 : 120);
    return () => { isCurrent = false; clearTimeout(timer); };
  }, [text]);
  const open = (one: Found | undefined): void => { if (one) { close(); go(one.href); } };
  return <Dialog name="Search" isOpen={isSearchOpen.value} close={close}>
    <input type="text" role="combobox" aria-label="Search" aria-expanded="true" aria-controls="found" aria-autocomplete="list" autofocus autocomplete="off" spellcheck={false}
      aria-activedescendant={found.length > 0 ? `found-${at}` : undefined} placeholder="Jobs, allocations, clients, …" value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
        else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
        else if (event.key === "Enter") open(found[at]);
        else return;
        event.preventDefault();
      }} />
    {trouble ? <p class="trouble">{trouble}</p> : null}
    <ul id="found" role="listbox" aria-label="Found" class="found">
      {found.map((one, place) => <li key={one.href + one.kind} id={`found-${place}`} role="option" aria-selected={place === at} onClick={() => open(one)}
        ref={place === at ? (element) => element?.scrollIntoView({ block: "nearest" }) : null}>
        <span>{one.name}</span><span class="faint">{one.kind}</span></li>)}
    </ul>
    <p class="faint" role="status">{found.length === 0 && !trouble ? "Nothing found" : ""}</p>
  </Dialog>;
}
