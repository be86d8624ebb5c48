import { strict as assert } from "node:assert";
import { test } from "node:test";
import { chainOf, type Linked } from "./chain.ts";

const one = (ID: string, CreateIndex: number, links: Partial<Linked> = {}): Linked => ({ ID, CreateIndex, PreviousEval: "", NextEval: "", BlockedEval: "", ...links });

test("each stands right of what it came of", () => {
  const chain = chainOf([one("c", 3, { PreviousEval: "b" }), one("a", 1, { BlockedEval: "b" }), one("b", 2, { PreviousEval: "a", NextEval: "c" }), one("d", 4, { PreviousEval: "b" })]);
  assert.deepEqual(chain.placed.map(({ node, column, row }) => `${node.ID}${column}${row}`), ["a00", "b10", "c20", "d21"]);
  assert.deepEqual(chain.lines.map(({ from, to, kind }) => `${from}${to} ${kind}`), ["ab blocked", "bc next", "bd next"]);
  assert.deepEqual([chain.columns, chain.rows], [3, 2]);
});

test("links to what is not there, to itself or in a ring lead nowhere", () => {
  const chain = chainOf([one("a", 1, { PreviousEval: "gone", NextEval: "a" }), one("b", 2, { NextEval: "c" }), one("c", 3, { NextEval: "b" })]);
  assert.equal(chain.placed.length, 3);
  assert.ok(chain.lines.every(({ from, to }) => from !== to));
  assert.deepEqual(chainOf([]), { placed: [], lines: [], columns: 0, rows: 0 });
});
