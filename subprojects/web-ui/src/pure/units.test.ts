import { strict as assert } from "node:assert";
import { test } from "node:test";
import { ago, bytes, duration, percent, several } from "./units.ts";

test("sizes have three digits at most", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 104857600, 5e12].map(bytes), ["0 B", "1023 B", "1 KiB", "1.5 KiB", "100 MiB", "4.55 TiB"]);
});

test("durations have two units", () => {
  assert.deepEqual([0, 59.6, 61, 3600, 90061, -5, NaN].map(duration), ["0s", "1m", "1m 1s", "1h", "1d 1h", "0s", ""]);
});

test("an age is never negative, whatever the clock", () => {
  assert.equal(ago(1000, 66_000), "1m ago");
  assert.equal(ago(99_000, 1_000), "now");
  assert.equal(ago(0, 1_000), "");
});

test("shares and counts", () => {
  assert.equal(percent(1, 3), "33%");
  assert.equal(percent(1, 0), "");
  assert.equal(several(1, "job"), "1 job");
  assert.equal(several(12044, "job"), "12,044 jobs");
});
