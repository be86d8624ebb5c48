import { strict as assert } from "node:assert";
import { test } from "node:test";
import { shortened, visible, visibleChildren } from "./visible.ts";

test("marks that turn text round, and controls, are seen", () => {
  assert.equal(visible("a\u202egnp.exe\u2069\x1b[31m"), "a\ufffdgnp.exe\ufffd\ufffd[31m");
  assert.equal(visible("naïve\tשלום\n"), "naïve\tשלום\n");
});

test("texts of children are, at any depth; what is no text stays", () => {
  const element = { type: "b" };
  assert.deepEqual(visibleChildren(["\u202ea", [element, ["\u202eb", 7]], null]), ["\ufffda", [element, ["\ufffdb", 7]], null]);
  assert.equal(visibleChildren(undefined), undefined);
});

test("a long text says how much of it is left out", () => {
  assert.equal(shortened("short"), "short");
  assert.equal(shortened("x".repeat(3_500)), `${"x".repeat(2_000)} … 1,500 more characters`);
});
