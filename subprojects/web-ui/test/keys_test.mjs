// By keys alone, on a narrow screen, in the theme that the system has, and with targets that a finger meets.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser, smallTargets } from "./browser.mjs";

const job = (name) => `job "${name}" {
  group "g" {
    network {
      port "http" {}
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo begun; sleep 3600"]
      }
    }
  }
}
`;

export default async function tests(program, { check, wants }) {
  if (!wants("keys: ") && !wants("looks: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    for (const name of ["alpha", "beta"]) await agent.run(job(name));
    const alloc = await agent.running("alpha");
    await agent.running("beta");
    await agent.send("PUT", "/v1/var/apps/db", { Path: "apps/db", Items: { ["a-key-".repeat(10)]: "b" } });
    await keys(agent, browser, check, alloc);
    await looks(agent, browser, check, alloc);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);

async function keys(agent, browser, check, alloc) {
  const page = await browser.page(agent.url);
  await check("keys: g and a letter go to each list", async () => {
    await page.goTo("/ui/servers");
    await heading(page, "Servers");
    for (const [letter, name] of Object.entries({ j: "Jobs", a: "Allocations", c: "Clients", t: "Topology", e: "Evaluations", v: "Variables", s: "Servers" })) {
      await page.keyboard.press("g");
      await page.keyboard.press(letter);
      await heading(page, name);
    }
    clean(page);
  });
  await check("keys: what is typed in the editor of jobs is text, and no key of the page", async () => {
    await page.goTo("/ui/jobs/run");
    const editor = page.getByRole("textbox", { name: "Job definition" });
    await editor.waitFor();
    await editor.click();
    await page.keyboard.press("Control+a");
    const typed = 'job "jack" { # gs ga / ? x c l';
    await page.keyboard.type(typed);
    assert.ok((await editor.textContent()).startsWith(typed), await editor.textContent());
    assert.equal(new URL(page.url()).pathname, "/ui/jobs/run");
    assert.equal(await page.getByRole("dialog").count(), 0);
    clean(page);
  });
  await check("keys: the search has the job of that name first", async () => {
    await page.goTo("/ui/servers");
    await page.keyboard.press("/");
    await page.keyboard.type("alpha");
    const found = page.getByRole("listbox", { name: "Found" }).getByRole("option");
    await found.filter({ hasText: /^alphajob$/ }).waitFor();
    assert.match(await found.first().textContent(), /^alphajob$/);
    await page.keyboard.press("Enter");
    await heading(page, "alpha");
    clean(page);
  });
  await check("keys: rows are gone through and opened, and the list of keys is asked for", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("link", { name: "beta", exact: true }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const held = await page.evaluate(() => document.activeElement.querySelector("a").textContent);
    assert.equal(held, "alpha");
    await page.keyboard.press("Enter");
    await heading(page, "alpha");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("search everything").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    clean(page);
  });
  await check("keys: l is for logs, x for a shell, s to stop; a dialog holds the focus and gives it back", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    await heading(page, alloc.Name);
    await page.getByRole("link", { name: "Logs of t" }).waitFor();
    await page.keyboard.press("l");
    await page.getByRole("log", { name: "Logs" }).getByText("begun").waitFor();
    await page.keyboard.press("x");
    await heading(page, "Exec in t");
    await page.goTo("/ui/jobs/alpha@default");
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await stop.focus();
    await page.keyboard.press("s");
    const dialog = page.getByRole("dialog", { name: "Stop job" });
    await dialog.waitFor();
    for (let press = 0; press < 8; press += 1) {
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null), true, "nothing of the page below");
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Stop");
    assert.equal((await agent.get("/v1/job/alpha")).Stop, false);
    clean(page);
  });
  await check("keys: who types on at once after / is in the search, not among the keys of the page", async () => {
    await page.goTo("/ui/jobs/alpha@default");
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await page.keyboard.type("/sbeta", { delay: 0 });
    assert.equal(await page.getByRole("combobox", { name: "Search" }).inputValue(), "sbeta");
    assert.equal(await page.getByRole("dialog").count(), 1);
    await page.keyboard.press("Escape");
    clean(page);
  });
  await check("keys: they are off in text fields and in the terminal, which Ctrl+Alt+Esc leaves", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("searchbox", { name: "Filter jobs" }).focus();
    await page.keyboard.type("gas/?jk");
    assert.equal(await page.getByRole("searchbox", { name: "Filter jobs" }).inputValue(), "gas/?jk");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await heading(page, "Jobs");
    await page.goTo(`/ui/exec/alpha/g/t?allocation=${alloc.ID}`);
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByText("Connected; Ctrl+Alt+Esc leaves the terminal").waitFor();
    const terminal = page.getByRole("group", { name: "Terminal" });
    await terminal.getByRole("textbox", { name: "Terminal input" }).focus();
    await page.keyboard.type("echo gjs/?-$((40+2))\n");
    await until("the screen", async () => (await terminal.textContent()).includes("gjs/?-42"));
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("Control+Alt+Escape");
    assert.equal(await page.evaluate(() => document.querySelector("[role=group][aria-label=Terminal]").contains(document.activeElement)), false);
    clean(page);
  });
  await page.context().close();
}

async function looks(agent, browser, check, alloc) {
  const [node] = await agent.get("/v1/nodes");
  const paths = ["jobs", "jobs/run", "jobs/alpha@default", "jobs/alpha@default/versions", "jobs/alpha@default/deployments", "jobs/alpha@default/logs", "jobs/alpha@default/timeline", "jobs/alpha@default/definition", "allocations", `allocations/${alloc.ID}`, `allocations/${alloc.ID}/logs`, `allocations/${alloc.ID}/files`,
    `allocations/${alloc.ID}/raw`, `allocations/${alloc.ID}/why`, `exec/alpha/g/t?allocation=${alloc.ID}`, "clients", `clients/${node.ID}`, "servers", "topology", "evaluations", `evaluations/${alloc.EvalID}`, "services", "variables", "variables/new", "variables/var/apps/db@default", "actors", "access", "access/policies", "settings", "settings/tokens", "what"];
  const eachPage = async (page, look) => {
    for (const path of paths) {
      await page.goTo(`/ui/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("Loading…").first().waitFor({ state: "detached" });
      await look(path);
    }
    clean(page);
  };
  for (const width of [320, 640])
    await check(`looks: no page is wider than a window of ${width} px`, async () => {
      const page = await browser.page(agent.url, { viewport: { width, height: 700 } });
      await eachPage(page, async (path) => assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, path));
      await page.context().close();
    });
  await check("looks: targets are 24 px or have room around them", async () => {
    const page = await browser.page(agent.url);
    const small = [];
    await eachPage(page, async (path) => small.push(...(await smallTargets(page)).map((one) => `${path}: ${one}`)));
    assert.deepEqual(small, []);
    await page.context().close();
  });
  await check("looks: the theme is the system's until one is chosen, before the first paint", async () => {
    const light = (page) => page.evaluate(() => { const [red] = /\d+/.exec(getComputedStyle(document.body).backgroundColor); return Number(red) > 128; });
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.page(agent.url, { colorScheme });
      await page.goTo("/ui/settings");
      await heading(page, "Settings");
      assert.equal(await light(page), colorScheme === "light");
      const other = colorScheme === "light" ? "dark" : "light";
      await page.getByRole("combobox", { name: "Theme" }).selectOption(other);
      assert.equal(await light(page), other === "light");
      await page.context().addInitScript(() => { document.addEventListener("readystatechange", () => { globalThis.early ??= document.documentElement.dataset.theme ?? "none"; }); });
      await page.reload();
      await heading(page, "Settings");
      assert.equal(await page.evaluate(() => globalThis.early), other);
      assert.deepEqual(await page.evaluate(() => { const [first] = document.scripts; return [first.type, first.async, first.defer, first.compareDocumentPosition(document.querySelector("link[rel=stylesheet]")) & 4]; }), ["", false, false, 4], "nothing is painted before it has run");
      clean(page);
      await page.context().close();
    }
  });
  await check("looks: a client that is down says so, and can be purged", async () => {
    const page = await browser.page(agent.url);
    await page.route(`**/v1/node/${node.ID}`, async (route) => { const answer = await route.fetch(); await route.fulfill({ response: answer, json: { ...(await answer.json()), Status: "down" } }); });
    await page.goTo(`/ui/clients/${node.ID}`);
    await until("down", async () => (await page.getByRole("status", { name: "Client status" }).textContent()).trim() === "down");
    await page.getByRole("button", { name: "Purge", exact: true }).waitFor();
    clean(page);
    await page.context().close();
  });
}
