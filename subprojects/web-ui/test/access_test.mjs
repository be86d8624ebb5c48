// Access control on: signing in, by a token and once, few rights, and that each part of a page refuses by itself.
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const job = `job "web" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
    }
  }
}
`;

export default async function tests(program, { check, wants }) {
  if (!wants("access: ")) return;
  const agent = new Agent(program, "acl { enabled = true }");
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    const { SecretID: root } = await agent.send("PUT", "/v1/acl/bootstrap");
    agent.token = root;
    await agent.run(job);
    const alloc = await agent.running("web");
    await agent.send("PUT", "/v1/acl/policy/reader", { Name: "reader", Rules: 'namespace "default" {\n  capabilities = ["list-jobs", "read-job"]\n}\n' });
    const { SecretID: reader } = await agent.send("PUT", "/v1/acl/token", { Name: "reader", Type: "client", Policies: ["reader"] });
    const { SecretID: nobody } = await agent.send("PUT", "/v1/acl/policy/none", { Name: "none", Rules: 'namespace "other" {\n  policy = "read"\n}\n' })
      .then(() => agent.send("PUT", "/v1/acl/token", { Name: "nobody", Type: "client", Policies: ["none"] }));
    await rows(agent, browser, check, { root, reader, nobody, alloc, program });
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const clean = (page) => assert.deepEqual(page.wrong.splice(0), []);

async function signIn(page, secret) {
  await page.goTo("/ui/settings/tokens");
  await page.getByRole("textbox", { name: "Token" }).fill(secret);
  await page.getByRole("main").getByRole("button", { name: "Sign in", exact: true }).click();
}

async function rows(agent, browser, check, { root, reader, nobody, alloc, program }) {
  await check("access: without a token the page says what is needed", async () => {
    const page = await browser.page(agent.url);
    await page.goTo("/ui/jobs");
    await heading(page, "Jobs");
    await page.getByText(/needs list-jobs/).first().waitFor();
    await page.getByRole("main").getByRole("link", { name: "Sign in" }).first().click();
    await heading(page, "Sign in");
    clean(page);
    await page.context().close();
  });
  await check("access: a token signs in, is in no address, and ends with the session", async () => {
    const page = await browser.page(agent.url);
    await signIn(page, "00000000-0000-0000-0000-000000000000");
    await page.getByRole("alert").getByText(/does not know this token/).waitFor();
    await signIn(page, root);
    await page.getByText("management").waitFor();
    await page.goTo("/ui/jobs");
    await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: "web", exact: true }).waitFor();
    await until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
    assert.ok(!page.url().includes(root));
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.equal(await page.evaluate(() => document.cookie), "");
    const second = await page.context().newPage();
    await second.goto(`${agent.url}/ui/jobs`);
    await second.getByRole("link", { name: "web", exact: true }).waitFor();
    await page.goTo("/ui/settings/tokens");
    await page.getByRole("button", { name: "Sign out" }).click();
    await second.getByText(/needs list-jobs/).first().waitFor();
    assert.equal(await second.evaluate(() => sessionStorage.getItem("token")), null);
    await page.goTo("/ui/jobs");
    await page.getByText(/needs list-jobs/).first().waitFor();
    clean(page);
    await page.context().close();
  });
  await check("access: few rights: what may be seen is seen and lives, the rest explains itself", async () => {
    const page = await browser.page(agent.url);
    await signIn(page, reader);
    await page.getByText("reader").first().waitFor();
    await page.goTo("/ui/jobs/web@default");
    await heading(page, "web");
    await page.getByRole("link", { name: alloc.ID.slice(0, 8) }).waitFor();
    await page.goTo(`/ui/allocations/${alloc.ID}/t/logs`);
    await page.getByText(/needs read-logs/).waitFor();
    await page.goTo(`/ui/allocations/${alloc.ID}/files`);
    await page.getByText(/needs read-fs/).waitFor();
    await page.goTo("/ui/clients");
    await page.getByText(/needs node read/).waitFor();
    await page.goTo("/ui/variables");
    await heading(page, "Variables");
    await page.goTo("/ui/jobs/web@default");
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await until("it may not be pressed", () => stop.isDisabled());
    assert.equal(await stop.getAttribute("title"), "This needs submit-job in namespace default");
    await page.goTo("/ui/jobs/run?job=web&namespace=default");
    await page.getByRole("textbox", { name: "Job definition" }).waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("alert").getByText(/Permission denied/).waitFor();
    await page.goTo("/ui/jobs");
    await page.getByRole("link", { name: "web", exact: true }).waitFor();
    await agent.run(job.replace('"web"', '"second"'));
    await page.getByRole("link", { name: "second", exact: true }).waitFor();
    clean(page);
    await page.context().close();
  });
  await check("access: a token for nothing here sees no job and breaks no page", async () => {
    const page = await browser.page(agent.url);
    await signIn(page, nobody);
    await page.getByText("nobody").first().waitFor();
    for (const [path, name] of [["/ui/jobs", "Jobs"], ["/ui/allocations", "Allocations"], ["/ui/servers", "Servers"], ["/ui/topology", "Topology"], ["/ui/evaluations", "Evaluations"], ["/ui/services", "Services"], ["/ui/actors", "Actors"], ["/ui/access", "Access"]]) {
      await page.goTo(path);
      await heading(page, name);
      assert.equal(await page.getByRole("link", { name: "web", exact: true }).count(), 0);
    }
    clean(page);
    await page.context().close();
  });
  await check("access: a provider signs in; what it gave leaves the address", async () => {
    const page = await browser.page(agent.url);
    const asked = [];
    const answer = (path, body) => page.route(`**${path}`, (route) => { asked.push(route.request().postDataJSON()); return route.fulfill({ json: body }); });
    await answer("/v1/acl/auth-methods", [{ Name: "corp", Type: "OIDC", Default: true }, { Name: "keys", Type: "JWT" }]);
    await answer("/v1/acl/oidc/auth-url", { AuthURL: `${agent.url}/ui/settings/tokens?code=c-1&state=s-1` });
    await answer("/v1/acl/oidc/complete-auth", { SecretID: root, Name: "OIDC-corp", AccessorID: "a" });
    await page.goTo("/ui/settings/tokens");
    await page.getByRole("button", { name: "Sign in with corp" }).click();
    await page.getByText("Signed in as OIDC-corp").waitFor();
    assert.equal(new URL(page.url()).search, "");
    const [begun, completed] = asked.filter((one) => one?.AuthMethodName);
    assert.equal(begun.RedirectURI, `${agent.url}/ui/settings/tokens`);
    assert.deepEqual(completed, { AuthMethodName: "corp", ClientNonce: begun.ClientNonce, State: "s-1", Code: "c-1", RedirectURI: begun.RedirectURI });
    await page.goTo("/ui/settings/tokens?code=forged&state=s");
    await page.getByRole("alert").getByText(/has begun no sign-in/).waitFor();
    clean(page);
    await page.context().close();
  });
  await check("access: nomadctl ui -authenticate signs in once, at the page of an object", async () => {
    const printed = execFileSync(program, ["ui", "-address", agent.url, "-token", root, "-authenticate", "-show-url", "web"], { encoding: "utf8" });
    const url = printed.replace("URL for web UI: ", "").trim();
    assert.match(url, /\/ui\/jobs\/web\?ott=/);
    const page = await browser.page(agent.url);
    await page.goto(url);
    await heading(page, "web");
    await page.getByRole("status", { name: "Job status" }).waitFor();
    assert.ok(!page.url().includes("ott"));
    const again = await browser.page(agent.url);
    await again.goto(url);
    await again.getByRole("alert").getByText(/one-time token was not taken/).waitFor();
    clean(page);
    await page.context().close();
    await again.context().close();
  });
}
