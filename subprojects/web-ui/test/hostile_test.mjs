// What tasks and users write is text, whatever it is; what an agent answers may be slow, half or wrong.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";
import { MadeUp } from "./made_up.mjs";

const markup = "<img src=x onerror=alert(1)>";

const job = `job "evil<script>" {
  meta { note = "${markup}" }
  ui {
    description = "what it does ${markup}"
    link {
      label = "a script"
      url   = "javascript:alert(1)"
    }
    link {
      label = "the docs <b>"
      url   = "https://docs.example/<>"
    }
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "printf '%s\\\\n' '${markup}'; printf '\\\\033[31mred\\\\033[0m \\\\033]0;title\\\\007after\\\\n'; printf '\\\\342\\\\200\\\\256turned\\\\n'; head -c 1000000 /dev/zero | tr '\\\\0' x; echo; printf '\\\\001\\\\377\\\\376binary\\\\n'; touch \\"$NOMAD_TASK_DIR/${markup.replace("/", "")}\\"; echo end-of-it; sleep 3600"]
      }
    }
  }
}
`;

const turned = `job "turned\u202egnp.exe" {
  meta {
    note = "ends\u2069here"
  }
  constraint {
    attribute = "\${meta.rack}"
    value     = "r\u202e9"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
`;

export default async function tests(program, { check, wants }) {
  if (!wants("hostile: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    await agent.run(job);
    const alloc = await agent.running(encodeURIComponent("evil<script>"));
    await rows(agent, browser, check, alloc);
    await floods(browser, check);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);

async function rows(agent, browser, check, alloc) {
  const page = await browser.page(agent.url);
  let dialogs = 0;
  page.on("dialog", (dialog) => { dialogs += 1; void dialog.dismiss(); });
  const turnsNothing = async () => assert.equal(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.body.innerText + document.title)), false);
  const harmless = async () => {
    clean(page);
    assert.equal(dialogs, 0);
    assert.equal(await page.locator("#app img, #app script").count(), 0);
  };
  await check("hostile: names and meta", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("link", { name: "evil<script>" }).click();
    await page.getByRole("heading", { level: 1, name: "evil<script>" }).waitFor();
    await page.getByText(markup).first().waitFor();
    await harmless();
  });
  await check("hostile: what a job's owner says, and where his links lead", async () => {
    const said = page.getByRole("region", { name: "Description" });
    await said.getByText(`what it does ${markup}`).waitFor();
    assert.equal(await said.getByRole("link").count(), 1);
    assert.equal(await said.getByRole("link", { name: "the docs <b>" }).getAttribute("href"), "https://docs.example/<>");
    await harmless();
  });
  await check("hostile: a version's tag", async () => {
    await fetch(`${agent.url}/v1/job/${encodeURIComponent("evil<script>")}/versions/${encodeURIComponent("<i>golden")}/tag`, { method: "PUT", body: '{"Latest":true}' });
    await page.goTo(`/ui/jobs/${encodeURIComponent("evil<script>@default")}/versions`);
    await page.getByText("<i>golden").waitFor();
    await harmless();
  });
  await check("hostile: lines of logs", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/t/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText("end-of-it").waitFor();
    await log.getByText(markup).waitFor();
    assert.equal(await log.locator(".ansi-red").textContent(), "red");
    const text = await log.textContent();
    assert.ok(text.includes("after") && !text.includes("title"));
    assert.ok(text.includes("turned") && !text.includes("\u202e"));
    assert.ok(text.length < 100_000);
    await harmless();
  });
  await check("hostile: names of files", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/files?path=/t/local`);
    await page.getByRole("button", { name: "<img" }).waitFor();
    await harmless();
  });
  await check("hostile: what checks and events say, and a client's meta", async () => {
    const [node] = await agent.get("/v1/nodes");
    const output = `${markup}\u001b[31mred\u001b[0m \u202eturned${"x".repeat(1_000_000)}`;
    await page.route("**/v1/client/allocation/*/checks*", (route) => route.fulfill({ json: { a: { ID: "a", Check: `${markup}check`, Service: "s\u202e", Status: "failure<b>", Output: output, Timestamp: 1_700_000_000 } } }));
    await page.route(`**/v1/allocation/${alloc.ID}*`, async (route) => {
      const answer = await route.fetch();
      const whole = await answer.json();
      for (const state of Object.values(whole.TaskStates)) state.Events.push({ Type: "Driver Failure<b>", Time: Date.now() * 1e6, DisplayMessage: `${markup}\u202e ${"y".repeat(1_000_000)}` });
      await route.fulfill({ response: answer, json: whole });
    });
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    const checks = page.getByRole("table", { name: "Checks", exact: true });
    await checks.getByText(`${markup}red \ufffd`).or(checks.getByText(`${markup}red turned`)).waitFor();
    await page.getByRole("table", { name: "Tasks", exact: true }).getByText(markup).waitFor();
    await page.getByRole("navigation", { name: "Allocation" }).getByRole("link", { name: "Events" }).click();
    await page.getByRole("table", { name: "Events", exact: true }).getByText(markup).waitFor();
    assert.ok((await page.evaluate(() => document.querySelector("main").textContent.length)) < 50_000, "of a megabyte no more than one reads");
    await page.unrouteAll();
    await agent.send("POST", "/v1/client/metadata", { NodeID: node.ID, Meta: { "k<b>": `${markup}\u202e${"z".repeat(100_000)}` } }).catch(() => agent.send("POST", "/v1/client/metadata", { NodeID: node.ID, Meta: { kind: `${markup}\u202e${"z".repeat(100_000)}` } }));
    await page.goTo(`/ui/clients/${node.ID}`);
    await page.getByText("Meta", { exact: true }).click();
    await page.getByText(`${markup}\ufffdzzz`).waitFor();
    await turnsNothing();
    await harmless();
  });
  await check("hostile: marks that turn text round stand in no page", async () => {
    await agent.run(turned);
    await agent.send("PUT", `/v1/var/${encodeURIComponent("apps/bidi")}`, { Path: "apps/bidi", Items: { [`key\u202e<b>`]: `value\u2066 ${markup}` } });
    const at = encodeURIComponent("turned\u202egnp.exe");
    for (const path of ["jobs", `jobs/${at}@default`, `jobs/${at}@default/definition`, `jobs/${at}@default/evaluations`, "evaluations", "variables", "variables/var/apps/bidi@default", `jobs/run?job=${at}&namespace=default`]) {
      await page.goTo(`/ui/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("Loading…").first().waitFor({ state: "detached" });
      if (path === "jobs") await page.getByRole("link", { name: "turned\ufffdgnp.exe" }).waitFor();
      if (path.startsWith("variables/var")) { await page.getByRole("button", { name: "Show values" }).click(); await page.getByText(`value\ufffd ${markup}`).waitFor(); }
      await turnsNothing();
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("turned");
    await page.getByRole("option", { name: /turned\ufffdgnp/ }).first().click();
    await page.getByRole("heading", { level: 1, name: "turned\ufffdgnp.exe" }).waitFor();
    await harmless();
  });
  const [node] = await agent.get("/v1/nodes");
  const pages = ["jobs", `jobs/${encodeURIComponent("evil<script>")}@default`, `jobs/${encodeURIComponent("evil<script>")}@default/versions`, `jobs/${encodeURIComponent("evil<script>")}@default/logs`, "jobs/run", "allocations", `allocations/${alloc.ID}`, `allocations/${alloc.ID}/t/logs`, `allocations/${alloc.ID}/files`,
    `allocations/${alloc.ID}/why`, "clients", `clients/${node.ID}`, "servers", "topology", "evaluations", `evaluations/${alloc.EvalID}`, "services", "variables", "variables/var/apps/bidi@default", "actors", "access", "settings", "settings/tokens"];
  const kinds = { "500": (route) => route.fulfill({ status: 500, body: `boom ${markup}` }), "half a JSON": (route) => route.fulfill({ status: 200, contentType: "application/json", body: '[{"ID":"half' }),
    "another JSON": (route) => route.fulfill({ json: null }), "nothing at all": () => undefined, "no answer": (route) => route.abort("connectionreset") };
  for (const [kind, act] of Object.entries(kinds))
    await check(`hostile: every page where the agent answers ${kind}`, async () => {
      await page.route("**/v1/**", act);
      for (const path of pages) {
        await page.goTo(`/ui/${path}`);
        await page.getByRole("heading", { level: 1 }).first().waitFor().catch(() => { throw new Error(`${path} has no heading`); });
        await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Servers", exact: true }).waitFor();
        await page.waitForTimeout(150);
        assert.deepEqual(page.wrong.splice(0), [], path);
        if (kind === "500" && !/run|settings/.test(path)) await page.getByText(/boom/).first().waitFor().catch(() => { throw new Error(`${path} says nothing`); });
      }
      await harmless();
      await page.unrouteAll({ behavior: "ignoreErrors" });
    });
  for (const hours of [5, -5])
    await check(`hostile: a browser whose clock is ${Math.abs(hours)} hours ${hours > 0 ? "ahead" : "behind"}`, async () => {
      const other = await browser.page(agent.url);
      await other.addInitScript((off) => { const { now } = Date; Date.now = () => now() + off; }, hours * 3_600_000);
      await other.goTo(`/ui/jobs/${encodeURIComponent("evil<script>")}@default`);
      const [{ CreateTime: created }] = await agent.get(`/v1/job/${encodeURIComponent("evil<script>")}/allocations`);
      const age = other.getByRole("table", { name: "Allocations", exact: true }).locator("time").first();
      await until("it is as old as it is", async () => { const said = /^(\d+)([sm]) ago$/.exec(await age.textContent()); return said && Math.abs(Number(said[1]) * (said[2] === "m" ? 60 : 1) - (Date.now() - created / 1e6) / 1000) < 65; });
      await other.goTo("/ui/settings");
      await other.getByText(`This browser's clock is 5h ${hours > 0 ? "ahead of" : "behind"} the agent's`).waitFor();
      assert.deepEqual(other.wrong.splice(0), []);
      await other.context().close();
    });
  await check("hostile: an agent that answers 500, half a JSON, or late", async () => {
    const answers = [{ status: 500, body: "boom" }, { status: 200, body: '[{"ID":"half' }];
    await page.route("**/v1/jobs?*", (route) => { const answer = answers.shift(); return answer ? route.fulfill(answer) : route.continue(); });
    await page.goTo("/ui/servers");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("alert").getByText(/boom|cut off/).waitFor();
    await page.unroute("**/v1/jobs?*");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Servers", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: "evil<script>" }).waitFor();
    await until("nobody is troubled", async () => (await page.getByRole("alert").count()) === 0);
    await harmless();
  });
  await page.context().close();
}

/** A task that writes more than a page can show: of a server that is made up, which writes as fast as it can. */
async function floods(browser, check) {
  for (const [what, options] of [["100,000 lines a second", { linesPerSecond: 100_000 }], ["lines of a megabyte, 30 a second", { linesPerSecond: 30, lineBytes: 1_000_000 }]])
    await check(`hostile: a task that writes ${what}`, async () => {
      const server = new MadeUp({ allocations: 10, ...options });
      await server.start();
      const page = await browser.page(server.url);
      await page.goTo("/ui/allocations/00000001-0000-4000-8000-000000000000/t/logs");
      const log = page.getByRole("log", { name: "Logs" });
      await log.getByText(/at \d+ GET/).first().waitFor();
      await page.getByRole("searchbox", { name: "Search logs" }).fill("line 19");
      await page.waitForTimeout(8_000);
      const late = await log.evaluate((element) => Date.now() - Math.max(...[...element.textContent.matchAll(/at (\d+) GET/g)].map((found) => Number(found[1]))));
      // It answers to its user meanwhile.
      const began = Date.now();
      await page.getByRole("checkbox", { name: "Follow" }).uncheck();
      const answered = Date.now() - began;
      const session = await page.context().newCDPSession(page);
      await session.send("HeapProfiler.collectGarbage");
      const { usedSize } = await session.send("Runtime.getHeapUsage");
      console.log(`  ${Math.round(server.written / 8)} lines a second were taken; the newest in sight is ${late} ms old; a click took ${answered} ms; heap ${Math.round(usedSize / 1e6)} MB; ${await page.getByRole("status", { name: "Hits" }).textContent()}`);
      assert.ok(usedSize < 200e6);
      assert.ok(answered < 5_000);
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Servers", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
      assert.deepEqual(page.wrong.splice(0), []);
      await page.context().close();
      await server.stop();
    });
}
