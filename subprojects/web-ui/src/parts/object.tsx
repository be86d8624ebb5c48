// What every object has: its ID to copy, itself as the API has it, and the command that shows the same.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { region } from "../store/api.ts";
import { CodeView } from "./code.tsx";
import { Dialog, announce } from "./parts.tsx";

function copy(text: string, what: string): void {
  const refused = (): void => announce("The browser does not allow copying here", true);
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => announce(`Copied: ${what}`), refused);
  else refused();
}

/** A word of a command line, in quotes where it needs them. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** "nomadctl job status -namespace=apps web": `ns` is left out where the command would take it anyway. */
export function commandOf(words: string, id: string, ns = ""): string {
  return ["nomadctl", words, ...(region.value === "" ? [] : [`-region=${quoted(region.value)}`]), ...(ns === "" || ns === "default" ? [] : [`-namespace=${quoted(ns)}`]), quoted(id)].join(" ");
}

/** The ID stands there as `shown` says, or not at all with ""; so does `raw`, of which undefined is none: values of variables are secrets, and an
    allocation has a tab of it. `of` tells
    those of one object from those of the page's. */
export function ObjectTools({ id, shown = id, command, raw, of = "" }: { id: string; shown?: string; command: string; raw: unknown; of?: string }): JSX.Element {
  const label = (what: string): string => (of === "" ? what : `${what} of ${of}`);
  const [isRaw, setRaw] = useState(false);
  return <span class="tools">{shown === "" ? null : <code title={id}>{shown}</code>}
    <button type="button" class="plain link" aria-label={label("Copy ID")} title={id} onClick={() => copy(id, id)}>Copy ID</button>
    <button type="button" class="plain link" title={command} aria-label={label("Copy command")} onClick={() => copy(command, command)}>Copy command</button>
    {raw === undefined ? null : <button type="button" class="plain link" aria-label={label("Raw")} onClick={() => setRaw(true)}>Raw</button>}
    <Dialog name="Raw" isOpen={isRaw} close={() => setRaw(false)}><h2>As the API has it</h2>
      {isRaw ? <CodeView label="JSON" text={JSON.stringify(raw, null, 2)} /> : null}
      <div class="actions"><button type="button" onClick={() => setRaw(false)}>Close</button></div></Dialog></span>;
}
