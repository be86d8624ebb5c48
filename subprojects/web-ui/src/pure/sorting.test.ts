import { strict as assert } from "node:assert";
import { test } from "node:test";
import { directionOf, nextSort, sortedBy } from "./sorting.ts";

test("a click sorts from the least, the next from the most, the third not at all", () => {
  assert.equal(nextSort("", "Name"), "Name");
  assert.equal(nextSort("Name", "Name"), "-Name");
  assert.equal(nextSort("-Name", "Name"), "");
  assert.equal(nextSort("-Name", "Age"), "Age");
  assert.deepEqual(["Name", "-Name", "Age"].map((sort) => directionOf(sort, "Name")), ["ascending", "descending", "none"]);
});

test("numbers go by their size, texts by their letters, equal ones stay in their order", () => {
  const rows = [{ n: 10, t: "b", at: 1 }, { n: 9, t: "a", at: 2 }, { n: 10, t: "a", at: 3 }];
  const ats = (all: { at: number }[]): number[] => all.map((row) => row.at);
  assert.deepEqual(ats(sortedBy(rows, (row) => row.n, false)), [2, 1, 3]);
  assert.deepEqual(ats(sortedBy(rows, (row) => row.n, true)), [1, 3, 2]);
  assert.deepEqual(ats(sortedBy(rows, (row) => row.t, false)), [2, 3, 1]);
  assert.equal(sortedBy(rows, undefined, true), rows);
});
