import { strict as assert } from "node:assert";
import { test } from "node:test";
import { happeningsOf, lanesOf, type PastAlloc } from "./timeline.ts";

const ms = 1e6;
const alloc = (part: Partial<PastAlloc>): PastAlloc => ({ ID: "a", Name: "web.g[0]", JobVersion: 0, ClientStatus: "running", CreateTime: 100 * ms, ModifyTime: 200 * ms, NodeName: "one", ...part });

test("a slot has one lane, with what ran there one after the other; numbers count as numbers", () => {
  const lanes = lanesOf([alloc({ ID: "new", CreateTime: 300 * ms, JobVersion: 1 }), alloc({ ID: "old", ClientStatus: "failed" }), alloc({ ID: "ten", Name: "web.g[10]" }), alloc({ ID: "two", Name: "web.g[2]" })], 0, 1_000);
  assert.deepEqual(lanes.map((lane) => lane.name), ["web.g[0]", "web.g[2]", "web.g[10]"]);
  assert.deepEqual(lanes[0]?.bars.map(({ id, from, to, version }) => [id, from, to, version]), [["old", 100, 200, 0], ["new", 300, 1_000, 1]]);
});

test("what is over ends when its last task did, and is not there if that was before", () => {
  const TaskStates = { t: { FinishedAt: "1970-01-01T00:00:00.150Z", Events: null }, u: { FinishedAt: "0001-01-01T00:00:00Z", Events: null } };
  assert.equal(lanesOf([alloc({ ClientStatus: "complete", TaskStates })], 0, 1_000)[0]?.bars[0]?.to, 150);
  assert.deepEqual(lanesOf([alloc({ ClientStatus: "complete", TaskStates })], 151, 1_000), []);
});

test("what happened is told the newest first: versions, places, and what became of tasks", () => {
  const TaskStates = { t: { FinishedAt: null, Events: [{ Type: "Started", Time: 150 * ms, DisplayMessage: "" }, { Type: "Terminated", Time: 400 * ms, DisplayMessage: "Exit Code: 3" }] } };
  assert.deepEqual(happeningsOf([alloc({ TaskStates })], [{ Version: 1, SubmitTime: 90 * ms }, { Version: 0, SubmitTime: 10 * ms }], 50).map(({ at, text }) => `${at} ${text}`),
    ["400 web.g[0], t: Terminated, Exit Code: 3", "100 web.g[0] was placed on one", "90 version 1 was submitted"]);
});
