import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Newest, happenedOf, type RawEvent } from "./rows.ts";

const raw = (part: Partial<RawEvent>): RawEvent => ({ Topic: "Allocation", Type: "AllocationUpdated", Key: "a", Namespace: "default", FilterKeys: null, Index: 7, Payload: null, ...part });

test("an allocation's row has what lists show, and nothing of its tasks", () => {
  const { row, job, node } = happenedOf(raw({ Payload: { Allocation: { ID: "a", JobID: "web", NodeID: "n", ClientStatus: "running", Job: { Version: 3 }, TaskStates: { t: { Events: [1] } },
    AllocatedResources: { Tasks: { t: { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 64 } }, u: { Cpu: { CpuShares: 20 }, Memory: { MemoryMB: 1 } } } } } } }));
  assert.deepEqual([job, node], ["web", "n"]);
  assert.equal(JSON.stringify(row).includes("TaskStates"), false);
  assert.deepEqual([(row as { cpu: number }).cpu, (row as { memory: number }).memory, (row as { JobVersion: number }).JobVersion], [120, 65, 3]);
});

test("an event without its object has no row, and a job's is about itself", () => {
  assert.equal(happenedOf(raw({})).row, null);
  assert.equal(happenedOf(raw({ Topic: "Job", Key: "web", Payload: { Job: { ID: "web" } } })).job, "web");
  assert.equal(happenedOf(raw({ Topic: "Service", Payload: { Service: { JobID: "web", NodeID: "n" } } })).job, "web");
});

test("of each object the newest stays, in order", () => {
  const newest = new Newest();
  for (const [Key, Index] of [["a", 1], ["b", 2], ["a", 3]] as const) newest.add(happenedOf(raw({ Key, Index })));
  newest.add(happenedOf(raw({ Key: "a", Namespace: "other", Index: 4 })));
  assert.deepEqual(newest.take().map((event) => [event.ns, event.key, event.index]), [["default", "b", 2], ["default", "a", 3], ["other", "a", 4]]);
  assert.equal(newest.size, 0);
});
