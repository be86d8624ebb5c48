// Many allocations: how soon rows stand, how smoothly they scroll and are filtered, what a browser holds. Prints the figures of the
// budgets. UI_TEST_ALLOCATIONS says how many; 5,000 by default.
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const count = Number(process.env.UI_TEST_ALLOCATIONS ?? 5_000);
const nodes = 100;

function simulator(program, agent) {
  const words = ["-nodes", String(nodes), "-seed", "1", "-server", `127.0.0.1:${agent.rpc}`];
  const beside = join(dirname(program), "nomadctl-node-sim");
  const child = existsSync(beside) ? spawn(beside, words, { stdio: "ignore" }) : spawn(program, ["node-sim", ...words], { stdio: "ignore" });
  return child;
}

export default async function tests(program, { check, wants }) {
  if (!wants("scale: ")) return;
  const agent = new Agent(program);
  let browser;
  let child;
  try {
    await agent.start();
    child = simulator(program, agent);
    await until("the nodes are ready", async () => (await agent.get("/v1/nodes")).length > nodes, 60);
    const task = { Name: "t", Driver: "mock_driver", Config: { run_for: "1h" }, LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 }, Resources: { CPU: 1, MemoryMB: 10 } };
    const group = { Name: "g", Count: count, EphemeralDisk: { SizeMB: 10 }, Tasks: [task], Constraints: [{ LTarget: "${node.unique.name}", RTarget: "^sim-", Operand: "regexp" }] };
    await agent.send("PUT", "/v1/jobs", { Job: { ID: "many", Name: "many", Type: "batch", Datacenters: ["*"], TaskGroups: [group] } });
    await until("they run", async () => (await agent.get("/v1/job/many/summary")).Summary.g.Running >= count, 300);
    browser = await Browser.open();
    await rows(agent, browser, check);
    await logs(agent, browser, check);
  } finally {
    await browser?.close();
    child?.kill("SIGKILL");
    await agent.stop("SIGKILL");
    await agent.destroy();
  }
}

/** On the agent's own node: the simulated ones write nothing. */
const chatty = (node) => `job "chatty" {
  constraint {
    attribute = "\${node.unique.id}"
    value     = "${node}"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do now=$(date +%s%3N); seq 1 2000 | sed \\"s/^/at $now line /\\"; sleep 0.19; done"]
      }
    }
  }
}
`;

async function logs(agent, browser, check) {
  await check("scale: logs of 10,000 lines a second", async () => {
    const own = (await agent.get("/v1/agent/self")).stats.client.node_id;
    await agent.run(chatty(own));
    const alloc = await agent.running("chatty");
    const page = await browser.page(agent.url);
    await page.goTo(`/ui/allocations/${alloc.ID}/t/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText(/at \d+ line/).first().waitFor();
    await page.getByRole("searchbox", { name: "Search logs" }).fill("line 1999");
    await page.getByRole("checkbox", { name: "Follow" }).check();
    await page.waitForTimeout(12_000);
    const late = [];
    for (let look = 0; look < 10; look += 1) {
      late.push(await log.evaluate((element) => Date.now() - Math.max(...[...element.textContent.matchAll(/at (\d+) line/g)].map((found) => Number(found[1])))));
      await page.waitForTimeout(150);
    }
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    late.sort((a, b) => a - b);
    console.log(`  the newest line is ${late[5]} ms old (written each 200 ms), at most ${late[9]} ms; heap ${Math.round(usedSize / 1e6)} MB; ${await page.getByRole("status", { name: "Hits" }).textContent()}`);
    assert.ok(usedSize < 120e6);
    assert.deepEqual(page.wrong.splice(0), []);
    await page.context().close();
  });
}

async function rows(agent, browser, check) {
  const page = await browser.page(agent.url);
  await check(`scale: ${count} allocations in one list`, async () => {
    await page.goTo("/ui/servers");
    await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
    await page.evaluate(() => { globalThis.began = 0; });
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
    const began = Date.now();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Allocations", exact: true }).click();
    await page.locator(".grid-row").first().waitFor();
    const first = Date.now() - began;
    const grid = page.getByRole("grid", { name: "Allocations" });
    await until("all are there", async () => Number(await grid.getAttribute("aria-rowcount")) > count, 120);
    const all = Date.now() - began;
    const frames = await grid.evaluate(async (element) => {
      const times = [];
      let before = performance.now();
      for (let step = 0; step < 120; step += 1) {
        element.scrollTop += 400;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - before);
        before = now;
      }
      return times.sort((a, b) => a - b);
    });
    const inDocument = await page.locator(".grid-row").count();
    const filter = await page.evaluate(async () => {
      const box = document.querySelector("[data-filter]");
      const began = performance.now();
      box.value = "g[77";
      box.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise(requestAnimationFrame);
      return performance.now() - began;
    });
    await page.getByText(/ of .* allocations/).waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    console.log(`  first paint ${Math.round(paint)} ms; first rows ${first} ms, all ${all} ms; frames p95 ${Math.round(frames[Math.floor(frames.length * 0.95)])} ms; ${inDocument} rows in the document; filter ${Math.round(filter)} ms; heap ${Math.round(usedSize / 1e6)} MB`);
    assert.ok(inDocument <= 200);
    assert.ok(usedSize < 120e6);
    assert.deepEqual(page.wrong.splice(0), []);
  });
  await check("scale: a burst of events", async () => {
    await page.goTo("/ui/allocations");
    await page.locator(".grid-row").first().waitFor();
    await page.evaluate(() => {
      globalThis.longest = 0;
      let before = performance.now();
      const step = () => { const now = performance.now(); globalThis.longest = Math.max(globalThis.longest, now - before); before = now; requestAnimationFrame(step); };
      requestAnimationFrame(step);
    });
    await agent.send("DELETE", "/v1/job/many");
    await page.getByText("complete", { exact: true }).first().waitFor();
    await until("none run any more", async () => (await agent.get("/v1/job/many/summary")).Summary.g.Running === 0, 120);
    await page.waitForTimeout(500);
    console.log(`  longest frame while ${count} allocations stopped: ${Math.round(await page.evaluate(() => globalThis.longest))} ms`);
    await until("no row says that it runs", async () => (await page.locator(".grid-row").getByText("running", { exact: true }).count()) === 0);
    assert.deepEqual(page.wrong.splice(0), []);
  });
  await page.context().close();
}
