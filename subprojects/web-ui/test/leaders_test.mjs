// Three servers, of which the one that leads is killed: pages that a follower serves go on, live, without a reload.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const job = (name) => `job "${name}" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/sleep"\n        args    = ["3600"]\n      }\n    }\n  }\n}\n`;

export default async function tests(program, { check, wants }) {
  if (!wants("leaders: ")) return;
  const servers = [0, 1, 2].map(() => new Agent(program, "", []));
  let browser;
  try {
    await startTogether(servers);
    browser = await Browser.open();
    await rows(servers, browser, check);
  } finally {
    await browser?.close();
    for (const server of servers.slice().reverse()) await server.destroy();
  }
}

/** All are servers and clients, so that whoever is left runs jobs. */
async function startTogether(servers) {
  for (const server of servers) await server.choosePorts();
  const join = servers.map((server) => `"127.0.0.1:${server.serf}"`).join(", ");
  servers.forEach((server, number) => {
    server.extra = `name = "s${number + 1}"\nbind_addr = "127.0.0.1"\nserver {\n  enabled = true\n  bootstrap_expect = 3\n  server_join {\n    retry_join = [${join}]\n    retry_interval = "1s"\n  }\n}\n`
      + 'client {\n  enabled = true\n}\nplugin "raw_exec" {\n  config {\n    enabled = true\n  }\n}\n';
  });
  await Promise.all(servers.map((server) => server.start()));
  await until("the nodes are ready", async () => (await servers[0].get("/v1/nodes")).filter((node) => node.Status === "ready").length === 3);
}

async function rows(servers, browser, check) {
  await check("leaders: the leader is killed, and a page of another server goes on", async () => {
    const leader = await servers[0].get("/v1/status/leader");
    const led = servers.find((server) => leader === `127.0.0.1:${server.rpc}`);
    const other = servers.find((server) => server !== led);
    await other.run(job("before"));
    await other.running("before");
    const page = await browser.page(other.url);
    await page.goTo("/ui/jobs");
    const grid = page.getByRole("grid", { name: "Jobs" });
    await grid.getByRole("link", { name: "before", exact: true }).waitFor();
    await until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
    await page.evaluate(() => { document.documentElement.dataset.kept = "yes"; });
    led.process.kill("SIGKILL");
    await until("another one leads", async () => ![leader, ""].includes(await other.get("/v1/status/leader")));
    await until("jobs are taken again", async () => { await other.run(job("after")); return true; });
    await grid.getByRole("link", { name: "after", exact: true }).waitFor();
    await grid.getByRole("row", { name: /after.*running/ }).waitFor();
    assert.equal(await grid.getByRole("link", { name: "before", exact: true }).count(), 1);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.kept), "yes", "the page was not loaded anew");
    await page.goTo("/ui/servers");
    await page.getByRole("row", { name: /s\d.*leader/i }).first().waitFor();
    await page.context().close();
  });
}
