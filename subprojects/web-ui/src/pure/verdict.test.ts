import { strict as assert } from "node:assert";
import { test } from "node:test";
import { reasonsAgainst, type Offered, type WantedBy } from "./verdict.ts";

const node: Offered = { ID: "n", Name: "a", Datacenter: "dc1", NodePool: "default", NodeClass: "", Status: "ready", Drain: false, SchedulingEligibility: "eligible",
  Drivers: { raw_exec: { Detected: true, Healthy: true } }, Attributes: { "cpu.arch": "amd64" }, Meta: { rack: "r1" } };
const job = (constraints: [string, string, string][] = [], driver = "raw_exec"): WantedBy => ({ Datacenters: ["dc*"], TaskGroups: [{ Name: "g", Tasks: [{ Driver: driver }] }],
  Constraints: constraints.map(([LTarget, Operand, RTarget]) => ({ LTarget, Operand, RTarget })) });

test("nothing is against a client that fits", () => {
  assert.deepEqual(reasonsAgainst(job([["${meta.rack}", "=", "r1"], ["${attr.cpu.arch}", "is_set", ""], ["${meta.rack}", "regexp", "^z"]]), "g", node), []);
});

test("each reason is named", () => {
  assert.deepEqual(reasonsAgainst(job([["${meta.rack}", "=", "r9"]], "docker"), "g", { ...node, Drain: true, Datacenter: "x" }),
    ["it drains", "it is in datacenter x, not dc*", "it has no driver docker", "constraint: ${meta.rack} = r9; here it is r1"]);
  assert.deepEqual(reasonsAgainst(job(), "g", { ...node, Status: "down", NodePool: "gpu" }), ["it is down", "it is of node pool gpu, not default"]);
});
