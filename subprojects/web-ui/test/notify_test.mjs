// Notifications: nothing without a click, one for each job, in one tab or several, and none of what is known. The browser's own window
// of a notification can't be looked at: what the page has asked it for is.
import { strict as assert } from "node:assert";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

/** Fails when there is a file `end`. */
const failing = (name, end) => `job "${name}" {
  group "g" {
    count = 2
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "until [ -e ${end} ]; do sleep 0.1; done; exit 1"]
      }
    }
  }
}
`;

const broken = `job "broken" {
  group "g" {
    update {
      min_healthy_time  = "1s"
      healthy_deadline  = "5s"
      progress_deadline = "8s"
    }
    restart {
      attempts = 0
      mode     = "fail"
    }
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/CMD" }
    }
  }
}
`;

/** Stands for the browser's notifications in every page of the context. */
async function withNotifications(page, answers = "granted") {
  await page.context().addInitScript((answer) => {
    globalThis.shown = [];
    globalThis.asked = 0;
    globalThis.Notification = class {
      static permission = localStorage.getItem("test permission") ?? "default";
      static requestPermission() {
        globalThis.asked += 1;
        localStorage.setItem("test permission", answer);
        globalThis.Notification.permission = answer;
        return Promise.resolve(answer);
      }
      constructor(title, options) { globalThis.shown.push({ title, ...options, made: this }); }
      close() {}
    };
  }, answers);
}

export default async function tests(program, { check, wants }) {
  if (!wants("notify: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    for (const job of ["calm", "loud"]) await agent.run(failing(job, join(agent.dir, job)));
    await agent.run(broken.replace("CMD", "true"));
    for (const job of ["calm", "loud"]) await agent.running(job);
    await rows(agent, browser, check);
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);
const shown = (page) => page.evaluate(() => globalThis.shown.map(({ title, body, tag }) => ({ title, body, tag })));
const live = (page) => until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");

async function rows(agent, browser, check) {
  await check("notify: the browser is asked by a click alone, and says when allocations fail, also in a tab that nobody looks at", async () => {
    const page = await browser.page(agent.url);
    await withNotifications(page);
    await page.goTo("/ui/jobs/loud@default");
    const button = page.getByRole("button", { name: "Notify me" });
    await button.waitFor();
    assert.equal(await page.evaluate(() => globalThis.asked), 0);
    await button.click();
    await page.getByText("This browser says so when something of loud fails").waitFor();
    assert.deepEqual([await page.evaluate(() => globalThis.asked), await button.getAttribute("aria-pressed")], [1, "true"]);
    await page.goTo("/ui/servers");
    await live(page);
    await page.evaluate(() => { Object.defineProperty(document, "hidden", { value: true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); });
    for (const job of ["calm", "loud"]) writeFileSync(join(agent.dir, job), "");
    const [first, ...others] = await until("it is said", async () => { const all = await shown(page); return all.length > 0 && all; });
    await page.waitForTimeout(2_000);
    assert.match(first.title, /^loud: (2 allocations|an allocation|the deployment) failed$/);
    assert.ok((await shown(page)).some((one) => /^loud\.g\[\d\] failed on /m.test(one.body)));
    assert.deepEqual(others.filter((one) => one.tag !== first.tag), [], "of this job alone");
    await page.evaluate(() => globalThis.shown[0].made.onclick());
    await page.getByRole("heading", { level: 1, name: /^loud/ }).waitFor();
    // Another tab that comes later, and one that was there, say nothing twice.
    const later = await page.context().newPage();
    await later.goto(`${agent.url}/ui/jobs`);
    await live(later);
    await later.waitForTimeout(2_000);
    assert.deepEqual(await shown(later), []);
    clean(page);
    await page.context().close();
  });
  await check("notify: a deployment that fails, until one follows no more", async () => {
    const page = await browser.page(agent.url);
    await withNotifications(page);
    await page.goTo("/ui/jobs/broken@default");
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByText("This browser says so when something of broken fails").waitFor();
    await page.waitForTimeout(1_500);
    assert.deepEqual(await shown(page), [], "what failed before is no news");
    await agent.run(broken.replace("CMD", "false"));
    await until("it is said", async () => (await shown(page)).some((one) => one.title === "broken: the deployment failed" && /Failed due to/.test(one.body)), 60);
    await page.goTo("/ui/settings");
    await page.getByRole("table", { name: "Jobs with notifications" }).getByRole("link", { name: "broken", exact: true }).waitFor();
    await page.getByRole("button", { name: "No notifications of broken" }).click();
    await page.getByRole("table", { name: "Jobs with notifications" }).waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => localStorage.getItem("followed jobs")), null);
    clean(page);
    await page.context().close();
  });
  await check("notify: who refuses is told, and nothing is followed", async () => {
    const page = await browser.page(agent.url);
    await withNotifications(page, "denied");
    await page.goTo("/ui/jobs/loud@default");
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("alert").getByText(/does not allow this page notifications/).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem("followed jobs")), null);
    await page.reload();
    const button = page.getByRole("button", { name: "Notify me" });
    await button.waitFor();
    assert.equal(await button.isDisabled(), true);
    assert.match(await button.getAttribute("title"), /does not allow/);
    clean(page);
    await page.context().close();
  });
}
