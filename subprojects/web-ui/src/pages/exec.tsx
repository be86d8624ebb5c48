// A command in a running task, with a terminal.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Heading, Trouble } from "../parts/parts.tsx";
import { openScreen, type Screen } from "../parts/terminal.ts";
import { shortId } from "../pure/units.ts";
import { jobLink, link, place } from "../shell/router.ts";
import { token, url, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import type { AllocStub } from "./job_types.ts";

const keep_alive = 20_000;  // proxies end silent connections

interface Frame {
  stdout?: { data?: string; close?: boolean };
  stderr?: { data?: string; close?: boolean };
  exited?: boolean;
  result?: { exit_code: number };
}

/** The words of a command line: quotes hold them together. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map((found) => found[1]?.replace(/\\(.)/g, "$1") ?? found[2] ?? found[3] ?? "");
}

function encode(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function decode(data: string): Uint8Array {
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}

/** Connects the terminal with the task; calls `opened` when it takes input, `ended` with what became of it. */
function connectTask(screen: Screen, alloc: string, task: string, command: string[], ns: string, opened: () => void, ended: (how: string) => void): () => void {
  const path = url(`/v1/client/allocation/${word(alloc)}/exec`, { command: JSON.stringify(command), task, tty: "true", ws_handshake: "true", namespace: ns });
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
  const send = (frame: object): void => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame)); };
  let how = "";
  let isOpen = false;
  const resize = (): void => { screen.fit(); send({ tty_size: screen.size() }); };
  const typed = screen.terminal.onData((text) => send({ stdin: { data: encode(text) } }));
  const timer = setInterval(() => send({}), keep_alive);
  addEventListener("resize", resize);
  socket.onopen = () => {
    isOpen = true;
    send({ version: 1, auth_token: token.value });
    send({ tty_size: screen.size() });
    screen.terminal.focus();
    opened();
  };
  socket.onmessage = (message) => {
    let frame: Frame;
    try {
      frame = JSON.parse(String(message.data)) as Frame;
      for (const output of [frame.stdout, frame.stderr]) if (output?.data) screen.terminal.write(decode(output.data));
    } catch {
      how = "What the agent sends is cut off";
      return socket.close();
    }
    if (frame.exited) how = `The command ended with exit code ${frame.result?.exit_code ?? 0}`;
  };
  socket.onclose = (event) => {
    clearInterval(timer);
    typed.dispose();
    removeEventListener("resize", resize);
    ended(how || event.reason || (isOpen ? "The connection was lost" : "The agent refused the connection: this needs alloc-exec in the namespace, and a running task"));
  };
  return () => socket.close();
}

export function ExecPage(): JSX.Element {
  const { path, query } = place.value;
  const [, job = "", group = "", task = ""] = path;
  const ns = query.get("namespace") ?? "default";
  const given = query.get("allocation") ?? "";
  const allocs = useData<AllocStub[]>(given ? null : `/v1/job/${word(job)}/allocations`, { namespace: ns, task_states: "false" });
  const alloc = given || (allocs.value?.find((one) => one.TaskGroup === group && one.ClientStatus === "running")?.ID ?? "");
  const [command, setCommand] = useState("/bin/sh");
  const [state, setState] = useState<"idle" | "connecting" | "connected">("idle");
  const [outcome, setOutcome] = useState("");
  const host = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLButtonElement>(null);
  const screen = useRef<Screen | null>(null);
  const hangUp = useRef<() => void>(() => undefined);
  useEffect(() => () => { hangUp.current(); screen.current?.end(); }, []);
  const start = async (): Promise<void> => {
    if (!host.current || state !== "idle") return;
    screen.current?.end();
    setOutcome("");
    setState("connecting");
    const made = await openScreen(host.current);
    screen.current = made;
    made.terminal.attachCustomKeyEventHandler((event) => {
      if (event.ctrlKey && event.altKey && event.key === "Escape") { leave.current?.focus(); return false; }
      return true;
    });
    hangUp.current = connectTask(made, alloc, task, wordsOf(command), ns, () => setState("connected"), (how) => { setState("idle"); setOutcome(how); });
  };
  return <>
    <Heading title={`Exec ${task}`} back={alloc ? { href: link("allocations", alloc), text: `Allocation ${shortId(alloc)}` } : { href: jobLink(job, ns), text: `Job ${job}` }}>Exec in {task}</Heading>
    <p class="faint">{job} / {group} / {task}{alloc ? `, allocation ${shortId(alloc)}` : ""}</p>
    <Trouble error={allocs.error} needs={`read-job in namespace ${ns}`} />
    {!alloc && allocs.value ? <p class="trouble">No allocation of this group is running.</p> : null}
    <form class="actions" onSubmit={(event) => { event.preventDefault(); void start(); }}>
      <label class="field grow">Command<input type="text" spellcheck={false} value={command} onInput={(event) => setCommand(event.currentTarget.value)} /></label>
      <button type="submit" class="main" disabled={!alloc || state !== "idle" || command.trim() === ""}>Connect</button>
      <button type="button" ref={leave} disabled={state === "idle"} onClick={() => hangUp.current()}>Hang up</button>
    </form>
    <p role="status" aria-label="Exec status">{outcome || (state === "connected" ? "Connected; Ctrl+Alt+Esc leaves the terminal" : state === "connecting" ? "Connecting…" : "")}</p>
    <div role="group" aria-label="Terminal" class="terminal" ref={host} data-keys="off" />
  </>;
}
