// Follows what a task writes, into lines: as it is, or line by line with times.
import type { LogLines } from "../pure/lines.ts";
import { clock } from "../shell/preferences.ts";
import { ApiError, get, request, said } from "../store/api.ts";

const history_bytes = 2_000_000;  // of what was written before
const first_pause = 500;
const longest_pause = 8_000;

export type Output = "stdout" | "stderr";

export interface Wanted {
  outputs: readonly Output[];
  hasTime: boolean;  // each line says when it was written
  since: string;     // a duration before now, such as 15m; empty is from the oldest that is kept
}

/** Where output comes from: follows it into `lines` until `signal` ends that. */
export type Follower = (wanted: Wanted, lines: LogLines, changed: (error?: ApiError) => void, signal: AbortSignal) => Promise<unknown>;

/** Runs `attempt` until it says that all has come: again and again, later each time that nothing came of it. A refusal ends it, too. */
export async function again(attempt: (came: () => void) => Promise<boolean>, failed: (error: ApiError) => void, signal: AbortSignal): Promise<void> {
  let pause = first_pause;
  while (!signal.aborted) {
    try {
      if (await attempt(() => { pause = first_pause; })) return;
    } catch (wrong) {
      if (signal.aborted) return;
      const error = wrong instanceof ApiError ? wrong : new ApiError(0, said(wrong));
      failed(error);
      if (error.status === 403) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(longest_pause, pause * 2);
  }
}

/** A line as the agent tells it, with whose it is where it is one of several. */
export interface Said {
  AllocName?: string;
  Task?: string;
  Type?: string;
  Time?: number;    // nanoseconds since 1970
  TimeBy?: string;  // "file": an estimate
  Line?: string;
  Error?: string;
}

/** "14:03:07", or "~14:03:07" where nobody knows exactly. */
export function timeOf({ Time: time, TimeBy: by }: Said): string {
  return time ? `${by === "file" ? "~" : ""}${clock(time / 1e6)}` : "";
}

/** Reads frames of one line of JSON each, until they end; calls back with those that have come. */
export async function readFrames(answer: Response, came: (frames: Said[]) => void): Promise<void> {
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  for (let rest = ""; ;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) return;
    const parts = (rest + decoder.decode(chunk.value, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    came(parts.filter((part) => part.length >= 3).map((part) => JSON.parse(part) as Said));  // "{}": nothing was written for a while
  }
}

export const tail = 5_000;  // lines of what was written before, where lines come one by one

/** The output of one task. */
export function taskFollower(alloc: string, task: string, ns: string): Follower {
  const asItIs = bodyFollower(alloc, task, ns);
  const byLine = lineFollower(alloc, task, ns);
  return (wanted, ...rest) => (wanted.hasTime || wanted.since !== "" ? byLine(wanted, ...rest) : asItIs(wanted, ...rest));
}

/** Line by line. */
function lineFollower(alloc: string, task: string, ns: string): Follower {
  return ({ outputs, hasTime, since }, lines, changed, signal) => Promise.all(outputs.map((output) => {
    let isNew = false;
    const suffix = outputs.length > 1 ? output : "";
    return again(async (came) => {
      const answer = await request("GET", `/v1/client/fs/lines/${alloc}`, { task, type: output, namespace: ns, since, tail, follow: "true" }, undefined, signal);
      if (isNew) lines.clear((label) => label.endsWith(suffix));
      isNew = true;
      await readFrames(answer, (frames) => {
        came();
        const failure = frames.find((frame) => frame.Error !== undefined);
        for (const frame of frames) if (frame.Line !== undefined) lines.add(`${frame.Line}\n`, [hasTime ? timeOf(frame) : "", suffix].filter((word) => word !== "").join(" "));
        changed(failure ? new ApiError(0, failure.Error ?? "") : undefined);
      });
      return isOver(alloc, signal);
    }, changed, signal);
  }));
}

/** As it was written. */
function bodyFollower(alloc: string, task: string, ns: string): Follower {
  return ({ outputs }, lines, changed, signal) => Promise.all(outputs.map((output) => {
    let isNew = false;
    const label = outputs.length > 1 ? output : "";
    return again(async (came) => {
      const query = { task, type: output, namespace: ns, follow: "true", plain: "true", origin: "end", offset: String(history_bytes) };
      const reader = (await request("GET", `/v1/client/fs/logs/${alloc}`, query, undefined, signal)).body?.getReader();
      const decoder = new TextDecoder();
      for (let isFirst = isNew; ;) {
        const chunk = await reader?.read();
        if (!chunk || chunk.done) break;
        if (isFirst) lines.clear((of) => of === label);  // what comes begins with what was there; the other output stays
        isFirst = false;
        isNew = true;
        came();
        lines.add(decoder.decode(chunk.value, { stream: true }), label);
        changed();
      }
      return isOver(alloc, signal);
    }, changed, signal);
  }));
}

/** Whether nothing more is written: what was, is read once then. */
async function isOver(alloc: string, signal: AbortSignal): Promise<boolean> {
  const { value } = await get<{ ClientStatus: string }>(`/v1/allocation/${alloc}`, {}, signal);
  return ["complete", "failed", "lost"].includes(value.ClientStatus);
}
