import { strict as assert } from "node:assert";
import { test } from "node:test";
import { LogLines } from "../pure/lines.ts";

Object.assign(globalThis, { location: { search: "" } });

test("an output that is opened again replaces what it had, and leaves the other", async () => {
  const { taskFollower } = await import("./follow.ts");
  const asked = new Map<string, number>();
  const end = new AbortController();
  globalThis.fetch = (address, options) => {
    const { pathname, searchParams } = new URL(String(address), "http://agent");
    if (pathname.startsWith("/v1/allocation/")) return Promise.resolve(Response.json({ ClientStatus: "running" }));
    const output = searchParams.get("type") ?? "";
    const times = (asked.get(output) ?? 0) + 1;
    asked.set(output, times);
    // The first answer of stdout ends; the others stay open.
    const isOpen = output === "stderr" || times > 1;
    return Promise.resolve(new Response(new ReadableStream({
      start: (way) => {
        way.enqueue(new TextEncoder().encode(`${output} begins\n${times > 1 ? "and goes on\n" : ""}`));
        if (isOpen) options?.signal?.addEventListener("abort", () => way.error(new Error("aborted")));
        else way.close();
      },
    })));
  };
  const lines = new LogLines();
  const done = taskFollower("a", "t", "default")({ outputs: ["stdout", "stderr"], hasTime: false, since: "" }, lines, () => { if (asked.get("stdout") === 2 && lines.text().includes("goes on")) end.abort(); }, end.signal);
  await done;
  assert.deepEqual(lines.text().split("\n").sort(), ["stderr stderr begins", "stdout and goes on", "stdout stdout begins"]);
});

test("with times the lines come one by one, and estimates say that they are", async () => {
  const { taskFollower } = await import("./follow.ts");
  const { chooseZone } = await import("../shell/preferences.ts");
  chooseZone("UTC");
  const end = new AbortController();
  let asked = "";
  const time = Date.parse("2026-01-02T03:04:05Z") * 1e6;
  globalThis.fetch = (address, options) => {
    asked = String(address);
    return Promise.resolve(new Response(new ReadableStream({ start: (way) => {
      way.enqueue(new TextEncoder().encode(`{"Line":"one","Time":${time},"TimeBy":"file"}\n{}\n{"Line":"t`));
      way.enqueue(new TextEncoder().encode(`wo","Time":${time},"TimeBy":"line"}\n`));
      options?.signal?.addEventListener("abort", () => way.error(new Error("aborted")));
    } })));
  };
  const lines = new LogLines();
  await taskFollower("a", "t", "default")({ outputs: ["stdout"], hasTime: true, since: "15m" }, lines, () => { if (lines.text().includes("two")) end.abort(); }, end.signal);
  assert.equal(lines.text(), "~03:04:05 one\n03:04:05 two");
  assert.match(asked, /^\/v1\/client\/fs\/lines\/a\?.*since=15m.*tail=5000/);
});
