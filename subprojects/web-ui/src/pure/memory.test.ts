import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Memory } from "./memory.ts";

test("the newest are kept", () => {
  const memory = new Memory<number>(2);
  memory.set("", "a", 1);
  memory.set("", "b", 2);
  memory.set("", "a", 3);
  memory.set("", "c", 4);
  assert.deepEqual(["a", "b", "c"].map((key) => memory.get(key)), [3, undefined, 4]);
});

test("what is gone is forgotten", () => {
  const memory = new Memory<number>(2);
  memory.set("", "a", 1);
  memory.forget("a");
  assert.equal(memory.get("a"), undefined);
});

test("another owner begins with nothing, and what comes late for the one before is not kept", () => {
  const memory = new Memory<number>(10);
  memory.become("anna");
  memory.set("anna", "a", 1);
  memory.become("anna");
  assert.equal(memory.get("a"), 1);
  memory.become("");
  assert.equal(memory.size, 0);
  memory.set("anna", "b", 2);
  assert.equal(memory.size, 0);
});
