import { strict as assert } from "node:assert";
import { test } from "node:test";
import { diffLines } from "./diff.ts";

test("what changed stands with the old and the new value, below its block", () => {
  const field = (Type: string, Name: string, Old: string, New: string) => ({ Type, Name, Old, New });
  const none = { Fields: null, Objects: null };
  assert.deepEqual(diffLines({ Type: "Edited", Name: "", Fields: [field("None", "ID", "web", "web"), field("Edited", "Priority", "50", "60")], Objects: null,
    TaskGroups: [{ Type: "Edited", Name: "front", ...none, Tasks: [{ Type: "Edited", Name: "server", Fields: null, Objects: [{ Type: "Added", Name: "Env", Fields: [field("Added", "A", "", "b")], Objects: null }] }] } as never,
      { Type: "None", Name: "same", ...none }] }), [
    { depth: 0, mark: "~", text: "Priority", before: "50", after: "60" },
    { depth: 0, mark: "~", text: "group front" },
    { depth: 1, mark: "~", text: "task server" },
    { depth: 2, mark: "+", text: "Env" },
    { depth: 3, mark: "+", text: "A", after: "b" }]);
});
