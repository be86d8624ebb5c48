// What is done with a job as a whole, from its page and from the list.
import { several } from "../pure/units.ts";
import { get, send } from "../store/api.ts";
import type { AllocStub, Job } from "./job_types.ts";

/** The job as it is now, not stopped; with its text, so that its definition stays readable. */
export async function startJob(path: string, ns: string): Promise<void> {
  const { value: job } = await get<Job>(path, { namespace: ns });
  const submission = await get<object>(`${path}/submission`, { namespace: ns, version: job.Version }).then((got) => got.value, () => undefined);
  await send("PUT", "/v1/jobs", { namespace: ns }, { Job: { ...job, Stop: false }, EnforceIndex: true, JobModifyIndex: job.JobModifyIndex, Submission: submission });
}

/** Restarts what runs, one after the other, and says how far it is. */
export async function restartJob(path: string, ns: string, tell: (progress: string) => void): Promise<void> {
  const { value: allocs } = await get<AllocStub[]>(`${path}/allocations`, { namespace: ns, task_states: "false" });
  const running = allocs.filter((alloc) => alloc.ClientStatus === "running" && alloc.DesiredStatus === "run");
  if (running.length === 0) throw new Error("None of its allocations is running");
  for (const [at, alloc] of running.entries()) {
    tell(`${at} of ${several(running.length, "allocation")} restarted`);
    await send("PUT", `/v1/client/allocation/${alloc.ID}/restart`, { namespace: ns }, {});
  }
}
