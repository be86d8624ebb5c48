// What all allocations of a job write, as one log: the agent merges it, and says whose each line is and when it was written.
import { again, readFrames, tail, timeOf, type Follower, type Said, type Wanted } from "./follow.ts";
import { ApiError, get, request, word } from "../store/api.ts";

/** "14:03:07 front[0] server": the time, and the allocation without its job, which all have in common. */
export function labelOf(said: Said, job: string, { outputs, hasTime }: Wanted): string {
  const name = said.AllocName ?? "";
  return [hasTime ? timeOf(said) : "", name.startsWith(`${job}.`) ? name.slice(job.length + 1) : name, said.Task ?? "", outputs.length > 1 ? said.Type ?? "" : ""].filter((word) => word !== "").join(" ");
}

/** Calls `missing` if the agent has no such logs, as one of an older release. */
export function jobFollower(job: string, ns: string, task: string, missing: () => void): Follower {
  return (wanted, lines, changed, signal) => {
    let isNew = false;
    const { outputs, since } = wanted;
    return again(async (came) => {
      const query = { namespace: ns, type: outputs.length > 1 ? "all" : outputs[0], task, tail, since, follow: "true" };
      const answer = await request("GET", `/v1/job/${word(job)}/logs`, query, undefined, signal).catch((wrong: unknown) => {
        if (wrong instanceof ApiError && (wrong.status === 404 || wrong.status === 405)) missing();
        throw wrong;
      });
      if (isNew) lines.clear();  // what comes begins with what was there
      isNew = true;
      await readFrames(answer, (frames) => {
        came();
        let error: ApiError | undefined;
        for (const said of frames) {
          if (said.Line !== undefined) lines.add(`${said.Line}\n`, labelOf(said, job, wanted));
          else if (said.Error) error = new ApiError(0, said.Error);
        }
        changed(error);
      });
      return (await get<{ Status: string }>(`/v1/job/${word(job)}`, { namespace: ns }, signal)).value.Status === "dead";
    }, changed, signal);
  };
}
