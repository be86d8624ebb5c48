import { strict as assert } from "node:assert";
import { test } from "node:test";
import { lastOf, newestOf, outlineOf, seriesFor, type Series, meanOf, mostOf, summed, thinned } from "./series.ts";

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

test("few samples stand for many, and the newest stand last", () => {
  assert.deepEqual(thinned([1, 3, 5, 7, null, 9], 3, meanOf), [2, 6, 9]);
  assert.deepEqual(thinned([1, 3, 5, 7, null, 9], 3, mostOf), [3, 7, 9]);
  assert.deepEqual(thinned([4], 3, meanOf), [null, null, 4]);
  assert.deepEqual(thinned([null, null], 1, meanOf), [null]);
});

test("what several use is added up, where one of them is known", () => {
  assert.deepEqual(summed([[1, 2, null], [10, null]]), [1, 12, null]);
  assert.deepEqual(summed([]), []);
});
