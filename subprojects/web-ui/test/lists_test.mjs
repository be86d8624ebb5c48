// What every list does: several rows at once, columns, density, choices in the address, the use of what is in sight; and what every
// object has: its ID, its command, itself as the API has it.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser, axeFindings } from "./browser.mjs";

const sleeper = (name, { type = "service", count = 1, more = "" } = {}) => `job "${name}" {
  type = "${type}"
  group "g" {
    count = ${count}
    network {
      port "http" {}
    }
    ${more}
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources {
        cpu    = 40
        memory = 20
      }
    }
  }
}
`;

export default async function tests(program, { check, wants }) {
  if (!wants("lists: ") && !wants("objects: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    for (const name of ["alpha", "beta", "gamma"]) await agent.run(sleeper(name, { count: name === "gamma" ? 2 : 1 }));
    await agent.run(sleeper("delta", { type: "batch" }));
    for (const name of ["alpha", "beta", "gamma", "delta"]) await agent.running(name);
    await lists(agent, browser, check);
    await objects(agent, browser, check);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);
const rowOf = (page, name) => page.locator(".grid-row").filter({ has: page.getByRole("link", { name, exact: true }) });
const columns = (page) => page.getByRole("columnheader").allTextContents();

/** Made-up use of everything, and how many of these were asked for at once. */
async function withUse(page, cpu = 10, memory = 5 * 1024 * 1024) {
  const asked = { now: 0, most: 0, all: [] };
  await page.route("**/v1/client/metrics/history?*", async (route) => {
    asked.now += 1;
    asked.most = Math.max(asked.most, asked.now);
    asked.all.push(new URL(route.request().url()).search);
    await new Promise((resolve) => setTimeout(resolve, 30));
    asked.now -= 1;
    await route.fulfill({ json: [{ Task: "t", Restarts: 0, Reserved: { CPU: 40, MemoryMB: 20 }, Advice: [], P95: { CPU: 0, Memory: 0, Seconds: 0 },
      Series: [{ Interval: 10, End: 1_700_000_000, CPU: [cpu / 2, cpu / 2, cpu], Memory: [memory, memory, memory], Network: [null, null, null] }] }] });
  });
  return asked;
}

async function lists(agent, browser, check) {
  const page = await browser.page(agent.url);
  await check("lists: several jobs are stopped and started at once, and one that refuses is named", async () => {
    await page.goTo("/ui/jobs");
    await rowOf(page, "alpha").getByRole("checkbox", { name: "Select alpha" }).check();
    await rowOf(page, "beta").focus();
    await page.keyboard.press("Space");
    await page.getByRole("status", { name: "Selection" }).getByText("2 jobs selected").waitFor();
    await page.getByRole("button", { name: "Stop 2 jobs", exact: true }).click();
    await page.route("**/v1/job/beta?*", (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 500, body: "beta will not" }) : route.continue()));
    const dialog = page.getByRole("dialog", { name: "Stop 2 jobs" });
    await dialog.getByRole("button", { name: "Stop", exact: true }).click();
    await dialog.getByRole("alert").getByText("1 of 2 jobs stopped. beta: beta will not").waitFor();
    await page.unroute("**/v1/job/beta?*");
    await dialog.getByRole("button", { name: "Stop", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    for (const name of ["alpha", "beta"]) await rowOf(page, name).getByText("dead", { exact: true }).waitFor();
    assert.equal(await page.getByRole("status", { name: "Selection" }).count(), 0, "nothing is selected afterwards");
    await page.getByRole("checkbox", { name: "Select all jobs shown" }).check();
    await page.getByRole("button", { name: "Start 2 jobs", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start", exact: true }).click();
    for (const name of ["alpha", "beta"]) await rowOf(page, name).getByText("running", { exact: true }).waitFor();
    clean(page);
  });
  await check("lists: allocations and clients have their deeds for several", async () => {
    await page.goTo("/ui/allocations?filter=gamma");
    await until("both", async () => (await page.locator(".grid-row").count()) === 2);
    await page.getByRole("checkbox", { name: "Select all allocations shown" }).check();
    await page.getByRole("button", { name: "Restart 2 allocations" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart", exact: true }).click();
    await until("each was", async () => (await agent.get("/v1/job/gamma/allocations")).every((alloc) => alloc.TaskStates.t.Restarts === 1));
    await page.goTo("/ui/clients");
    await page.locator(".grid-row").getByRole("checkbox").check();
    await page.getByRole("button", { name: "Make ineligible 1 client" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Make ineligible", exact: true }).click();
    await page.locator(".grid-row").getByText("ineligible", { exact: true }).waitFor();
    await page.locator(".grid-row").getByRole("checkbox").check();
    await page.getByRole("button", { name: "Make eligible 1 client" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Make eligible", exact: true }).click();
    await page.locator(".grid-row").getByText("ready", { exact: true }).waitFor();
    clean(page);
  });
  await check("lists: columns are chosen, and kept for this list alone", async () => {
    await page.goTo("/ui/jobs");
    await rowOf(page, "alpha").waitFor();
    assert.ok(!(await columns(page)).includes("Priority"));
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("checkbox", { name: "Priority" }).check();
    await page.getByRole("checkbox", { name: "Changed" }).uncheck();
    await until("they are", async () => { const now = await columns(page); return now.includes("Priority") && !now.includes("Changed"); });
    await page.reload();
    await rowOf(page, "alpha").getByText("50", { exact: true }).waitFor();
    await page.goTo("/ui/evaluations");
    await page.locator(".grid-row").first().waitFor();
    assert.ok((await columns(page)).includes("Created"));
    clean(page);
  });
  await check("lists: what there are few of is chosen beside the filter, and stands in the address with the order", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("combobox", { name: "Only of a type" }).selectOption("batch");
    await until("only these", async () => (await page.locator(".grid-row").count()) === 1);
    await page.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
    const { searchParams } = new URL(page.url());
    assert.deepEqual([searchParams.get("filter"), searchParams.get("sort")], ["type=batch", "Name"]);
    await page.reload();
    await rowOf(page, "delta").waitFor();
    assert.equal(await page.getByRole("searchbox", { name: "Filter jobs" }).inputValue(), "type=batch");
    clean(page);
  });
  await check("lists: density and time zone are chosen, and kept", async () => {
    await page.goTo("/ui/settings");
    await page.getByRole("combobox", { name: "Density of lists" }).selectOption("compact");
    await page.getByRole("combobox", { name: "Time zone" }).selectOption("UTC");
    await page.goTo("/ui/jobs/alpha@default");
    await page.getByRole("table", { name: "Allocations", exact: true }).locator("time[title$=UTC]").first().waitFor();
    await page.goTo("/ui/allocations");
    assert.equal((await page.locator(".grid-row").first().boundingBox()).height, 28);
    await page.goTo("/ui/settings");
    await page.getByRole("combobox", { name: "Density of lists" }).selectOption("comfortable");
    await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole("combobox", { name: "Theme" }).selectOption("system");
    clean(page);
  });
  await page.context().close();
  await check("lists: jobs show what they use and their version; it is read one after the other, and not again soon", async () => {
    await agent.run(sleeper("alpha", { more: 'meta { changed = "yes" }' }));
    const { Version: version } = await agent.get("/v1/job/alpha");
    await agent.running("alpha", version);
    const page = await browser.page(agent.url);
    const asked = await withUse(page);
    await page.goTo("/ui/jobs");
    await rowOf(page, "alpha").getByText(`v${version}`).waitFor();
    await rowOf(page, "alpha").getByText("25%").first().waitFor();  // 10 of 40 MHz, 5 of 20 MiB
    await rowOf(page, "gamma").getByText("25%").first().waitFor();  // of both its allocations
    await until("both are summed", async () => (await rowOf(page, "gamma").locator(".spark").first().getAttribute("title")) === "20 MHz of 80 MHz");
    assert.match(await rowOf(page, "alpha").locator(".spark path").first().getAttribute("d"), /^M.*L/);
    assert.equal(asked.most, 1);
    assert.equal(new Set(asked.all).size, asked.all.length, "each once");
    for (const path of ["/ui/allocations", "/ui/clients", "/ui/jobs/alpha@default"]) {
      await page.goTo(path);
      await page.getByText("25%").or(page.getByText(/^\d%$/)).first().waitFor();
    }
    clean(page);
    await page.context().close();
  });
  await check("lists: a page that nobody looks at asks for no use", async () => {
    const page = await browser.page(agent.url);
    await page.addInitScript(() => { Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden ?? true }); });
    const asked = await withUse(page);
    await page.goTo("/ui/clients");
    await page.locator(".grid-row").first().waitFor();
    await page.waitForTimeout(1_000);
    assert.equal(asked.all.length, 0);
    await page.evaluate(() => { globalThis.isHidden = false; document.dispatchEvent(new Event("visibilitychange")); });
    await until("now it does", () => asked.all.length > 0);
    clean(page);
    await page.context().close();
  });
  await check("lists: servers are filtered and sorted in the address, and say how far behind they are", async () => {
    const page = await browser.page(agent.url);
    const [member] = (await agent.get("/v1/agent/members")).Members;
    await page.goTo("/ui/servers");
    const table = page.getByRole("table", { name: "Servers", exact: true });
    await table.getByText(member.Name, { exact: true }).waitFor();
    await table.getByRole("columnheader", { name: "Lag" }).waitFor();
    await page.getByRole("searchbox", { name: "Filter servers" }).fill("nothing like it");
    await table.getByText(member.Name, { exact: true }).waitFor({ state: "detached" });
    await page.getByRole("searchbox", { name: "Filter servers" }).fill(member.Name);
    await table.getByText(member.Name, { exact: true }).waitFor();
    await table.getByRole("button", { name: "Name" }).click();
    assert.equal(new URL(page.url()).searchParams.get("sort"), "Name");
    clean(page);
    await page.context().close();
  });
  for (const colorScheme of ["light", "dark"])
    await check(`lists: a selection and a menu of columns are clean for axe in the ${colorScheme} theme`, async () => {
      const page = await browser.page(agent.url, { colorScheme });
      await withUse(page);
      await page.goTo("/ui/jobs");
      await rowOf(page, "alpha").getByText("25%").first().waitFor();
      await rowOf(page, "alpha").getByRole("checkbox").check();
      await page.getByText("Columns", { exact: true }).click();
      assert.deepEqual(await axeFindings(page), []);
      clean(page);
      await page.context().close();
    });
}

async function objects(agent, browser, check) {
  const page = await browser.page(agent.url, { permissions: ["clipboard-read", "clipboard-write"] });
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const node = (await agent.get("/v1/nodes"))[0];
  const alloc = await agent.running("gamma");
  await check("objects: each has its ID, its command and itself as the API has it", async () => {
    for (const [path, id, command] of [["/ui/jobs/gamma@default", "gamma", "nomadctl job status gamma"], [`/ui/allocations/${alloc.ID}`, alloc.ID, `nomadctl alloc status ${alloc.ID}`],
      [`/ui/clients/${node.ID}`, node.ID, `nomadctl node status ${node.ID}`], [`/ui/evaluations/${alloc.EvalID}`, alloc.EvalID, `nomadctl eval status ${alloc.EvalID}`]]) {
      await page.goTo(path);
      await page.getByRole("button", { name: "Copy ID", exact: true }).click();
      await until("the ID", async () => (await clipboard()) === id);
      await page.getByRole("button", { name: "Copy command", exact: true }).click();
      await until("the command", async () => (await clipboard()) === command);
      await page.getByRole("button", { name: "Raw", exact: true }).or(page.getByRole("link", { name: "Raw", exact: true })).click();
      await page.getByRole("region", { name: /^(JSON|Allocation as the API has it)$/ }).getByText(`"ID": "${id}"`).first().waitFor();
      await page.keyboard.press("Escape");
    }
    clean(page);
  });
  await check("objects: a job's groups say what they use of what is reserved, and their ports", async () => {
    await withUse(page);
    await page.goTo("/ui/jobs/gamma@default");
    const row = page.getByRole("table", { name: "Groups", exact: true }).locator("tbody tr");
    await row.getByText("25%").first().waitFor();
    await row.getByText("http", { exact: true }).waitFor();
    await page.unroute("**/v1/client/metrics/history?*");
    clean(page);
  });
  await check("objects: of allocations that were replaced the overview tells beneath the others", async () => {
    await agent.send("PUT", `/v1/allocation/${alloc.ID}/stop`);
    await until("another one runs", async () => (await agent.get("/v1/job/gamma/allocations")).filter((one) => one.ClientStatus === "running").length === 2);
    await page.goTo("/ui/jobs/gamma@default");
    const table = page.getByRole("table", { name: "Allocations", exact: true });
    await until("two of them", async () => (await table.locator("tbody tr").count()) === 2);
    assert.equal(await table.getByRole("link", { name: alloc.ID.slice(0, 8) }).count(), 0);
    await page.getByText("History: 1 earlier allocation").click();
    await page.getByRole("table", { name: "History", exact: true }).getByRole("link", { name: alloc.ID.slice(0, 8) }).waitFor();
    clean(page);
  });
  await check("objects: what became of a job stands in its timeline", async () => {
    await page.goTo("/ui/jobs/alpha@default");
    await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: "Timeline" }).click();
    const told = page.getByRole("table", { name: "What happened" });
    await told.getByText(`version ${(await agent.get("/v1/job/alpha")).Version} was submitted`).waitFor();
    await told.getByText(/^alpha\.g\[0\] was placed on /).first().waitFor();
    const picture = page.getByRole("region", { name: "Picture of the timeline" });
    await picture.getByRole("link", { name: /^alpha\.g\[0\] .* running$/ }).waitFor();
    assert.ok((await picture.locator(".version").count()) >= 1);
    await page.getByRole("radio", { name: "24 h" }).check();
    assert.equal(new URL(page.url()).searchParams.get("span"), "24 h");
    assert.deepEqual(await axeFindings(page), []);
    clean(page);
  });
  await check("objects: a deployment says how far it is, and until when the next must be healthy", async () => {
    await agent.run(sleeper("slow", { count: 2, more: 'update {\n      min_healthy_time = "5m"\n      healthy_deadline = "10m"\n      progress_deadline = "20m"\n    }' }));
    await agent.running("slow");
    await page.goTo("/ui/jobs/slow@default");
    await page.getByText("0 of 2 healthy").waitFor();
    await page.getByText(/^deadline in (19m|20m)/).waitFor();
    await agent.send("DELETE", "/v1/job/slow?purge=true");
    clean(page);
  });
  await check("objects: each template can be planned as it is", async () => {
    await page.goTo("/ui/jobs/run");
    const choice = page.getByRole("combobox", { name: "Template" });
    const plan = page.getByRole("region", { name: "Plan", exact: true });
    await page.getByRole("textbox", { name: "Job definition" }).waitFor();
    const names = (await choice.locator("option").allTextContents()).slice(1);
    assert.ok(names.length >= 5);
    for (const name of names) {
      await choice.selectOption(name);
      await plan.getByText("press Plan").waitFor();
      await page.getByRole("button", { name: "Plan", exact: true }).click();
      await plan.getByText("Run is refused if").or(page.getByRole("alert")).first().waitFor();
      assert.equal(await page.getByRole("alert").count(), 0, name);
    }
    clean(page);
  });
  await page.context().close();
}
