// Two regions: pages of the one are of the other as soon as it is chosen, they live by its events, and their address says it.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const job = (name) => `job "${name}" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/sleep"\n        args    = ["3600"]\n      }\n    }\n  }\n}\n`;

export default async function tests(program, { check, wants }) {
  if (!wants("regions: ")) return;
  const eu = new Agent(program, 'region = "eu"\nserver {\n  authoritative_region = "eu"\n}');
  let us;
  let browser;
  try {
    await eu.start();
    us = new Agent(program, `region = "us"\nserver {\n  authoritative_region = "eu"\n  server_join {\n    retry_join = ["127.0.0.1:${eu.rpc}"]\n  }\n}`);
    await us.start();
    await until("they know of each other", async () => (await eu.get("/v1/regions")).length === 2);
    await eu.run(job("there"));
    await us.run(job("here"));
    browser = await Browser.open();
    await rows(eu, us, browser, check);
  } finally {
    await browser?.close();
    await us?.destroy();
    await eu.destroy();
  }
}

async function rows(eu, us, browser, check) {
  await check("regions: another region is chosen, and the page stays", async () => {
    const page = await browser.page(us.url);
    await page.goTo("/ui/jobs");
    const grid = page.getByRole("grid", { name: "Jobs" });
    await grid.getByRole("link", { name: "here", exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Region" }).selectOption("eu");
    await grid.getByRole("link", { name: "there", exact: true }).waitFor();
    assert.equal(await grid.getByRole("link", { name: "here", exact: true }).count(), 0);
    assert.equal(page.url(), `${us.url}/ui/jobs?region=eu`);
    await until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
    await eu.run(job("later"));
    await grid.getByRole("link", { name: "later", exact: true }).waitFor();
    await grid.getByRole("link", { name: "later", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "later" }).waitFor();
    assert.equal(page.url(), `${us.url}/ui/jobs/later@default?region=eu`);
    const alloc = await eu.running("later");
    await page.getByRole("table", { name: "Allocations", exact: true }).getByRole("link", { name: alloc.ID.slice(0, 8) }).waitFor();
    const [tab] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: alloc.ID.slice(0, 8) }).click({ modifiers: ["Control"] })]);
    await tab.getByRole("heading", { level: 1, name: alloc.Name }).waitFor();
    assert.equal(new URL(tab.url()).search, "?region=eu");
    await tab.close();
    await page.getByRole("combobox", { name: "Region" }).selectOption("us");
    await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "later" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "later" }).waitFor();
    assert.deepEqual(page.wrong.splice(0), []);
    await page.context().close();
  });
  await check("regions: two tabs of one browser look at two regions, each with its own events", async () => {
    const page = await browser.page(us.url);
    await page.goTo("/ui/jobs");
    const other = await page.context().newPage();
    await other.goto(`${us.url}/ui/jobs?region=eu`);
    await other.getByRole("link", { name: "there", exact: true }).waitFor();
    await page.getByRole("link", { name: "here", exact: true }).waitFor();
    await us.run(job("mine"));
    await eu.run(job("theirs"));
    await page.getByRole("link", { name: "mine", exact: true }).waitFor();
    await other.getByRole("link", { name: "theirs", exact: true }).waitFor();
    assert.equal(await page.getByRole("link", { name: "theirs", exact: true }).count(), 0);
    assert.equal(await other.getByRole("link", { name: "mine", exact: true }).count(), 0);
    await page.context().close();
  });
}
