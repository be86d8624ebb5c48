// A task's output as it comes: followed, searched, bounded. Everything in it is text.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ansi, type Piece } from "../pure/ansi.ts";
import { LogLines, searchOf } from "../pure/lines.ts";
import { several } from "../pure/units.ts";
import { ApiError, request, said } from "../store/api.ts";
import { Check, SearchBox, Trouble } from "./parts.tsx";

const line_height = 20;
const overscan = 20;
const history_bytes = 2_000_000;  // of what was written before
const redraw_pause = 50;
const first_pause = 500;
const longest_pause = 8_000;

/** Follows the log into `lines` until `signal` ends it; opens it again when the connection breaks. */
async function follow(path: string, query: Record<string, string>, lines: LogLines, changed: (error?: ApiError) => void, signal: AbortSignal): Promise<void> {
  let isNew = false;
  let pause = first_pause;
  while (!signal.aborted) {
    try {
      const answer = await request("GET", path, { ...query, follow: "true", plain: "true", origin: "end", offset: String(history_bytes) }, undefined, signal);
      const reader = answer.body?.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const chunk = await reader?.read();
        if (!chunk || chunk.done) break;
        if (isNew) lines.clear();
        isNew = false;
        pause = first_pause;
        lines.add(decoder.decode(chunk.value, { stream: true }));
        changed();
      }
    } catch (wrong) {
      if (signal.aborted) return;
      const error = wrong instanceof ApiError ? wrong : new ApiError(0, said(wrong));
      changed(error);
      if (error.status === 403) return;
    }
    isNew = true;  // what comes begins with what was there
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(longest_pause, pause * 2);
  }
}

export function LogView({ alloc, task, ns }: { alloc: string; task: string; ns: string }): JSX.Element {
  const [kind, setKind] = useState<"stdout" | "stderr">("stdout");
  const [follows, setFollows] = useState(true);
  const [wraps, setWraps] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);  // which hit
  const [top, setTop] = useState(0);
  const [error, setError] = useState<ApiError | undefined>();
  const [, redraw] = useState(0);
  const lines = useRef(new LogLines());
  const box = useRef<HTMLDivElement>(null);
  const draws = useRef(false);
  const change = (wrong?: ApiError): void => {
    setError(wrong);
    if (draws.current) return;
    draws.current = true;
    setTimeout(() => { draws.current = false; redraw((count) => count + 1); }, redraw_pause);
  };
  useEffect(() => {
    lines.current = new LogLines();
    lines.current.search(text);
    setError(undefined);
    const abort = new AbortController();
    void follow(`/v1/client/fs/logs/${alloc}`, { task, type: kind, namespace: ns }, lines.current, change, abort.signal);
    redraw((count) => count + 1);
    return () => abort.abort();
  }, [alloc, task, kind, ns]);
  useEffect(() => { lines.current.search(text); setAt(0); if (text !== "") jump(0); redraw((count) => count + 1); }, [text]);
  const { begin, end, found } = lines.current;
  const total = end - begin;
  const height = box.current?.clientHeight ?? 600;
  // Where the box was scrolled to may be beyond the end, once the oldest lines are dropped.
  const inSight = Math.ceil(height / line_height);
  const lowest = Math.max(0, total - inSight);
  const first = wraps ? Math.max(0, total - 1_000) : Math.max(0, (follows ? lowest : Math.min(lowest, Math.floor(top / line_height))) - overscan);
  const last = wraps ? total : Math.min(total, first + inSight + 2 * overscan);
  useLayoutEffect(() => { if (follows && box.current) box.current.scrollTop = box.current.scrollHeight; });
  function jump(to: number): void {
    const hits = lines.current.found;
    const hit = hits[to];
    if (hit === undefined) return;
    setAt(to);
    setFollows(false);
    if (box.current) box.current.scrollTop = (hit - lines.current.begin) * line_height - height / 3;
  }
  const search = searchOf(text);
  const current = text === "" ? -1 : found[at] ?? -1;
  const download = (): void => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.current.text()], { type: "text/plain" }));
    link.download = `${task}.${kind}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
  };
  return <div class="log-view">
    <div class="actions">
      <fieldset class="choice"><legend class="hidden">Output</legend>
        {(["stdout", "stderr"] as const).map((one) => <label><input type="radio" name="output" checked={kind === one} onChange={() => setKind(one)} />{one}</label>)}</fieldset>
      <Check label="Follow" checked={follows} onChange={setFollows} />
      <Check label="Wrap" checked={wraps} onChange={setWraps} />
      <SearchBox label="Search logs" value={text} onChange={setText} />
      <span role="status" aria-label="Hits">{text === "" ? "" : several(found.length, "hit")}</span>
      <button type="button" disabled={found.length === 0} aria-label="Previous hit" onClick={() => jump((at + found.length - 1) % found.length)}>↑</button>
      <button type="button" disabled={found.length === 0} aria-label="Next hit" onClick={() => jump((at + 1) % found.length)}>↓</button>
      <span class="grow" /><button type="button" onClick={download}>Download</button>
    </div>
    <Trouble error={error} needs={`read-logs in namespace ${ns}`} />
    <div class={`log ${wraps ? "wraps" : ""}`} ref={box} role="log" aria-label="Logs" aria-live="off" tabIndex={0}
      onScroll={(event) => {
        const box = event.currentTarget;
        setTop(box.scrollTop);
        const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - line_height;
        if (!isAtEnd && follows && box.scrollTop < top - line_height) setFollows(false);
      }}>
      <div class="log-space" ref={(element) => { if (element) element.style.height = wraps ? "auto" : `${total * line_height}px`; }}>
        <div ref={(element) => { if (element) element.style.transform = wraps ? "none" : `translateY(${first * line_height}px)`; }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, place) => {
            const number = begin + first + place;
            return <Line key={number} text={lines.current.line(number)} search={search} isCurrent={number === current} />;
          })}
        </div>
      </div>
      {total === 0 && !error ? <p class="faint">Nothing was written to {kind} yet.</p> : null}
    </div>
  </div>;
}

function Line({ text, search, isCurrent }: { text: string; search: RegExp | null; isCurrent: boolean }): JSX.Element {
  return <div class={isCurrent ? "line current" : "line"}>{ansi(text).map((piece) => <span class={piece.classes || undefined}>{marked(piece, search)}</span>)}{"\n"}</div>;
}

function marked(piece: Piece, search: RegExp | null): (string | JSX.Element)[] {
  if (!search) return [piece.text];
  const parts: (string | JSX.Element)[] = [];
  let begin = 0;
  for (const found of piece.text.matchAll(new RegExp(search.source, "gi"))) {
    if (found[0] === "") break;
    parts.push(piece.text.slice(begin, found.index), <mark>{found[0]}</mark>);
    begin = found.index + found[0].length;
  }
  parts.push(piece.text.slice(begin));
  return parts;
}
