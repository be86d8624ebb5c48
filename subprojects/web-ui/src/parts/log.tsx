// Output as it comes: followed, searched, bounded. Everything in it is text. What is looked at stands in the address: the output, the
// search, from when on, and a line that somebody links to.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ansi, type Piece } from "../pure/ansi.ts";
import { LogLines, markOf, searchOf } from "../pure/lines.ts";
import { several } from "../pure/units.ts";
import { addressed, setParameter } from "../shell/router.ts";
import type { ApiError } from "../store/api.ts";
import type { Follower, Output } from "./follow.ts";
import { Check, SearchBox, Trouble, announce, saveAs } from "./parts.tsx";

const line_height = 20;
const overscan = 20;
const redraw_pause = 50;
const most_wrapped = 1_000;  // lines of unknown height that are drawn
const context_lines = 2;

const choices: readonly (readonly [string, readonly Output[]])[] = [["stdout", ["stdout"]], ["stderr", ["stderr"]], ["both", ["stdout", "stderr"]]];

const sinces: readonly (readonly [string, string])[] = [["", "the oldest"], ["5m", "5 min ago"], ["15m", "15 min ago"], ["1h", "1 h ago"], ["6h", "6 h ago"], ["24h", "24 h ago"]];

/** `name` is that of a file with it; another `follower` begins anew only with another key of the element. `isTimed`: lines say when they
    were written, unless that is switched off. */
export function LogView({ follower, name, needs, isTimed = false, hasEnded = false }: { follower: Follower; name: string; needs: string; isTimed?: boolean; hasEnded?: boolean }): JSX.Element {
  const [kind, setKind] = addressed("type", "stdout");
  const [time, setTime] = addressed("time", isTimed ? "on" : "off");
  const [since, setSince] = addressed("since");
  const [text, setText] = addressed("search");
  const [linked] = addressed("line");
  const [follows, setFollows] = useState(linked === "");
  const [wraps, setWraps] = useState(false);
  const [isNarrow, setNarrow] = useState(false);
  const [picked, setPicked] = useState(-1);  // the line that a link leads to, or that was clicked on
  const seeks = useRef(text !== "" && linked === "");  // the newest hit of a search that was there before the lines
  const looked = useRef(0);                  // so many lines were compared with the link's
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
    setPicked(-1);
    looked.current = 0;
    const abort = new AbortController();
    void follower({ outputs: choices.find(([one]) => one === kind)?.[1] ?? ["stdout"], hasTime: time === "on", since }, lines.current, change, abort.signal);
    redraw((count) => count + 1);
    return () => abort.abort();
  }, [kind, time, since]);
  const shown = isNarrow && text !== "" ? lines.current.around(context_lines) : null;
  const { begin, end, found } = lines.current;
  const total = shown ? shown.length : end - begin;
  const height = box.current?.clientHeight ?? 600;
  // Where the box was scrolled to may be beyond the end, once the oldest lines are dropped.
  const inSight = Math.ceil(height / line_height);
  const lowest = Math.max(0, total - inSight);
  const first = wraps ? Math.max(0, total - most_wrapped) : Math.max(0, (follows ? lowest : Math.min(lowest, Math.floor(top / line_height))) - overscan);
  const last = wraps ? total : Math.min(total, first + inSight + 2 * overscan);
  useLayoutEffect(() => { if (follows && box.current) box.current.scrollTop = box.current.scrollHeight; });
  const show = (line: number): void => {
    setFollows(false);
    const place = isNarrow ? lines.current.around(context_lines).indexOf(line) : line - lines.current.begin;
    if (box.current) box.current.scrollTop = place * line_height - height / 3;
  };
  const jump = (to: number): void => {
    const hit = lines.current.found[to];
    if (hit === undefined) return;
    setAt(to);
    setPicked(-1);
    show(hit);
  };
  useEffect(() => {
    if (seeks.current && found.length > 0) { seeks.current = false; jump(found.length - 1); }
    if (linked === "" || picked >= 0) return;
    const { begin: oldest, end: newest } = lines.current;
    for (let number = Math.max(oldest, looked.current); number < newest && picked < 0; number += 1)
      if (markOf(lines.current.line(number)) === linked) { setPicked(number); show(number); break; }
    looked.current = newest;
  });
  useEffect(() => { lines.current.search(text); setAt(0); if (text !== "") jump(0); redraw((count) => count + 1); }, [text]);
  const search = searchOf(text);
  const current = picked >= 0 ? picked : text === "" ? -1 : found[at] ?? -1;
  const share = (): void => {
    setParameter("line", markOf(lines.current.line(current)));
    setPicked(current);
    const refused = (): void => announce("The link to the line stands in the address");
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => announce("Copied: a link to the line"), refused);
    else refused();
  };
  const numbers = Array.from({ length: Math.max(0, last - first) }, (_, place) => (shown ? shown[first + place] ?? 0 : begin + first + place));
  return <div class="log-view">
    <div class="actions">
      <fieldset class="choice"><legend class="hidden">Output</legend>
        {choices.map(([one]) => <label><input type="radio" name="output" checked={kind === one} onChange={() => setKind(one)} />{one}</label>)}</fieldset>
      <Check label="Follow" checked={follows} onChange={setFollows} />
      <Check label="Wrap" checked={wraps} onChange={setWraps} />
      <Check label="Time" checked={time === "on"} onChange={(on) => setTime(on ? "on" : "off")} />
      <label>Since <select value={since} onChange={(event) => setSince(event.currentTarget.value)}>{sinces.map(([value, said]) => <option value={value}>{said}</option>)}</select></label>
      <SearchBox label="Search logs" value={text} onChange={setText} />
      <span role="status" aria-label="Hits">{text === "" ? "" : several(found.length, "hit")}</span>
      <button type="button" disabled={found.length === 0} aria-label="Previous hit" onClick={() => jump((at + found.length - 1) % found.length)}>↑</button>
      <button type="button" disabled={found.length === 0} aria-label="Next hit" onClick={() => jump((at + 1) % found.length)}>↓</button>
      <Check label="Only hits" press="c" checked={isNarrow} onChange={(on) => { setNarrow(on); setFollows(on); }} />
      <span class="grow" /><button type="button" disabled={current < 0} title={current < 0 ? "Of a hit of the search, or of a line that was clicked on" : undefined} onClick={share}>Link to line</button>
      <button type="button" onClick={() => saveAs(new Blob([lines.current.text()], { type: "text/plain" }), `${name}.${kind}.log`)}>Download</button>
    </div>
    <Trouble error={error} needs={needs} />
    <div class={`log ${wraps ? "wraps" : ""}`} ref={box} role="log" aria-label="Logs" aria-live="off" tabIndex={0}
      onScroll={(event) => {
        const scrolled = event.currentTarget;
        setTop(scrolled.scrollTop);
        const isAtEnd = scrolled.scrollTop + scrolled.clientHeight >= scrolled.scrollHeight - line_height;
        if (!isAtEnd && follows && scrolled.scrollTop < top - line_height) setFollows(false);
      }}>
      <div class="log-space" ref={(element) => { if (element) element.style.height = wraps ? "auto" : `${total * line_height}px`; }}>
        <div ref={(element) => { if (element) element.style.transform = wraps ? "none" : `translateY(${first * line_height}px)`; }}>
          {numbers.map((number, place) => <Line key={number} text={lines.current.line(number)} label={lines.current.label(number)} search={search} isCurrent={number === current} pick={() => setPicked(number)}
            isAfterGap={shown !== null && place > 0 && numbers[place - 1] !== number - 1} />)}
        </div>
      </div>
      {total === 0 && !error ? <p class="faint">{shown ? "No line has it." : `Nothing was written to ${kind === "both" ? "either" : kind}${hasEnded ? "" : " yet"}.`}</p> : null}
    </div>
  </div>;
}

function Line({ text, label, search, isCurrent, isAfterGap, pick }: { text: string; label: string; search: RegExp | null; isCurrent: boolean; isAfterGap: boolean; pick: () => void }): JSX.Element {
  return <div class={`line${isCurrent ? " current" : ""}${isAfterGap ? " gap" : ""}`} onClick={pick}>{label === "" ? null : <span class="label-of-line">{label} </span>}
    {ansi(text).map((piece) => <span class={piece.classes || undefined}>{marked(piece, search)}</span>)}{"\n"}</div>;
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
