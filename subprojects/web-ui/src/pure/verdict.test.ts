import { strict as assert } from "node:assert";
import { test } from "node:test";
import { lacks, reasonsAgainst, type Offered, type WantedBy } from "./verdict.ts";

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

test("what a client was not asked for speaks neither for it nor against it", () => {
  const { Attributes: _attributes, Meta: _meta, ...stub } = node;
  assert.deepEqual(reasonsAgainst(job([["${meta.rack}", "=", "r9"], ["${attr.cpu.arch}", "!=", "amd64"]]), "g", stub), []);
  assert.deepEqual(reasonsAgainst(job([["${node.datacenter}", "=", "x"]]), "g", stub), ["constraint: ${node.datacenter} = x; here it is dc1"]);
});

test("what a client has too little of, with the figures", () => {
  const whole = { cpu: 1_000, memory: 512, disk: 10_000 };
  const asked = { cpu: 500, memory: 600, disk: 300 };
  assert.deepEqual(lacks(asked, whole, undefined), ["memory: 600 MiB asked for, it has 512"]);
  assert.deepEqual(lacks({ ...asked, memory: 100 }, whole, { cpu: 800, memory: 0, disk: 9_900 }), ["CPU: 500 MHz asked for, 200 of 1000 are free", "disk: 300 MiB asked for, 100 of 10000 are free"]);
  assert.deepEqual(lacks({ ...asked, memory: 100 }, whole, { cpu: 500, memory: 412, disk: 0 }), []);
});
