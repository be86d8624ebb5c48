// What became of a job, in time: each slot's allocations as bars, versions as marks, and all of it in words.

/** As the API has them; times are nanoseconds since 1970. */
export interface PastAlloc {
  ID: string;
  Name: string;
  JobVersion: number | undefined;
  ClientStatus: string;
  CreateTime: number;
  ModifyTime: number;
  NodeName: string;
  TaskStates?: Record<string, { FinishedAt: string | null; Events: { Type: string; Time: number; DisplayMessage: string }[] | null }> | null;
}

export interface Bar {
  id: string;
  from: number;  // milliseconds since 1970
  to: number;
  status: string;
  version: number | undefined;
}

export interface Lane {
  name: string;
  bars: Bar[];
}

export interface Happening {
  at: number;
  text: string;
  alloc: string;  // that it is about; empty if about none
}

const is_over = new Set(["complete", "failed", "lost"]);
/** Of what tasks tell, what a line of its own is worth. */
const told = new Set(["Terminated", "Restarting", "Restart Signaled", "Not Restarting", "Driver Failure", "Failed Artifact Download", "Failed Validation", "Setup Failure", "Killed", "Signaling"]);

function endOf(alloc: PastAlloc, now: number): number {
  if (!is_over.has(alloc.ClientStatus)) return now;
  const ends = Object.values(alloc.TaskStates ?? {}).map((state) => Date.parse(state.FinishedAt ?? "")).filter((at) => at > 0);
  return ends.length > 0 ? Math.max(...ends) : alloc.ModifyTime / 1e6;
}

/** A lane for each name, in the order of names, with the bars that reach into the time since `from`. */
export function lanesOf(allocs: readonly PastAlloc[], from: number, now: number): Lane[] {
  const lanes = new Map<string, Bar[]>();
  for (const alloc of [...allocs].sort((a, b) => a.CreateTime - b.CreateTime)) {
    const bar = { id: alloc.ID, from: alloc.CreateTime / 1e6, to: endOf(alloc, now), status: alloc.ClientStatus, version: alloc.JobVersion };
    if (bar.to < from) continue;
    const lane = lanes.get(alloc.Name);
    if (lane) lane.push(bar);
    else lanes.set(alloc.Name, [bar]);
  }
  const collator = new Intl.Collator("en", { numeric: true });
  return [...lanes].map(([name, bars]) => ({ name, bars })).sort((a, b) => collator.compare(a.name, b.name));
}

/** The newest first. */
export function happeningsOf(allocs: readonly PastAlloc[], versions: readonly { Version: number; SubmitTime: number; Stop?: boolean }[], from: number): Happening[] {
  const all: Happening[] = versions.map((one) => ({ at: one.SubmitTime / 1e6, text: `version ${one.Version} was ${one.Stop ? "stopped" : "submitted"}`, alloc: "" }));
  for (const alloc of allocs) {
    all.push({ at: alloc.CreateTime / 1e6, text: `${alloc.Name} was placed on ${alloc.NodeName}`, alloc: alloc.ID });
    for (const [task, state] of Object.entries(alloc.TaskStates ?? {}))
      for (const event of state.Events ?? [])
        if (told.has(event.Type)) all.push({ at: event.Time / 1e6, text: `${alloc.Name}, ${task}: ${event.Type}${event.DisplayMessage ? `, ${event.DisplayMessage}` : ""}`, alloc: alloc.ID });
  }
  return all.filter((one) => one.at >= from).sort((a, b) => b.at - a.at);
}
