import { strict as assert } from "node:assert";
import { test } from "node:test";
import { matches, parseFilter, searchable, memberOf, withMember } from "./filter.ts";

const row = ["web-1", "running", "default"];
const member = (name: string): string | undefined => ({ status: "running", ns: "default" })[name];
const kept = (text: string): boolean => matches(parseFilter(text), searchable(row), member);

test("all words must be there, in any case", () => {
  assert.ok(kept(""));
  assert.ok(kept("  WEB run "));
  assert.ok(!kept("web dead"));
});

test("a key looks in one member; an unknown one is a word", () => {
  assert.ok(kept("status=run"));
  assert.ok(!kept("status=default"));
  assert.ok(!kept("what=web"));
  assert.ok(kept("web="  .slice(0, 3)));
});

test("one member of a filter is chosen and taken out, other words stay", () => {
  assert.equal(withMember("Web status=dead", "type", "batch"), "Web status=dead type=batch");
  assert.equal(withMember("Web status=dead type=batch", "status", ""), "Web type=batch");
  assert.equal(withMember("status=dead", "status", "running"), "status=running");
  assert.equal(memberOf("web Status=Dead", "status"), "dead");
  assert.equal(memberOf("web", "status"), "");
});
