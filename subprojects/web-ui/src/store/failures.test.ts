import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Failures } from "./failures.ts";
import { happenedOf } from "../pure/rows.ts";

const alloc = (ID: string, ClientStatus: string, JobID = "web") => happenedOf({ Topic: "Allocation", Type: "AllocationUpdated", Key: ID, Namespace: "apps", FilterKeys: null, Index: 7,
  Payload: { Allocation: { ID, Name: `${JobID}.g[0]`, JobID, NodeID: "node-id-0000", NodeName: "alpha", ClientStatus } } });
const deployment = (ID: string, Status: string) => happenedOf({ Topic: "Deployment", Type: "DeploymentStatusUpdate", Key: ID, Namespace: "apps", FilterKeys: null, Index: 7,
  Payload: { Deployment: { ID, JobID: "web", Status, StatusDescription: "Failed due to unhealthy allocations", TaskGroups: { g: {} } } } });
const nobodyKnows = () => false;

test("what goes well is no failure", () => {
  const failures = new Failures();
  assert.equal(failures.add([alloc("a", "running"), alloc("b", "complete"), deployment("d", "successful")]), false);
  assert.deepEqual(failures.take(nobodyKnows), { told: [], ids: [] });
});

test("what failed of one job is one message, and leads there", () => {
  const failures = new Failures();
  assert.equal(failures.add([alloc("a", "failed"), alloc("a", "failed"), alloc("b", "lost"), alloc("c", "failed", "api\u202e")]), true);
  const { told, ids } = failures.take(nobodyKnows);
  assert.deepEqual(told.map(({ title, body, href }) => [title, body, href]), [
    ["web: 2 allocations failed", "web.g[0] failed on alpha\nweb.g[0] was lost on alpha", "/ui/jobs/web@apps"],
    ["api: an allocation failed", "api.g[0] failed on alpha", "/ui/allocations/c"]]);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(failures.take(nobodyKnows).told, []);
});

test("a deployment that failed stands before its allocations, and what is known is not told again", () => {
  const failures = new Failures();
  failures.add([alloc("a", "failed"), alloc("old", "failed"), deployment("d", "failed")]);
  const { told } = failures.take((id) => id === "old");
  assert.deepEqual(told, [{ job: "web", ns: "apps", title: "web: the deployment failed", body: "Failed due to unhealthy allocations\nweb.g[0] failed on alpha", href: "/ui/jobs/web@apps/deployments" }]);
});
