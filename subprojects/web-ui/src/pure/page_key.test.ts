import { strict as assert } from "node:assert";
import { test } from "node:test";
import { keyOfPage } from "./page_key.ts";

function key(name: string, address: string, region = ""): string {
  const { pathname, searchParams } = new URL(address, "http://ui");
  return keyOfPage(name, { path: pathname.split("/").slice(1), query: searchParams }, region);
}

test("each variable is a page of its own", () => {
  assert.notEqual(key("variable", "/variables/var/apps/a@default"), key("variable", "/variables/var/apps/b@default"));
  assert.notEqual(key("variable", "/variables/var/a?namespace=one"), key("variable", "/variables/var/a?namespace=two"));
  assert.notEqual(key("variable", "/variables/var/a@default", "east"), key("variable", "/variables/var/a@default", "west"));
  assert.equal(key("variable", "/variables/var/a@default"), key("variable", "/variables/var/a@default"));
});

test("so is each job that is edited, and each task with a terminal", () => {
  assert.notEqual(key("run", "/jobs/run?job=a&namespace=default"), key("run", "/jobs/run?job=b&namespace=default"));
  assert.notEqual(key("exec", "/exec/web/g/one"), key("exec", "/exec/web/g/two"));
});

test("tabs of one object are one page, and so is a list whatever it shows", () => {
  assert.equal(key("job", "/jobs/web@default"), key("job", "/jobs/web@default/versions"));
  assert.equal(key("jobs", "/jobs?namespace=one&filter=x"), key("jobs", "/jobs?namespace=two"));
});
