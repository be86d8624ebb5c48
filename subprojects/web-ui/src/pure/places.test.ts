import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Places } from "./places.ts";

const none = (): undefined => undefined;

test("what stays in sight keeps its row, what comes takes a free one", () => {
  const places = new Places();
  assert.deepEqual(places.keysOf(["a", "b", "c"], none), [0, 1, 2]);
  assert.deepEqual(places.keysOf(["b", "c", "d"], none), [1, 2, 0]);
  assert.deepEqual(places.keysOf(["d", "b"], none), [0, 1]);
  assert.deepEqual(places.keysOf(["d", "b", "x"], none), [0, 1, 3]);
});

test("the row that has the focus is not used for another object", () => {
  const places = new Places();
  places.keysOf(["a", "b"], none);
  assert.deepEqual(places.keysOf(["b", "c"], () => 0), [1, 2]);
});

test("rows do not become more than were in sight at once", () => {
  const places = new Places();
  let most = 0;
  for (let first = 0; first < 1_000; first += 7) most = Math.max(most, ...places.keysOf(Array.from({ length: 40 }, (_, at) => String(first + at)), none));
  assert.equal(most, 39);
  assert.deepEqual(places.keysOf([], none), []);
});
