import { strict as assert } from "node:assert";
import { test } from "node:test";
import { inWords, nextLaunch } from "./cron.ts";

test("schedules in words, and as they are written where words would be long", () => {
  for (const [spec, words] of [["0 2 * * *", "at 02:00 every day"], ["@daily", "at 00:00 every day"], ["*/15 * * * *", "every 15 minutes"], ["* * * * *", "every minute"], ["7 * * * *", "at minute 7 of each hour"],
    ["30 8,20 * * MON-FRI", "at 08:30, 20:30 on Monday, Tuesday, Wednesday, Thursday, Friday"], ["0 0 1 * *", "at 00:00 on day 1 of each month"], ["*/7 * * * *", "*/7 * * * *"], ["0 0 1 1 *", "0 0 1 1 *"],
    ["0 0 2 * * * *", "0 0 2 * * * *"], ["61 * * * *", "61 * * * *"]] as const) assert.equal(inWords(spec), words);
});

const at = (text: string): number => Date.parse(text);

test("when it is due next, by the clocks of its zone", () => {
  const after = at("2026-01-02T03:04:05Z");
  for (const [spec, zone, next] of [["0 2 * * *", "UTC", "2026-01-03T02:00:00Z"], ["0 4 * * *", "UTC", "2026-01-02T04:00:00Z"], ["*/15 * * * *", "", "2026-01-02T03:15:00Z"], ["0 2 * * *", "America/New_York", "2026-01-02T07:00:00Z"],
    ["0 0 31 * *", "UTC", "2026-01-31T00:00:00Z"], ["0 0 * * SUN", "UTC", "2026-01-04T00:00:00Z"], ["0 0 29 2 *", "UTC", "2028-02-29T00:00:00Z"], ["0 0 13 * FRI", "UTC", "2026-01-09T00:00:00Z"]] as const)
    assert.equal(nextLaunch(spec, zone, after), at(next), `${spec} ${zone}`);
  assert.equal(nextLaunch("0 0 30 2 *", "UTC", after), undefined);
  assert.equal(nextLaunch("never", "UTC", after), undefined);
  assert.equal(nextLaunch("0 2 * * *", "Moon/Crater", after), undefined);
});

test("a change of the clocks moves it with them", () => {
  assert.equal(nextLaunch("0 12 * * *", "Europe/Berlin", at("2026-03-28T12:00:00Z")), at("2026-03-29T10:00:00Z"));
});
