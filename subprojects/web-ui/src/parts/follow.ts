// Follows what a task writes, into lines.
import type { LogLines } from "../pure/lines.ts";
import { ApiError, get, request, said } from "../store/api.ts";

const history_bytes = 2_000_000;  // of what was written before
const first_pause = 500;
const longest_pause = 8_000;

export type Output = "stdout" | "stderr";

/** Where output comes from: follows it into `lines` until `signal` ends that. */
export type Follower = (outputs: readonly Output[], lines: LogLines, changed: (error?: ApiError) => void, signal: AbortSignal) => Promise<unknown>;

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

/** The output of one task. */
export function taskFollower(alloc: string, task: string, ns: string): Follower {
  return (outputs, lines, changed, signal) => Promise.all(outputs.map((output) => {
    let isNew = false;
    const label = outputs.length > 1 ? output : "";
    return again(async (came) => {
      const query = { task, type: output, namespace: ns, follow: "true", plain: "true", origin: "end", offset: String(history_bytes) };
      const reader = (await request("GET", `/v1/client/fs/logs/${alloc}`, query, undefined, signal)).body?.getReader();
      const decoder = new TextDecoder();
      for (let isFirst = isNew; ;) {
        const chunk = await reader?.read();
        if (!chunk || chunk.done) break;
        if (isFirst) lines.clear(label);  // what comes begins with what was there; the other output stays
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
