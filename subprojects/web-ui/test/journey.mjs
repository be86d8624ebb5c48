// A new user's first day, in the browser alone: why does a job not run, what do its logs say, mend it, go back to an older version, drain
// a machine. Each step is found by what the page says, and leaves a picture. usage: journey.mjs PROGRAM FOLDER
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const [program, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

/** An agent without a server, which joins another's. */
class Client extends Agent {
  constructor(program, server) {
    super(program);
    this.server = server;
  }

  async start() {
    this.port = this.server.port + 1;
    writeFileSync(join(this.dir, "agent.hcl"), `name = "worker-2"\ndata_dir = "${this.dir}/data"\nports {\n  http = ${this.port}\n}\nclient {\n  enabled = true\n  servers = ["127.0.0.1:${this.server.rpc}"]\n}\nplugin "raw_exec" {\n  config {\n    enabled = true\n  }\n}\n`);
    this.process = spawn(this.program, ["agent", "-config", join(this.dir, "agent.hcl")], { stdio: ["ignore", "pipe", "pipe"] });
    const log = createWriteStream(join(this.dir, "agent.log"));
    this.process.stdout.pipe(log);
    this.process.stderr.pipe(log);
    await until("the second client is ready", async () => (await this.server.get("/v1/nodes")).filter((node) => node.Status === "ready").length === 2);
  }
}

const shop = (script) => `job "shop" {
  group "front" {
    count = 2
    restart {
      attempts = 1
      delay    = "2s"
      interval = "1m"
      mode     = "fail"
    }
    update {
      min_healthy_time  = "1s"
      healthy_deadline  = "20s"
      progress_deadline = "30s"
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "${script}"]
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`;

const report = `job "report" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources {
        cpu    = 50
        memory = 900000
      }
    }
  }
}
`;

let number = 0;

async function step(page, said, act) {
  number += 1;
  const began = Date.now();
  await act();
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${String(number).padStart(2, "0")}.png`) });
  console.log(`${number}. ${said} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
}

async function main() {
  const agent = new Agent(program, 'name = "worker-1"');
  let second;
  let browser;
  try {
    await agent.start();
    second = new Client(program, agent);
    await second.start();
    await agent.run(shop("i=0; while true; do i=$((i+1)); echo request $i answered; sleep 0.2; done"));
    await agent.running("shop");
    await until("it is healthy", async () => (await agent.get("/v1/job/shop/deployment"))?.Status === "successful", 60);
    await agent.run(shop("echo starting; echo error: no database at db:5432; sleep 1; exit 3"));
    await agent.run(report);
    browser = await Browser.open();
    const page = await browser.page(agent.url, { viewport: { width: 1280, height: 800 } });
    await day(page, agent);
    assert.deepEqual(page.wrong, []);
  } finally {
    await browser?.close();
    await agent.destroy();
    await second?.stop("SIGKILL");
    second?.remove();
  }
}

async function day(page, agent) {
  const button = (name) => page.getByRole("button", { name, exact: true });
  const link = (name) => page.getByRole("link", { name, exact: true });
  await step(page, "Open the UI: a list of jobs, of which one has no place", async () => {
    await page.goto(`${agent.url}/`);
    await page.getByRole("row", { name: /report/ }).getByText(/memory/).waitFor();
  });
  await step(page, "“why?” beside the job that does not run: a table of the clients, with what is against each", async () => {
    await page.getByRole("row", { name: /report/ }).getByRole("link", { name: "why?" }).click();
    await page.getByRole("table", { name: "Nodes" }).getByRole("row").nth(2).waitFor();
  });
  await step(page, "From there to the job: it says the same on its overview", async () => {
    await page.getByRole("main").getByRole("link", { name: "report", exact: true }).first().click();
    await page.getByRole("heading", { name: "Not placed" }).waitFor();
  });
  await step(page, "Edit: the text as it was submitted", async () => {
    await link("Edit").click();
    await page.getByRole("textbox", { name: "Job definition" }).getByText("900000").waitFor();
  });
  await step(page, "Plan it as it is: it finds no place, and says so before it is run", async () => {
    await button("Plan").click();
    await page.getByText(/would find no place/).first().waitFor();
  });
  await step(page, "Less memory, Plan: it finds one", async () => {
    const editor = page.getByRole("textbox", { name: "Job definition" });
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(report.replace("900000", "64"));
    await button("Plan").click();
    await page.getByText("All allocations find a place.").waitFor();
  });
  await step(page, "Run: the job's page, where it starts before one's eyes", async () => {
    await button("Run").click();
    await page.getByRole("table", { name: "Allocations", exact: true }).getByText("running").first().waitFor();
  });
  await step(page, "The other job, by the search: “/”, its name, Enter", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("shop");
    await page.getByRole("option", { name: /shop/ }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "shop" }).waitFor();
    await page.getByRole("heading", { name: "Not running" }).waitFor();
  });
  await step(page, "Its logs, from the line that says what failed", async () => {
    await link("its logs").first().click();
    await page.getByRole("log", { name: "Logs" }).getByText("no database").first().waitFor();
  });
  await step(page, "Searched for “error”: only the lines that have it", async () => {
    await page.getByRole("searchbox", { name: "Search logs" }).fill("error");
    await page.getByRole("checkbox", { name: "Only hits" }).check();
    await page.locator("mark").first().waitFor();
  });
  await step(page, "Back to the job, Versions: what the newest one changed", async () => {
    await page.getByRole("link", { name: "Job shop" }).click();
    await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: "Versions", exact: true }).click();
    await page.getByText(/no database/).first().waitFor();
  });
  await step(page, "Revert to 0, asked once", async () => {
    await button("Revert to 0").click();
    await page.getByRole("dialog").waitFor();
  });
  await step(page, "It runs again, in the version that did", async () => {
    await page.getByRole("dialog").getByRole("button", { name: "Revert job" }).click();
    await page.getByText("Reverted to version 0").waitFor();
    await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: "Overview", exact: true }).click();
    await until("two run", async () => (await page.getByRole("table", { name: "Allocations", exact: true }).getByRole("row", { name: /running/ }).count()) >= 2, 60);
    await page.getByRole("heading", { name: "Not running" }).waitFor({ state: "detached" });
  });
  await step(page, "All of it as it comes: the job's logs", async () => {
    await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: "Logs", exact: true }).click();
    await page.getByRole("log", { name: "Logs" }).getByText(/request \d+ answered/).first().waitFor();
  });
  await step(page, "Clients: one is to be repaired", async () => {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Clients", exact: true }).click();
    await page.getByRole("grid", { name: "Clients" }).getByRole("link", { name: "worker-2" }).click();
    await page.getByRole("heading", { level: 1, name: "worker-2" }).waitFor();
    await page.getByRole("heading", { name: "Use" }).waitFor();
  });
  await step(page, "Drain, with what that does", async () => {
    await button("Drain").click();
    await page.getByRole("dialog", { name: "Drain client" }).waitFor();
  });
  await step(page, "What ran there has moved, and the client takes nothing new", async () => {
    await page.getByRole("dialog").getByRole("button", { name: "Start drain" }).click();
    await until("nothing runs there", async () => (await page.getByRole("status", { name: "Client status" }).textContent()).trim() === "ineligible", 60);
  });
  await step(page, "Topology: all is on the other one", async () => {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Topology", exact: true }).click();
    await page.getByRole("table", { name: "Topology", exact: true }).getByRole("row").nth(2).waitFor();
  });
  await step(page, "Repaired: Eligible again", async () => {
    await page.getByRole("table", { name: "Topology", exact: true }).getByRole("link", { name: "worker-2" }).click();
    await page.getByRole("switch", { name: "Eligible" }).click();
    await until("ready", async () => (await page.getByRole("status", { name: "Client status" }).textContent()).trim() === "ready");
  });
}

await main();
