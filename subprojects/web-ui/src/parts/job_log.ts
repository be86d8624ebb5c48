// What all allocations of a job write, as one log: the agent merges it, and says whose each line is and when it was written.
import { again, type Follower, type Output } from "./follow.ts";
import type { LogLines } from "../pure/lines.ts";
import { ApiError, get, request, word } from "../store/api.ts";

interface Said {
  AllocName?: string;
  Task?: string;
  Type?: string;
  Time?: number;  // nanoseconds since 1970
  Line?: string;
  Error?: string;
}

const tail = 5_000;  // lines of what was written before

/** "14:03:07 front[0]": the time, and the allocation without its job, which all have in common. */
export function labelOf(said: Said, job: string, outputs: readonly Output[]): string {
  const name = said.AllocName ?? "";
  const time = said.Time ? `${new Date(said.Time / 1e6).toLocaleTimeString("en-GB")} ` : "";
  return `${time}${name.startsWith(`${job}.`) ? name.slice(job.length + 1) : name} ${said.Task ?? ""}${outputs.length > 1 ? ` ${said.Type ?? ""}` : ""}`;
}

/** Calls `missing` if the agent has no such logs, as one of an older release. */
export function jobFollower(job: string, ns: string, task: string, missing: () => void): Follower {
  return (outputs, lines, changed, signal) => {
    let isNew = false;
    return again(async (came) => {
      const query = { namespace: ns, type: outputs.length > 1 ? "all" : outputs[0], task, tail, follow: "true" };
      const reader = await request("GET", `/v1/job/${word(job)}/logs`, query, undefined, signal).then((answer) => answer.body?.getReader(), (wrong: unknown) => {
        if (wrong instanceof ApiError && (wrong.status === 404 || wrong.status === 405)) missing();
        throw wrong;
      });
      if (isNew) lines.clear();  // what comes begins with what was there
      isNew = true;
      const decoder = new TextDecoder();
      for (let rest = ""; ;) {
        const chunk = await reader?.read();
        if (!chunk || chunk.done) break;
        came();
        const parts = (rest + decoder.decode(chunk.value, { stream: true })).split("\n");
        rest = parts.pop() ?? "";
        changed(take(parts, lines, job, outputs));
      }
      return (await get<{ Status: string }>(`/v1/job/${word(job)}`, { namespace: ns }, signal)).value.Status === "dead";
    }, changed, signal);
  };
}

/** Adds the lines of some frames; what the last error among them is, if there is one. */
function take(frames: string[], lines: LogLines, job: string, outputs: readonly Output[]): ApiError | undefined {
  let error: ApiError | undefined;
  for (const frame of frames) {
    if (frame.length < 3) continue;  // "{}": nothing was written for a while
    const said = JSON.parse(frame) as Said;
    if (said.Line !== undefined) lines.add(`${said.Line}\n`, labelOf(said, job, outputs));
    else if (said.Error) error = new ApiError(0, said.Error);
  }
  return error;
}
