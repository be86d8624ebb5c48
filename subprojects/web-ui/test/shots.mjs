// Makes the pictures of the docs. usage: shots.mjs PROGRAM FOLDER
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "./agent.mjs";
import { Browser } from "./browser.mjs";
import { withPalette } from "./png.mjs";

const [program, folder] = process.argv.slice(2);
const most = 60_000;  // bytes of a picture

const service = (name, count, message) => `job "${name}" {
  group "front" {
    count = ${count}
    network {
      port "http" {}
    }
    service {
      name     = "${name}"
      port     = "http"
      provider = "nomad"
      tags     = ["v1"]
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "i=0; while true; do i=$((i+1)); if [ $((i % 7)) = 0 ]; then echo \\"12:00:$((i % 60)) GET /pay 504\\"; else echo \\"12:00:$((i % 60)) GET /health 200\\"; fi; sleep 0.2; done"]
      }
      env { MESSAGE = "${message}" }
      resources {
        cpu    = 100
        memory = 64
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

async function shoot(page, name) {
  const path = join(folder, `${name}.png`);
  // Times that differ from picture to picture say nothing.
  await page.evaluate(() => { for (const time of document.querySelectorAll("time")) time.textContent = "2m ago"; });
  writeFileSync(path, withPalette(await page.screenshot()));
  const { size } = statSync(path);
  console.log(`${path}: ${size} bytes${size > most ? `, more than ${most}` : ""}`);
  if (size > most) process.exitCode = 1;
}

async function main() {
  const agent = new Agent(program);
  let browser;
  mkdirSync(folder, { recursive: true });
  try {
    await agent.start();
    browser = await Browser.open();
    await agent.run(service("web", 3, "one"));
    await agent.running("web");
    await agent.run(service("web", 3, "two"));
    await agent.run(service("api", 2, "one"));
    await agent.run(nowhere);
    const alloc = await agent.running("web", 1);
    await agent.running("api");
    const node = (await agent.get("/v1/nodes"))[0];
    const pages = { jobs: "/ui/jobs", job: "/ui/jobs/web@default", "not-placed": "/ui/jobs/nowhere@default", versions: "/ui/jobs/web@default/versions", run: "/ui/jobs/run?job=web&namespace=default",
      allocations: "/ui/allocations", logs: `/ui/allocations/${alloc.ID}/server/logs`, client: `/ui/clients/${node.ID}`, topology: "/ui/topology", actors: "/ui/actors" };
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.page(agent.url, { colorScheme, viewport: { width: 1280, height: 720 } });
      for (const [name, path] of Object.entries(pages)) {
        await page.goTo(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        if (name === "logs") await page.getByRole("searchbox", { name: "Search logs" }).fill("504");
        if (name === "run") { await page.getByRole("textbox", { name: "Job definition" }).waitFor(); await page.getByRole("button", { name: "Plan", exact: true }).click(); }
        await page.waitForTimeout(1_500);
        await shoot(page, `${name}-${colorScheme}`);
      }
      await page.context().close();
    }
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

await main();
