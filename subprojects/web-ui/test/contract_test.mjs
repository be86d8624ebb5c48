// Each route with its words, as tests, readers of screens and docs find them.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser, axeFindings } from "./browser.mjs";

const web = (message, count = 1) => `job "web" {
  group "front" {
    count = ${count}
    network {
      port "http" {}
    }
    service {
      name     = "web-http"
      port     = "http"
      provider = "nomad"
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "i=0; while true; do echo line $i ${message}; echo oops $i >&2; i=$((i+1)); sleep 0.3; done"]
      }
      env { MESSAGE = "${message}" }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`;

const nowhere = `job "nowhere" {
  constraint {
    attribute = "\${meta.rack}"
    value     = "r9"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
`;

const main_links = ["Jobs", "Allocations", "Clients", "Servers", "Topology", "Evaluations", "Services", "Variables"];

export default async function tests(program, { check }) {
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    await agent.run(web("one"));
    await agent.running("web");
    await agent.run(web("two"));
    await agent.run(nowhere);
    const alloc = await agent.running("web", 1);
    const node = (await agent.get("/v1/nodes"))[0];
    await rows(agent, browser, check, alloc, node);
    await looks(agent, browser, check, alloc, node);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);

async function rows(agent, browser, check, alloc, node) {
  const page = await browser.page(agent.url);
  await check("any page: navigation, skip link, connection, theme, search", async () => {
    await page.goTo("/");
    await heading(page, "Jobs");
    assert.equal(new URL(page.url()).pathname, "/ui/jobs");
    const navigation = page.getByRole("navigation", { name: "Main" });
    for (const name of main_links) await navigation.getByRole("link", { name, exact: true }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    await page.getByRole("link", { name: "Skip to content" }).waitFor();
    await until("it is live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
    await page.getByRole("main").waitFor();
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await background();
    await page.getByRole("button", { name: "Theme" }).click();
    await page.getByRole("button", { name: "Theme" }).click();
    assert.notEqual(await background(), before);
    await page.reload();
    await heading(page, "Jobs");
    assert.notEqual(await background(), before, "kept");
    await page.getByRole("button", { name: "Theme" }).click();
    clean(page);
  });
  await check("search: by key, finds and opens", async () => {
    await page.goTo("/ui/servers");
    await heading(page, "Servers");
    await page.keyboard.press("Control+k");
    const box = page.getByRole("dialog", { name: "Search" }).getByRole("combobox", { name: "Search" });
    await box.fill("web");
    await page.getByRole("option", { name: "web job" }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "web");
    await page.goTo("/ui/servers");
    await heading(page, "Servers");
    await page.keyboard.press("/");
    await page.getByRole("dialog", { name: "Search" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "detached" });
    await page.goTo("/ui/jobs");
    await heading(page, "Jobs");
    await page.keyboard.press("Control+f");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Filter jobs");
    clean(page);
  });
  await check("jobs: rows, filter, live without reload", async () => {
    await page.goTo("/ui/jobs");
    const grid = page.getByRole("grid", { name: "Jobs" });
    const row = grid.getByRole("row").filter({ has: page.getByRole("link", { name: "web", exact: true }) });
    await row.getByText("running", { exact: true }).waitFor();
    await grid.getByRole("row").filter({ hasText: "nowhere" }).getByText("pending", { exact: true }).waitFor();
    await page.getByRole("searchbox", { name: "Filter jobs" }).fill("nowh");
    await grid.getByRole("link", { name: "web", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("searchbox", { name: "Filter jobs" }).fill("");
    await page.getByRole("link", { name: "Run job" }).waitFor();
    await agent.run(nowhere.replaceAll('"nowhere"', '"later"'));
    await grid.getByRole("link", { name: "later", exact: true }).waitFor();
    await agent.send("DELETE", "/v1/job/later?purge=true");
    await grid.getByRole("link", { name: "later", exact: true }).waitFor({ state: "detached" });
    clean(page);
  });
  await check("run: plan, errors with their line, run", async () => {
    await page.goTo("/ui/jobs/run");
    await heading(page, "Run job");
    const text = page.getByRole("textbox", { name: "Job definition" });
    await text.fill('job "typed" {\n  taks "a" {\n  }\n}\n');
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    assert.match(await page.getByRole("alert").textContent(), /\b2\b/);
    assert.match(await page.getByRole("alert").textContent(), /[Ll]ine 2/);
    await text.fill(web("typed", 2).replace('"web"', '"typed"').replace("web-http", "typed-http"));
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page.getByRole("region", { name: "Plan", exact: true }).getByText("2 create").waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await heading(page, "typed");
    assert.equal(new URL(page.url()).pathname, "/ui/jobs/typed@default");
    clean(page);
  });
  await check("job: status, tabs, allocations, definition, versions, evaluations", async () => {
    await page.goTo("/ui/jobs/web@default");
    await heading(page, "web");
    assert.equal((await page.getByRole("status", { name: "Job status" }).textContent()).trim(), "running");
    await page.getByRole("table", { name: "Allocations", exact: true }).getByRole("link", { name: alloc.ID.slice(0, 8) }).waitFor();
    for (const tab of ["Overview", "Definition", "Versions", "Deployments", "Allocations", "Evaluations", "Logs", "Services", "Variables"]) {
      await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: tab, exact: true }).click();
      await until(tab, () => new URL(page.url()).pathname === `/ui/jobs/web@default${tab === "Overview" ? "" : `/${tab.toLowerCase()}`}`);
    }
    await page.goTo("/ui/jobs/web@default/definition");
    await page.getByText('name     = "web-http"').waitFor();
    await page.goTo("/ui/jobs/web@default/versions");
    await page.getByText('"one"').first().waitFor();
    await page.getByText('"two"').first().waitFor();
    await page.goTo("/ui/jobs/web@default/evaluations");
    await page.getByRole("table", { name: "Evaluations", exact: true }).waitFor();
    await page.goTo("/ui/jobs/web@default/services");
    await page.getByRole("link", { name: "web-http" }).waitFor();
    clean(page);
  });
  await check("job: why it has no place", async () => {
    await page.goTo("/ui/jobs/nowhere@default");
    await page.getByText(/meta\.rack/).first().waitFor();
    await page.getByRole("link", { name: /why, node by node/ }).click();
    await heading(page, "Why");
    const row = page.getByRole("table", { name: "Nodes" }).getByRole("row").nth(1);
    await row.getByText(/meta\.rack.*r9/).waitFor();
    const folded = page.getByRole("table", { name: "Nodes that do not fit" }).getByRole("row").nth(1);
    await folded.getByText(/constraint \$\{meta\.rack\} = r9/).waitFor();
    await page.getByRole("list", { name: "One more would fit with any of these" }).getByText(/without the constraint/).waitFor();
    await page.getByRole("list", { name: "Waits" }).getByText(/is blocked/).waitFor();
    clean(page);
  });
  await check("job: stop and start", async () => {
    await page.goTo("/ui/jobs/typed@default");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop job" }).click();
    await until("it is dead", async () => (await page.getByRole("status", { name: "Job status" }).textContent()).trim() === "dead");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await until("it runs", async () => (await page.getByRole("status", { name: "Job status" }).textContent()).trim() === "running");
    clean(page);
  });
  await check("allocations: a grid with its count", async () => {
    await page.goTo("/ui/allocations");
    await heading(page, "Allocations");
    const grid = page.getByRole("grid", { name: "Allocations" });
    await grid.getByRole("link", { name: alloc.ID.slice(0, 8) }).waitFor();
    assert.ok(Number(await grid.getAttribute("aria-rowcount")) > 1);
    // What the stream tells of the time before the list was read does not make its rows old.
    await page.waitForTimeout(500);
    const row = grid.getByRole("row").filter({ has: page.getByRole("link", { name: alloc.ID.slice(0, 8) }) });
    assert.equal(await row.getByRole("gridcell", { name: "1", exact: true }).count(), 1);
    await page.getByRole("searchbox", { name: "Filter allocations" }).fill("nothing-like-this");
    await grid.getByRole("link").first().waitFor({ state: "detached" });
    clean(page);
  });
  await check("allocation: status, tabs, restart", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    await heading(page, alloc.Name);
    assert.equal((await page.getByRole("status", { name: "Allocation status" }).textContent()).trim(), "running");
    for (const tab of ["Overview", "Logs", "Files", "Events"]) await page.getByRole("navigation", { name: "Allocation" }).getByRole("link", { name: tab, exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await page.getByRole("button", { name: "Restart", exact: true }).click();
    await page.getByText("The tasks are restarted").waitFor();
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByRole("table", { name: "Events", exact: true }).getByText("Restart Signaled").first().waitFor();
    await page.getByRole("link", { name: "Files", exact: true }).click();
    await page.getByRole("button", { name: "alloc/" }).waitFor();
    await page.goTo(`/ui/allocations/${alloc.ID}/why`);
    await heading(page, "Why");
    await page.getByRole("table", { name: "Nodes" }).getByText("chosen").waitFor();
    clean(page);
  });
  await check("logs: follow, stderr, search", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/server/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText(/line \d+ two/).first().waitFor();
    assert.equal(await page.getByRole("checkbox", { name: "Follow" }).isChecked(), true);
    const last = async () => Number(/line (\d+) two\s*$/.exec((await log.textContent()).trim())?.[1] ?? -1);
    const before = await last();
    await until("it grows", async () => (await last()) > before);
    await page.getByRole("searchbox", { name: "Search logs" }).fill("/line [12] two/");
    await until("hits", async () => /[1-9]\d* hits?/.test(await page.getByRole("status", { name: "Hits" }).textContent()));
    await log.locator("mark").first().waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    assert.equal(download.suggestedFilename(), "server.stdout.log");
    await page.getByRole("radio", { name: "stderr" }).check();
    await log.getByText(/oops \d+/).first().waitFor();
    clean(page);
  });
  await check("exec: a command, its screen, its end", async () => {
    await page.goTo(`/ui/exec/web/front/server?allocation=${alloc.ID}`);
    assert.equal(await page.getByRole("textbox", { name: "Command" }).inputValue(), "/bin/sh");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    const terminal = page.getByRole("group", { name: "Terminal" });
    await page.getByText("Connected").waitFor();
    await terminal.getByRole("textbox", { name: "Terminal input" }).focus();
    await page.keyboard.type("echo $((6*7))-answer\n");
    await until("the screen", async () => (await terminal.textContent()).includes("42-answer"));
    await page.keyboard.type("exit 3\n");
    await page.getByText("The command ended with exit code 3").waitFor();
    clean(page);
  });
  await check("clients: list, client, eligibility, drain", async () => {
    await page.goTo("/ui/clients");
    await page.getByRole("grid", { name: "Clients" }).getByRole("link", { name: node.Name, exact: true }).click();
    await heading(page, node.Name);
    const status = async () => (await page.getByRole("status", { name: "Client status" }).textContent()).trim();
    await until("ready", async () => (await status()) === "ready");
    await page.getByRole("switch", { name: "Eligible" }).click();
    await until("ineligible", async () => (await status()) === "ineligible");
    await page.getByRole("switch", { name: "Eligible" }).click();
    await until("ready", async () => (await status()) === "ready");
    await page.getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("dialog", { name: "Drain client" }).getByRole("button", { name: "Start drain" }).click();
    await until("draining or done", async () => ["draining", "ineligible"].includes(await status()));
    if ((await status()) === "draining") await page.getByRole("button", { name: "Stop drain" }).click();
    else await page.getByRole("switch", { name: "Eligible" }).click();
    await until("ready", async () => (await status()) === "ready");
    clean(page);
  });
  for (const name of ["Servers", "Topology", "Evaluations", "Services"])
    await check(`${name.toLowerCase()}: a table of that name`, async () => {
      await page.goTo(`/ui/${name.toLowerCase()}`);
      await heading(page, name);
      await page.getByRole(name === "Evaluations" ? "grid" : "table", { name, exact: true }).getByRole("row").nth(1).waitFor();
      clean(page);
    });
  await check("variables: made, hidden, shown, searched", async () => {
    await page.goTo("/ui/variables");
    await page.getByRole("link", { name: "New variable" }).click();
    await heading(page, "New variable");
    await page.getByRole("textbox", { name: "Path" }).fill("apps/db");
    await page.getByRole("textbox", { name: "Key" }).fill("password");
    await page.getByRole("textbox", { name: "Value" }).fill("s3cret<b>");
    await page.getByRole("button", { name: "Save" }).click();
    await heading(page, "apps/db");
    await page.getByText("password", { exact: true }).waitFor();
    assert.equal(await page.getByText("s3cret").count(), 0);
    await page.getByRole("button", { name: "Show values" }).click();
    await page.getByText("s3cret<b>").waitFor();
    await page.goTo("/ui/variables/var/apps/db@default");
    await heading(page, "apps/db");
    clean(page);
  });
  await check("actors: a tree", async () => {
    await page.goTo("/ui/actors");
    await page.getByRole("treegrid", { name: "Actors" }).getByText("root").waitFor();
    clean(page);
  });
  await check("not found: objects and pages, with status 200", async () => {
    for (const path of ["/ui/jobs/none@default", "/ui/allocations/00000000-0000-0000-0000-000000000000", "/ui/clients/00000000-0000-0000-0000-000000000000", "/ui/evaluations/00000000-0000-0000-0000-000000000000", "/ui/variables/var/none@default", "/ui/what", "/ui/jobs/web@default/what"]) {
      const answer = await page.goTo(path);
      assert.equal(answer.status(), 200);
      await heading(page, "Not found");
      await page.getByRole("main").getByRole("link").first().waitFor();
    }
    clean(page);
  });
  await check("an agent that dies and comes back does not blank the page", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: "web", exact: true }).waitFor();
    const state = async () => (await page.getByRole("status", { name: "Connection" }).textContent()).trim();
    await until("live", async () => (await state()) === "live");
    await agent.stop("SIGKILL");
    await until("reconnecting", async () => (await state()) === "reconnecting");
    assert.equal(await page.getByRole("link", { name: "web", exact: true }).count(), 1);
    await agent.start();
    await until("live again", async () => (await state()) === "live");
    await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: "web", exact: true }).waitFor();
    clean(page);
  });
  await page.context().close();
}

async function looks(agent, browser, check, alloc, node) {
  const blocked = (await agent.get("/v1/job/nowhere/evaluations")).find((one) => one.BlockedEval) ?? { ID: "" };
  const paths = [`/ui/evaluations/${blocked.ID}`, `/ui/evaluations/${blocked.ID}/why`, `/ui/allocations/${alloc.ID}/raw`, "/ui/jobs/web@default/front", "/ui/jobs", "/ui/jobs/run", "/ui/jobs/web@default", "/ui/jobs/web@default/definition", "/ui/jobs/web@default/versions", "/ui/jobs/web@default/timeline", "/ui/jobs/web@default/logs", "/ui/jobs/nowhere@default", "/ui/allocations", `/ui/allocations/${alloc.ID}`, `/ui/allocations/${alloc.ID}/logs`,
    `/ui/allocations/${alloc.ID}/files`, `/ui/allocations/${alloc.ID}/why`, `/ui/exec/web/front/server?allocation=${alloc.ID}`, "/ui/clients", `/ui/clients/${node.ID}`, "/ui/servers", "/ui/topology", "/ui/evaluations", "/ui/services",
    "/ui/variables", "/ui/variables/new", "/ui/actors", "/ui/access", "/ui/access/quotas", "/ui/settings", "/ui/settings/tokens", "/ui/what"];
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.page(agent.url, { colorScheme });
    for (const path of paths)
      await check(`axe: ${path.replace(alloc.ID, "…").replace(node.ID, "…")} in the ${colorScheme} theme`, async () => {
        page.wrong.length = 0;
        await page.goTo(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.getByText("Loading…").first().waitFor({ state: "detached" });
        assert.deepEqual(await axeFindings(page), []);
        clean(page);
      });
    await page.context().close();
  }
}
