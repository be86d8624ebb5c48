// What tasks and users write is text, whatever it is; what an agent answers may be slow, half or wrong.
import { strict as assert } from "node:assert";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

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
