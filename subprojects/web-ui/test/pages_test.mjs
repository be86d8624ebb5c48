// What pages do besides the words that are fixed: launches, restarts, outputs together, plans under other circumstances, addresses of
// Nomad's UI.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const pair = `job "pair" {
  group "one" {
    count = 2
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "i=0; while true; do echo out $i; if [ $i = 30 ]; then echo needle; fi; echo err $i >&2; i=$((i+1)); sleep 0.05; done"]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
  group "two" {
    task "other" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
`;

const greet = `job "greet" {
  type = "batch"
  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo hello $NOMAD_META_who"]
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

export default async function tests(program, { check, wants }) {
  if (!wants("pages: ") && !wants("edits: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    for (const job of [pair, greet, nowhere]) await agent.run(job);
    await agent.running("pair");
    await rows(agent, await browser.page(agent.url), check);
    await edits(agent, await browser.page(agent.url), check);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);

async function rows(agent, page, check) {
  await check("pages: a list of jobs says why one is not whole, and how many there are of each", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("row", { name: /nowhere/ }).getByText(/meta\.rack.*filtered/).waitFor();
    await page.getByRole("link", { name: "1 without a place" }).click();
    await until("only this one", async () => (await page.locator(".grid-row").count()) === 1);
    await page.getByRole("row", { name: /nowhere/ }).getByRole("link", { name: "why?" }).click();
    await heading(page, "Why");
    clean(page);
  });
  await check("pages: the reason goes when the job has its place", async () => {
    await page.goTo("/ui/jobs");
    await page.getByRole("row", { name: /nowhere/ }).getByText(/meta\.rack/).waitFor();
    const node = (await agent.get("/v1/nodes"))[0];
    await page.goTo(`/ui/clients/${node.ID}`);
    await page.getByText("Meta", { exact: true }).click();
    await page.getByRole("textbox", { name: "Key" }).fill("rack");
    await page.getByRole("textbox", { name: "Value" }).fill("r9");
    await page.getByRole("button", { name: "Set", exact: true }).click();
    await page.getByText("rack is set").waitFor();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("row", { name: /nowhere/ }).waitFor();
    await until("no reason any more", async () => (await page.getByRole("row", { name: /nowhere/ }).getByText(/meta\.rack/).count()) === 0);
    clean(page);
  });
  await check("pages: a parameterized job is dispatched, and its launches stand on its page", async () => {
    await page.goTo("/ui/jobs/greet@default/dispatch");
    const dialog = page.getByRole("dialog", { name: "Dispatch job" });
    await dialog.getByRole("button", { name: "Dispatch job" }).click();
    await dialog.getByRole("alert").getByText(/who/).waitFor();
    await dialog.getByRole("textbox", { name: "who (required)" }).fill("world");
    await dialog.getByRole("button", { name: "Dispatch job" }).click();
    await page.getByRole("heading", { level: 1, name: /^greet\/dispatch-/ }).waitFor();
    await until("it is over", async () => (await page.getByRole("status", { name: "Job status" }).textContent()).trim() === "dead");
    await page.getByRole("link", { name: "greet", exact: true }).click();
    await page.getByRole("table", { name: "Launches" }).getByText("complete", { exact: true }).waitFor();
    clean(page);
  });
  await check("pages: a job is restarted in place", async () => {
    await page.goTo("/ui/jobs/pair@default");
    await page.getByRole("button", { name: "Restart", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart job" }).click();
    await page.getByText("pair is restarted").waitFor();
    await until("each was", async () => (await agent.get("/v1/job/pair/allocations")).every((alloc) => Object.values(alloc.TaskStates).every((state) => state.Restarts === 1)));
    clean(page);
  });
  await check("pages: a group has an address, as in Nomad's UI; one that is not there has none", async () => {
    await page.goTo("/ui/jobs/pair@default/two");
    await heading(page, "pair");
    await until("its allocation alone", async () => (await page.getByRole("table", { name: "Allocations", exact: true }).locator("tbody tr").count()) === 1);
    await page.goTo("/ui/jobs/pair@default/three");
    await heading(page, "Not found");
    clean(page);
  });
  const alloc = await until("one writes", async () => (await agent.get("/v1/job/pair/allocations")).find((one) => one.TaskGroup === "one" && one.ClientStatus === "running"));
  await check("pages: addresses of Nomad's UI lead where they did", async () => {
    const server = (await agent.get("/v1/agent/members")).Members[0].Name;
    for (const [from, to, name] of [[`/ui/allocations/${alloc.ID}/server/fs/local`, `/ui/allocations/${alloc.ID}/server/files?path=${encodeURIComponent("/server/local")}`, alloc.Name], ["/ui/policies", "/ui/access/policies", "Access"],
      ["/ui/access-control/roles", "/ui/access/roles", "Access"], [`/ui/servers/${server}/monitor`, `/ui/servers?monitor=${server}`, "Servers"], ["/ui/variables/path/nomad/jobs", `/ui/variables?path=${encodeURIComponent("nomad/jobs")}`, "Variables"]]) {
      await page.goTo(from);
      await heading(page, name);
      assert.equal(page.url(), agent.url + to);
    }
    clean(page);
  });
  await check("pages: both outputs together, and only the lines that were searched for", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/server/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await page.getByRole("radio", { name: "both" }).check();
    await log.getByText(/^stdout out \d+/).first().waitFor();
    await log.getByText(/^stderr err \d+/).first().waitFor();
    await page.getByRole("radio", { name: "stdout" }).check();
    await page.getByRole("searchbox", { name: "Search logs" }).fill("needle");
    await page.getByRole("checkbox", { name: "Only hits" }).check();
    await until("each with two lines on both sides", async () => {
      const hits = Number(/\d+/.exec(await page.getByRole("status", { name: "Hits" }).textContent())?.[0] ?? 0);
      return hits > 0 && (await log.locator(".line").count()) === 5 * hits && (await log.locator("mark").count()) === hits && (await log.locator(".gap").count()) === hits - 1;
    });
    clean(page);
  });
  await check("pages: lines of a log say when they were written, from when on is chosen, and both stand in the address", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/server/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText(/^out \d+/).first().waitFor();
    await page.getByRole("checkbox", { name: "Time" }).check();
    await log.getByText(/^~?\d\d:\d\d:\d\d out \d+/).first().waitFor();
    await page.getByRole("combobox", { name: "Since" }).selectOption("5m");
    await log.getByText(/^~?\d\d:\d\d:\d\d out \d+/).first().waitFor();
    await page.getByRole("searchbox", { name: "Search logs" }).fill("needle");
    await page.waitForURL((url) => url.searchParams.has("search"));
    const { searchParams } = new URL(page.url());
    assert.deepEqual(["time", "since", "search"].map((name) => searchParams.get(name)), ["on", "5m", "needle"]);
    await page.getByRole("link", { name: "The whole job's log" }).click();
    await heading(page, "pair");
    assert.equal(await page.getByRole("searchbox", { name: "Search logs" }).inputValue(), "needle");
    await log.locator("mark").first().waitFor();
    clean(page);
  });
  await check("pages: a link leads to a line of a log", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}/server/logs`);
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText(/^out \d+/).first().waitFor();
    await page.getByRole("checkbox", { name: "Follow" }).uncheck();
    assert.equal(await page.getByRole("button", { name: "Link to line" }).isDisabled(), true);
    await log.evaluate((element) => { element.scrollTop = 0; });
    await log.getByText(/^out 3$/).first().click();
    await page.getByRole("button", { name: "Link to line" }).click();
    const address = await until("it has the line", () => (new URL(page.url()).searchParams.get("line") ? page.url() : ""));
    await page.goto("about:blank");
    await page.goto(address);
    await log.locator(".line.current").getByText(/^out 3$/).waitFor();
    assert.equal(await page.getByRole("checkbox", { name: "Follow" }).isChecked(), false);
    clean(page);
  });
  await check("pages: the logs of all allocations of a job, merged", async () => {
    const line = (name, task, text, at) => JSON.stringify({ AllocID: alloc.ID, AllocName: name, Task: task, Type: "stdout", Time: (Date.parse("2026-01-02T03:04:05Z") + at * 1000) * 1e6, TimeBy: "arrival", Line: text });
    let asked;
    await page.route("**/v1/job/pair/logs?*", (route) => { asked = new URL(route.request().url()).searchParams; return route.fulfill({ contentType: "application/json",
      body: `${line("pair.one[0]", "server", "first <b>", 0)}\n{}\n${line("pair.one[1]", "server", "second", 1)}\n{"Live":true}\n{"Error":"node-9 is silent: the logs of 1 allocation are missing"}\n` }); });
    await page.goTo("/ui/jobs/pair@default/logs");
    const log = page.getByRole("log", { name: "Logs" });
    await log.getByText(/\d\d:04:05 one\[0\] server first <b>/).waitFor();
    await log.getByText(/\d\d:04:06 one\[1\] server second/).waitFor();
    await page.getByRole("alert").getByText(/node-9 is silent/).waitFor();
    assert.deepEqual([asked.get("type"), asked.get("follow"), asked.get("task")], ["stdout", "true", null]);
    await page.getByRole("combobox", { name: "Allocation" }).selectOption(alloc.ID);
    await log.getByText(/^out \d+/).first().waitFor();
    await page.unroute("**/v1/job/pair/logs?*");
    clean(page);
  });
  await check("pages: an agent that merges no logs shows those of one allocation", async () => {
    await page.route("**/v1/job/pair/logs?*", (route) => route.fulfill({ status: 404, body: "Invalid method" }));
    await page.goTo("/ui/jobs/pair@default/logs");
    await page.getByRole("log", { name: "Logs" }).getByText(/\w+ \d+/).first().waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.unroute("**/v1/job/pair/logs?*");
    clean(page);
  });
  await check("pages: where a plan would place, and what if a client were not there", async () => {
    const node = (await agent.get("/v1/nodes"))[0];
    await page.goTo("/ui/jobs/run?job=pair&namespace=default");
    const editor = page.getByRole("textbox", { name: "Job definition" });
    await editor.waitFor();
    await editor.fill(pair.replace("count = 2", "count = 5"));
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    const where = page.getByRole("region", { name: "Plan", exact: true }).getByRole("table", { name: "Where new allocations come" });
    await where.getByRole("row", { name: `one ${node.Name} 3` }).waitFor();
    assert.equal(await where.getByRole("link", { name: node.Name }).getAttribute("href"), `/ui/clients/${node.ID}`);
    await editor.fill(pair);
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page.getByText("What if", { exact: true }).click();
    await page.getByRole("combobox", { name: "Without client" }).selectOption(node.ID);
    await page.getByRole("button", { name: "Plan that" }).click();
    const then = page.getByRole("region", { name: "What would happen then" });
    await then.getByRole("heading", { name: `Without ${node.Name}` }).waitFor();
    await then.getByText(/would find no place/).first().waitFor();
    await page.getByRole("combobox", { name: "With more clients like" }).selectOption(node.ID);
    await page.getByRole("spinbutton", { name: "How many more" }).fill("2");
    await page.getByRole("button", { name: "Plan that" }).click();
    await then.getByRole("heading", { name: `Without ${node.Name}, with 2 more like ${node.Name}` }).waitFor();
    await then.getByRole("row", { name: new RegExp(`${node.Name}-like-\\d`) }).first().waitFor();
    await then.getByText("All allocations find a place.").waitFor();
    assert.equal((await agent.get("/v1/job/pair")).Version, 0, "nothing is changed by asking");
    clean(page);
  });
  await check("pages: evaluations that came of each other are a graph", async () => {
    const [blocked] = (await agent.get("/v1/job/nowhere/evaluations")).filter((one) => one.BlockedEval);
    await page.goTo(`/ui/evaluations/${blocked.ID}`);
    const graph = page.getByRole("region", { name: "Graph of evaluations" });
    await graph.getByRole("link", { name: new RegExp(blocked.BlockedEval.slice(0, 8)) }).click();
    await heading(page, blocked.BlockedEval.slice(0, 8));
    clean(page);
  });
  await check("pages: a task with a schedule is paused, runs by order and follows its schedule again", async () => {
    await agent.run(`job "hours" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/sleep"\n        args    = ["3600"]\n      }\n      schedule {\n        cron {\n          start = "0 0 * * * *"\n          end = "59 23"\n          timezone = "UTC"\n        }\n      }\n    }\n  }\n}\n`);
    const [one] = await until("hours is placed", async () => { const all = await agent.get("/v1/job/hours/allocations"); return all.length > 0 ? all : null; });
    await page.goTo(`/ui/allocations/${one.ID}`);
    const row = page.getByRole("table", { name: "Schedules" }).getByRole("row", { name: /^t / });
    await row.getByRole("button", { name: "Pause: t" }).click();
    await row.getByText("paused, by an order").waitFor();
    assert.equal(await row.getByRole("button", { name: "Pause: t" }).count(), 0);
    await row.getByRole("button", { name: "Run: t" }).click();
    await row.getByText("runs, by an order").waitFor();
    await row.getByRole("button", { name: "Follow the schedule: t" }).click();
    await row.getByText("runs, by an order").waitFor({ state: "detached" });
    await agent.send("DELETE", "/v1/job/hours?purge=true");
    clean(page);
  });
  await check("pages: a signal, and the allocation as the API has it", async () => {
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    await page.getByRole("button", { name: "Signal" }).click();
    await page.getByRole("dialog").getByRole("combobox", { name: "Signal" }).selectOption("SIGCONT");
    await page.getByRole("dialog").getByRole("button", { name: "Send signal" }).click();
    await page.getByText("SIGCONT was sent").waitFor();
    await page.getByRole("link", { name: "Raw", exact: true }).click();
    await page.getByText(`"ID": "${alloc.ID}"`).waitFor();
    clean(page);
  });
  await check("pages: what a task has used, with advice", async () => {
    const samples = (value) => Array.from({ length: 360 }, (_, at) => (at < 300 ? null : value));
    await page.route("**/v1/client/metrics/history?*", (route) => route.fulfill({ json: [{ Task: "server", Restarts: 2, Reserved: { CPU: 20, MemoryMB: 300 }, P95: { CPU: 12.5, Memory: 43000000, Seconds: 21600 },
      Series: [{ Interval: 10, End: 1_700_000_000, CPU: samples(12.3), Memory: samples(4e7), Network: samples(null) }], Advice: [{ Resource: "memory", Text: "memory 300 MiB reserved, p95 41 MiB over 6h: reserve about 50" }] }] }));
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.getByText("Advice: memory 300 MiB reserved").waitFor();
    await page.getByRole("figure", { name: /^CPU 12 MHz of 20 MHz/ }).waitFor();
    await page.getByText(/at most 13 MHz and 41 MiB.*restarted 2 times/).waitFor();
    assert.equal(await page.locator(".chart").count(), 2, "no network is no chart");
    assert.match(await page.locator(".chart .used").first().getAttribute("d"), /^M267.* L?/);
    await page.unroute("**/v1/client/metrics/history?*");
    clean(page);
  });
  await check("pages: variables stand in folders", async () => {
    for (const path of ["nomad/jobs/pair", "nomad/jobs/pair/one", "apps/db"]) await agent.send("PUT", `/v1/var/${path}`, { Path: path, Items: { a: "b" } });
    await page.goTo("/ui/variables");
    await page.getByRole("link", { name: "nomad/" }).click();
    await page.getByRole("link", { name: "jobs/" }).click();
    await page.getByRole("link", { name: "nomad/jobs/pair", exact: true }).waitFor();
    await page.getByRole("searchbox", { name: "Filter variables" }).fill("one");
    await page.getByRole("link", { name: "nomad/jobs/pair/one", exact: true }).click();
    await heading(page, "nomad/jobs/pair/one");
    clean(page);
  });
}

/** As a link in the page does: without loading it anew. */
const follow = (page, path) => page.evaluate((to) => { history.pushState(null, "", to); dispatchEvent(new PopStateEvent("popstate")); }, path);

const vast = `job "vast" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/true" }
      resources { memory = 50000000 }
    }
  }
}
`;

const flagged = `variable "words" {
  type = list(string)
}
variable "name" {
  default = "none"
}
job "flagged" {
  type = "batch"
  meta {
    name  = var.name
    words = join(" ", var.words)
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
`;

async function edits(agent, page, check) {
  await check("edits: what a node lacks is asked of this node", async () => {
    await agent.run(vast);
    const evaluation = await until("it is judged", async () => (await agent.get("/v1/job/vast/evaluations")).find((one) => one.FailedTGAllocs?.g));
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goTo(`/ui/evaluations/${evaluation.ID}/why`);
    await page.getByRole("table", { name: "Nodes" }).getByText(/no room: .*memory/).waitFor();
    const node = (await agent.get("/v1/nodes"))[0];
    await until("its allocations are read", () => asked.includes(`/v1/node/${node.ID}/allocations`));
    assert.ok(!asked.includes("/v1/allocations"));
    clean(page);
  });
  await check("edits: what is edited of one variable is not shown in the next", async () => {
    for (const path of ["edits/one", "edits/two"]) await agent.send("PUT", `/v1/var/${path}`, { Path: path, Items: { key: path } });
    await page.goTo("/ui/variables/var/edits/one@default");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("textbox", { name: "Value", exact: true }).fill("mine");
    await follow(page, "/ui/variables/var/edits/two@default");
    await heading(page, "edits/two");
    await page.getByRole("table", { name: "Items" }).getByText("hidden").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Value", exact: true }).count(), 0);
    clean(page);
  });
  await check("edits: what is gone is not shown again", async () => {
    await page.goTo("/ui/variables/var/edits/two@default");
    await page.getByRole("table", { name: "Items" }).waitFor();
    await follow(page, "/ui/variables");
    await agent.send("DELETE", "/v1/var/edits/two");
    await follow(page, "/ui/variables/var/edits/two@default");
    await heading(page, "Not found");
    await follow(page, "/ui/variables");
    await heading(page, "Variables");
    await page.route("**/v1/var/edits/two*", () => undefined);
    await follow(page, "/ui/variables/var/edits/two@default");
    await heading(page, "edits/two");
    await page.getByText("Loading…").waitFor();
    assert.equal(await page.getByRole("table", { name: "Items" }).count(), 0);
    await page.unroute("**/v1/var/edits/two*");
    clean(page);
  });
  await check("edits: a job keeps the values that were given by name, and a plan is of the values that stand there", async () => {
    const VariableFlags = { name: "a ${b}", words: '["x", "y"]' };
    const Variables = 'name = "a $${b}"\nwords = ["x", "y"]\n';
    const job = await agent.send("POST", "/v1/jobs/parse", { JobHCL: flagged, Variables, Canonicalize: true });
    await agent.send("PUT", "/v1/jobs", { Job: job, Submission: { Source: flagged, Format: "hcl2", VariableFlags } });
    await page.goTo("/ui/jobs/run?job=flagged&namespace=default");
    const values = page.getByRole("textbox", { name: /^Values of HCL variables/ });
    await until("the values stand there", async () => (await values.inputValue()) === Variables);
    const plan = page.getByRole("region", { name: "Plan", exact: true });
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await plan.getByText("Run is refused if").waitFor();
    await values.fill('words = ["z"]\n');
    await plan.getByText("press Plan").waitFor();
    clean(page);
  });
}
