import { strict as assert } from "node:assert";
import { test } from "node:test";
import { inFolder } from "./folders.ts";

const all = ["a", "nomad/jobs/web", "nomad/jobs/web/front", "nomad/jobs", "nomadic/x", "apps/db"].map((Path, at) => ({ Path, ModifyTime: at }));

test("what stands directly in a folder", () => {
  const top = inFolder(all, "");
  assert.deepEqual(top.folders, [{ path: "apps", count: 1, changed: 5 }, { path: "nomad", count: 3, changed: 3 }, { path: "nomadic", count: 1, changed: 4 }]);
  assert.deepEqual(top.files.map((one) => one.Path), ["a"]);
  const jobs = inFolder(all, "nomad/jobs");
  assert.deepEqual([jobs.folders.map((one) => one.path), jobs.files.map((one) => one.Path)], [["nomad/jobs/web"], ["nomad/jobs/web"]]);
  assert.deepEqual(inFolder(all, "none"), { folders: [], files: [] });
});
