import { strict as assert } from "node:assert";
import { test } from "node:test";
import { lineOf } from "./parse_error.ts";

test("the line of an error", () => {
  assert.equal(lineOf("input.hcl:2,3-7: Unsupported block type"), 2);
  assert.equal(lineOf("input.hcl:12,3-14,1: x"), 12);
  assert.equal(lineOf("Unexpected token at line 4"), 4);
  assert.equal(lineOf("missing datacenters"), null);
});
