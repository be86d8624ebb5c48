// Prints the figures of the UI's budgets (docs/web-ui.md). usage: figures.mjs PROGRAM [seconds of the burst]
// A real agent is asked for what it takes part in; the large lists and bursts come from a made-up one (made_up.mjs).
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";
import { MadeUp } from "./made_up.mjs";

const [program, burst = "60"] = process.argv.slice(2);
const rows = [];
const tell = (what, figure, budget) => { rows.push([what, figure, budget]); console.log(`${what}: ${figure} (budget: ${budget})`); };
const sortedOf = (numbers) => [...numbers].sort((a, b) => a - b);
const quantile = (numbers, part) => sortedOf(numbers)[Math.min(numbers.length - 1, Math.floor(numbers.length * part))] ?? 0;
const ms = (number) => `${Math.round(number)} ms`;
let registered = 0;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function sizes() {
  const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
  const names = readFileSync(join(dist, "MANIFEST"), "utf8").trim().split("\n").slice(1).map((line) => line.split(" ")[2]);
  const size = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;
  tell("everything, compressed", `${(names.reduce((sum, name) => sum + size(name), 0) / 1000).toFixed(1)} kB`, "350 kB");
}

/** Processor time of the browser's pages and workers, in seconds. */
async function cpuOf(browser) {
  const session = await browser.browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter((one) => one.type === "renderer").reduce((sum, one) => sum + one.cpuTime, 0);
}

async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/** Has a page note how long its frames take; `frames` reads and forgets them. */
const watchFrames = (page) => page.evaluate(() => {
  globalThis.frames = [];
  let before = performance.now();
  const step = () => { const now = performance.now(); globalThis.frames.push(now - before); before = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
});
const frames = (page) => page.evaluate(() => globalThis.frames.splice(0));

async function firstPaint(browser, agent) {
  const paints = [];
  const loaded = [];
  for (let attempt = 0; attempt < 7; attempt += 1) {
    const page = await browser.page(agent.url);
    const session = await page.context().newCDPSession(page);
    let received = 0;
    await session.send("Network.enable");
    session.on("Network.loadingFinished", ({ encodedDataLength }) => { received += encodedDataLength; });
    await page.goTo("/ui/jobs");
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    paints.push(await until("it is painted", () => page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime)));
    await pause(300);
    loaded.push(received);
    await page.context().close();
  }
  tell("first load of the page of jobs, all that comes over the wire", `${(quantile(loaded, 0.5) / 1000).toFixed(1)} kB`, "80 kB");
  tell("first contentful paint, cold, the middle one of 7", ms(quantile(paints, 0.5)), "300 ms");
}

async function pageChange(browser, agent) {
  const page = await browser.page(agent.url);
  await page.goTo("/ui/jobs");
  const visit = (name) => page.evaluate(async (name) => {
    const began = performance.now();
    [...document.querySelectorAll("nav a")].find((link) => link.textContent === name).click();
    while (document.querySelector("h1")?.textContent !== name || !document.querySelector("main [data-row]")) await new Promise(requestAnimationFrame);
    return performance.now() - began;
  }, name);
  for (const name of ["Clients", "Jobs"]) await visit(name);
  const times = [];
  for (let turn = 0; turn < 20; turn += 1) for (const name of ["Clients", "Jobs"]) times.push(await visit(name));
  tell("page change by click, data known, p95 of 40", ms(quantile(times, 0.95)), "50 ms");
  await page.context().close();
}

async function eventToScreen(browser, agent) {
  const page = await browser.page(agent.url);
  await page.goTo("/ui/clients");
  await page.locator(".grid-row").first().waitFor();
  await until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
  const node = (await agent.get("/v1/nodes"))[0].ID;
  await page.evaluate(() => {
    globalThis.seen = [];
    new MutationObserver(() => { const text = document.querySelector(".grid-row .status")?.textContent; if (globalThis.seen.at(-1)?.text !== text) globalThis.seen.push({ text, at: Date.now() }); })
      .observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
  });
  const late = [];
  for (let turn = 0; turn < 100; turn += 1) {
    const Eligibility = turn % 2 === 0 ? "ineligible" : "eligible";
    const began = Date.now();
    await agent.send("PUT", `/v1/node/${node}/eligibility`, { NodeID: node, Eligibility });
    const word = turn % 2 === 0 ? "ineligible" : "ready";
    const seen = await until("it is seen", () => page.evaluate((word) => (globalThis.seen.at(-1)?.text === word ? globalThis.seen.at(-1).at : 0), word));
    late.push(seen - began);
    await pause(30 + Math.random() * 120);
  }
  tell("a change is asked for → it is on the screen, p50 and p99 of 100", `${ms(quantile(late, 0.5))}, ${ms(quantile(late, 0.99))}`, "250 ms p99");
  await page.context().close();
}

async function idle(browser, agent) {
  const page = await browser.page(agent.url);
  await page.goTo("/ui/jobs");
  await page.locator(".grid-row").first().waitFor();
  // Ages in seconds change each second, those in minutes do not.
  await pause(Math.max(3_000, 65_000 - (Date.now() - registered)));
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const before = await cpuOf(browser);
  await pause(20_000);
  const used = (await cpuOf(browser)) - before;
  tell("idle tab, share of a core over 20 s", `${(100 * used / 20).toFixed(2)} %`, "1 %");
  tell("idle tab, requests in 20 s", String(asked.length), "0 but the stream");
  await page.context().close();
}

async function hidden(browser, agent) {
  const page = await browser.page(agent.url);
  await page.goTo("/ui/jobs/web@default");
  await page.getByRole("heading", { level: 1, name: "web" }).waitFor();
  await pause(1_500);
  await page.evaluate(() => { Object.defineProperty(document, "hidden", { value: true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); });
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  for (let turn = 0; turn < 10; turn += 1) { await agent.send("PUT", "/v1/job/web/evaluate", { JobID: "web" }); await pause(300); }
  tell("hidden tab, requests while its job was evaluated 10 times", String(asked.length), "0 but the stream");
  await page.context().close();
}

async function longList(browser, count) {
  const server = new MadeUp({ allocations: count });
  await server.start();
  const page = await browser.page(server.url);
  await page.goTo("/ui/servers");
  await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
  await watchFrames(page);
  const first = await page.evaluate(async () => {
    const began = performance.now();
    [...document.querySelectorAll("nav a")].find((link) => link.textContent === "Allocations").click();
    while (!document.querySelector(".grid-row")) await new Promise(requestAnimationFrame);
    return performance.now() - began;
  });
  const grid = page.getByRole("grid", { name: "Allocations" });
  const began = Date.now();
  await until("all are there", async () => Number(await grid.getAttribute("aria-rowcount")) > count, 120);
  const all = Date.now() - began + first;
  const loading = await frames(page);
  await pause(1_000);
  const scroll = await grid.evaluate(async (element) => {
    const times = [];
    let before = performance.now();
    for (let step = 0; step < 240; step += 1) {
      element.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
    return times;
  });
  const inDocument = await page.locator(".grid-row").count();
  const filters = [];
  for (const text of ["g[77", "failed", "node-41 running"]) filters.push(await page.evaluate(async (text) => {
    const box = document.querySelector("[data-filter]");
    const began = performance.now();
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
  }, text));
  const heap = await heapOf(page);
  const many = count.toLocaleString("en");
  tell(`${many} allocations: first rows; all of them`, `${ms(first)}; ${ms(all)}`, count > 10_000 ? "1 s" : "500 ms");
  tell(`${many} allocations: longest frame while they come`, ms(Math.max(...loading)), "100 ms");
  tell(`${many} allocations: scroll, frame p50, p95, longest`, `${ms(quantile(scroll, 0.5))}, ${ms(quantile(scroll, 0.95))}, ${ms(Math.max(...scroll))}`, "17 ms p95");
  tell(`${many} allocations: rows in the document`, String(inDocument), "200");
  tell(`${many} allocations: filtered by text, three times, two frames with it`, filters.map(ms).join(", "), "150 ms");
  tell(`${many} allocations: heap of the page`, `${Math.round(heap / 1e6)} MB`, "120 MB");
  await page.context().close();
  await server.stop();
}

async function eventBurst(browser, seconds) {
  const server = new MadeUp({ allocations: 50_000, perSecond: 1_000 });
  await server.start();
  const page = await browser.page(server.url);
  await page.goTo("/ui/allocations");
  const grid = page.getByRole("grid", { name: "Allocations" });
  await until("all are there", async () => Number(await grid.getAttribute("aria-rowcount")) > 50_000, 120);
  await pause(2_000);
  await watchFrames(page);
  const before = await cpuOf(browser);
  const sent = server.sent;
  await pause(seconds * 1_000);
  const taken = await frames(page);
  const used = ((await cpuOf(browser)) - before) / seconds;
  tell(`${Math.round((server.sent - sent) / seconds)} events a second for ${seconds} s in a list of 50,000: frame p50, p95, p99, longest`, [0.5, 0.95, 0.99, 1].map((part) => ms(quantile(taken, part))).join(", "), "100 ms longest");
  tell("… frames over 100 ms; frames a second", `${taken.filter((one) => one > 100).length}; ${(taken.length / seconds).toFixed(1)}`, "0; 60");
  tell("… share of a core, page and worker", `${Math.round(used * 100)} %`, "40 %");
  tell("… heap of the page", `${Math.round(await heapOf(page) / 1e6)} MB`, "120 MB");
  await page.context().close();
  await server.stop();
}

async function logBurst(browser) {
  const server = new MadeUp({ allocations: 10 });
  await server.start();
  const page = await browser.page(server.url);
  await page.goTo("/ui/allocations/00000001-0000-4000-8000-000000000000/t/logs");
  const log = page.getByRole("log", { name: "Logs" });
  await log.getByText(/at \d+ GET/).first().waitFor();
  await page.getByRole("searchbox", { name: "Search logs" }).fill("line 1999");
  await page.getByRole("checkbox", { name: "Follow" }).check();
  await pause(12_000);
  await watchFrames(page);
  const before = await cpuOf(browser);
  const late = [];
  for (let look = 0; look < 40; look += 1) {
    late.push(await log.evaluate((element) => Date.now() - Math.max(...[...element.textContent.matchAll(/at (\d+) GET/g)].map((found) => Number(found[1])))));
    await pause(140);
  }
  const used = (await cpuOf(browser)) - before;
  const taken = await frames(page);
  tell("log of 10,000 lines a second, searched: age of the newest line in sight, p50, longest", `${ms(quantile(late, 0.5))}, ${ms(quantile(late, 1))}`, "200 ms");
  tell("… frame p95, longest; share of a core", `${ms(quantile(taken, 0.95))}, ${ms(quantile(taken, 1))}; ${Math.round(100 * used / 5.6)} %`, "none");
  tell("… heap of the page after 18 s", `${Math.round(await heapOf(page) / 1e6)} MB`, "120 MB, 100,000 lines");
  await page.context().close();
  await server.stop();
}

async function connections(browser) {
  const server = new MadeUp({ allocations: 100 });
  await server.start();
  const page = await browser.page(server.url);
  await page.goTo("/ui/allocations");
  for (let tab = 0; tab < 9; tab += 1) { const other = await page.context().newPage(); await other.goto(`${server.url}/ui/jobs`); }
  await pause(2_000);
  tell("event streams of a browser with 10 tabs", String(server.streams), "1");
  await page.context().close();
  await server.stop();
}

const web = 'job "web" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/sleep"\n        args    = ["3600"]\n      }\n    }\n  }\n}\n';

async function main() {
  sizes();
  const agent = new Agent(program);
  const browser = await Browser.open();
  try {
    await agent.start();
    await agent.run(web);
    registered = Date.now();
    await agent.running("web");
    for (const part of [firstPaint, pageChange, eventToScreen, hidden, idle]) await part(browser, agent);
    await agent.destroy();
    for (const count of [5_000, 50_000]) await longList(browser, count);
    await eventBurst(browser, Number(burst));
    await logBurst(browser);
    await connections(browser);
  } finally {
    await browser.close();
    await agent.destroy();
  }
  console.log(`\n| what | budget | here |\n|---|---|---|\n${rows.map(([what, figure, budget]) => `| ${what} | ${budget} | ${figure} |`).join("\n")}`);
}

await main();
