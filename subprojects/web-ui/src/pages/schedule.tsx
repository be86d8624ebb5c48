// Tasks with a schedule: whether they run now, by whose will, and orders that override it.
import type { JSX } from "preact";
import { ActionButton, Status, Table } from "../parts/parts.tsx";
import { send } from "../store/api.ts";
import { useWhyNot } from "../store/may.ts";
import type { Allocation, ScheduledTask } from "./job_types.ts";

const said: Record<string, string> = {
  "": "runs: it is within its schedule",
  force_run: "runs, by an order",
  scheduled_pause: "paused, by its schedule",
  force_pause: "paused, by an order",
};

const orders: { order: string; text: string; done: string; fits: (now: string) => boolean }[] = [
  { order: "pause", text: "Pause", done: "is paused", fits: (now) => now !== "force_pause" },
  { order: "run", text: "Run", done: "runs", fits: (now) => now !== "force_run" },
  { order: "scheduled", text: "Follow the schedule", done: "follows its schedule", fits: (now) => now.startsWith("force_") },
];

/** Nothing where no task of the allocation has a schedule. */
export function Schedules({ alloc }: { alloc: Allocation }): JSX.Element | null {
  const whyNot = useWhyNot("submit-job", alloc.Namespace);
  const group = alloc.Job?.TaskGroups?.find((one) => one.Name === alloc.TaskGroup);
  const tasks = (group?.Tasks ?? []).filter((task): task is ScheduledTask => Boolean((task as Partial<ScheduledTask>).Schedule?.Cron));
  if (tasks.length === 0) return null;
  const isOver = alloc.ClientStatus !== "running" && alloc.ClientStatus !== "pending";
  const nowOf = (task: string): string => alloc.TaskStates?.[task]?.Paused ?? "";
  return <section class="panel"><h2>Schedules</h2>
    <Table name="Schedules" rows={tasks} keyOf={(task) => task.Name} columns={[
      { name: "Task", cell: (task) => task.Name },
      { name: "From", cell: ({ Schedule: { Cron } }) => <code>{Cron.Start}</code> },
      { name: "Until", cell: ({ Schedule: { Cron } }) => <code>{Cron.End}</code> },
      { name: "Time zone", cell: ({ Schedule: { Cron } }) => Cron.Timezone || "the client's" },
      { name: "Now", cell: (task) => isOver ? <Status value={alloc.ClientStatus} /> : said[nowOf(task.Name)] ?? nowOf(task.Name) },
      { name: "", cell: (task) => isOver ? null : <span class="row-actions">{orders.filter(({ fits }) => fits(nowOf(task.Name))).map(({ order, text, done }) =>
        <ActionButton key={order} kind="plain link" disabled={whyNot !== undefined} why={whyNot} label={`${text}: ${task.Name}`} done={`${task.Name} ${done}`}
          act={() => send("PUT", `/v1/client/allocation/${alloc.ID}/pause`, { namespace: alloc.Namespace }, { Task: task.Name, ScheduleState: order })}>{text}</ActionButton>)}</span> },
    ]} />
  </section>;
}
