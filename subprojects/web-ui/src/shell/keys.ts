// What keys do, outside of text fields and terminals.
import { signal } from "@preact/signals";
import { go } from "./router.ts";

export const isSearchOpen = signal(false);
export const isHelpOpen = signal(false);

const places: Record<string, string> = { j: "jobs", a: "allocations", c: "clients", t: "topology", e: "evaluations", v: "variables", s: "servers" };
let pending = "";

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && (target.type === "checkbox" || target.type === "radio")) return false;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest("[data-keys=off]") !== null);
}

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  const at = rows.indexOf(document.activeElement?.closest<HTMLElement>("[data-row]") as HTMLElement);
  const row = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  if (!row) return;
  row.tabIndex = -1;
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}

/** A link or button of the page that a key stands for. */
function press(key: string): boolean {
  const target = document.querySelector<HTMLElement>(`main [data-key="${key}"]`);
  target?.click();
  return target !== null;
}

/** Selects the row that has the focus, or takes it back. */
function choose(target: EventTarget | null): boolean {
  const row = target instanceof HTMLElement && target.dataset["row"] !== undefined ? target : null;
  const box = row?.querySelector<HTMLElement>(".choose");
  box?.click();
  return box != null;
}

function focusFilter(): boolean {
  const filter = document.querySelector<HTMLElement>("main [data-filter]");
  filter?.focus();
  return filter !== null;
}

function take(event: KeyboardEvent): boolean {
  // Of an editor in a shadow root the event's own target is its host.
  const target = event.composedPath()[0] ?? event.target;
  // The browser's own search would only see the rows that are in sight.
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f" && document.querySelector("main [role=grid]")) return focusFilter();
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { isSearchOpen.value = true; return true; }
  if (isTyping(target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  if (pending === "g") {
    pending = "";
    const to = places[event.key];
    if (to) go(`/ui/${to}`);
    return to !== undefined;
  }
  switch (event.key) {
    case "g": pending = "g"; setTimeout(() => { pending = ""; }, 1_500); return true;
    case "/": isSearchOpen.value = true; return true;
    case "f": return focusFilter();
    case "?": isHelpOpen.value = true; return true;
    case "j": moveRow(1); return true;
    case "k": moveRow(-1); return true;
    case "c": case "l": case "x": case "s": return press(event.key);
    case " ": return choose(target);
    case "Enter": {
      const row = target instanceof HTMLElement && target.dataset["row"] !== undefined ? target : null;
      row?.querySelector("a")?.click();
      return row !== null;
    }
    default: return false;
  }
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => { if (take(event)) event.preventDefault(); });
}

export const key_help: readonly (readonly [string, string])[] = [
  ["/ or Ctrl+K", "search everything"], ["f or Ctrl+F", "filter this list"], ["g j", "jobs"], ["g a", "allocations"], ["g c", "clients"], ["g t", "topology"],
  ["g e", "evaluations"], ["g v", "variables"], ["g s", "servers"], ["j, k", "next and previous row"], ["Enter", "open the row"], ["Space", "select the row, for what is done with several"], ["l", "logs"], ["c", "of a log: only hits, with what is around them"],
  ["x", "exec"], ["s", "stop a job, drain a client"], ["?", "these keys"], ["Esc", "close"],
];
