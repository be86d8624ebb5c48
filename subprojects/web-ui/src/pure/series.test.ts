import { strict as assert } from "node:assert";
import { test } from "node:test";
import { lastOf, newestOf, outlineOf, seriesFor, type Series } from "./series.ts";

const series = (Interval: number, CPU: (number | null)[]): Series => ({ Interval, End: 1_000, CPU, Memory: CPU, Network: CPU });

test("the finest series that fits a picture, unless it has just begun", () => {
  const fine = series(10, new Array(360).fill(1));
  const coarse = series(300, new Array(288).fill(1));
  assert.equal(seriesFor([coarse, fine], 3_600), fine);
  assert.equal(seriesFor([coarse, fine], 86_400), coarse);
  const begun = series(10, [1, 2, 3]);
  assert.equal(seriesFor([series(300, [1]), begun], 3_600), begun);
  assert.equal(seriesFor([series(300, [1]), begun], 86_400), begun);
  assert.equal(seriesFor([series(300, [])], 60), undefined);
});

test("the last of the samples, and the newest that was taken", () => {
  assert.deepEqual(lastOf(series(10, [1, 2, 3, 4]), "CPU", 20), [3, 4]);
  assert.deepEqual(lastOf(series(10, [1]), "CPU", 30), [null, null, 1]);
  assert.equal(newestOf([1, 2, null]), 2);
  assert.equal(newestOf([null]), undefined);
});

test("an outline has gaps, and stays in its box", () => {
  assert.equal(outlineOf([0, 5, null, 20], 30, 10, 10), "M0 10h.1L10 5M30 0h.1");
  assert.equal(outlineOf([], 30, 10, 10), "");
  assert.equal(outlineOf([3], 30, 10, 0), "M0 10h.1");
});
