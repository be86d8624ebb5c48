// What changed between two versions, with the old and the new value.
import type { JSX } from "preact";
import { diffLines, type JobDiff } from "../pure/diff.ts";
import { shortened } from "./visible.ts";

const words: Record<string, string> = { "+": "added", "-": "removed", "~": "changed", " ": "" };

export function DiffView({ diff }: { diff: JobDiff }): JSX.Element {
  const lines = diffLines(diff);
  if (lines.length === 0) return <p class="faint">Nothing changed.</p>;
  return <ul class="diff">{lines.map((line) => <li class={`depth-${Math.min(line.depth, 8)} ${words[line.mark]}`}>
    <span aria-hidden="true">{line.mark}</span><span class="hidden">{words[line.mark]}</span> {line.text}
    {line.before !== undefined || line.after !== undefined ? ": " : ""}
    {line.before !== undefined ? <del>{shortened(JSON.stringify(line.before))}</del> : null}
    {line.before !== undefined && line.after !== undefined ? " → " : ""}
    {line.after !== undefined ? <ins>{shortened(JSON.stringify(line.after))}</ins> : null}
  </li>)}</ul>;
}
