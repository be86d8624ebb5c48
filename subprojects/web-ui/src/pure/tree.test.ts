import { strict as assert } from "node:assert";
import { test } from "node:test";
import { inTree, type Actor } from "./tree.ts";

const actor = (ID: number, Owner: number): Actor => ({ ID, Owner, Name: "", About: "", Policy: "", Waiting: 0, WaitingUrgent: 0, Handled: 0, Restarts: 0, LongestHandler: 0 });

test("each below its owner; one without stands at the top", () => {
  assert.deepEqual(inTree([actor(4, 2), actor(2, 0), actor(9, 77), actor(3, 2), actor(5, 3)]).map((branch) => [branch.actor.ID, branch.depth]), [[2, 0], [3, 1], [5, 2], [4, 1], [9, 0]]);
});
