import { strict as assert } from "node:assert";
import { test } from "node:test";
import { valuesOf } from "./variable_values.ts";

const source = `variable "name" { default = "x" }
variable "text" {
  description = "as it is"
  type        = string
}
variable "zones" { type = list(string) }`;

test("flags become lines, in the order of their names", () => {
  assert.equal(valuesOf({ Source: source, VariableFlags: { name: "web", count: "3" } }), 'count = "3"\nname = "web"\n');
  assert.equal(valuesOf({ Source: source, Variables: 'name = "a"', VariableFlags: { count: "3" } }), 'name = "a"\ncount = "3"\n');
  assert.equal(valuesOf({ Source: source, Variables: 'name = "a"' }), 'name = "a"');
  assert.equal(valuesOf({ Source: source, VariableFlags: null }), "");
});

test("nothing in a value is read as HCL", () => {
  assert.equal(valuesOf({ Source: source, VariableFlags: { name: 'a "b" \\b\n${c} %{d}\f' } }), 'name = "a \\"b\\" \\\\b\\n$${c} %%{d}\\u000c"\n');
});

test("lists and maps are expressions, but not in what the job calls a string", () => {
  assert.equal(valuesOf({ Source: source, VariableFlags: { zones: '["a", "b"]', text: '["a"]' } }), 'text = "[\\"a\\"]"\nzones = ["a", "b"]\n');
});
