// Access control on: signing in, by a token and once, few rights, and that each part of a page refuses by itself.
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { Agent, until } from "./agent.mjs";
import { Browser, axeFindings } from "./browser.mjs";

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
  await check("access: who stays signed in is so in the next session of the browser, until somebody else signs in there or he signs out", async () => {
    const page = await browser.page(agent.url);
    const stored = () => page.evaluate(() => localStorage.getItem("token"));
    await page.goTo("/ui/settings/tokens");
    await page.getByRole("checkbox", { name: "Stay signed in" }).check();
    await page.getByText(/until you sign out/).waitFor();
    await page.getByRole("textbox", { name: "Token" }).fill(reader);
    await page.getByRole("main").getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Signed in as reader").waitFor();
    const next = await browser.page(agent.url, { storageState: await page.context().storageState() });
    await next.goTo("/ui/jobs");
    await next.getByRole("link", { name: "web", exact: true }).waitFor();
    await next.context().close();
    await page.getByRole("checkbox", { name: "Stay signed in on this browser" }).uncheck();
    await until("it goes with the session", async () => (await stored()) === null);
    await page.getByRole("checkbox", { name: "Stay signed in on this browser" }).check();
    await until("it stays", async () => (await stored()) === reader);
    await page.reload();
    await signIn(page, root);
    await page.getByText("management").first().waitFor();
    assert.equal(await stored(), null, "the one before does not come back");
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
  await check("access: who may submit jobs in one namespace alone plans and runs there, and is told where not", async () => {
    agent.token = root;
    await agent.send("PUT", "/v1/namespace/dev", { Name: "dev" });
    await agent.send("PUT", "/v1/acl/policy/dev", { Name: "dev", Rules: 'namespace "dev" { policy = "write" }' });
    const { SecretID: alice } = await agent.send("PUT", "/v1/acl/token", { Name: "alice", Type: "client", Policies: ["dev"] });
    const context = await browser.page(agent.url);
    await signIn(context, alice);
    await context.goTo("/ui/jobs/run");
    const editor = context.getByRole("textbox", { name: "Job definition" });
    await editor.waitFor();
    const text = (ns) => `job "own" {\n  namespace = "${ns}"\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/sleep"\n        args    = ["60"]\n      }\n    }\n  }\n}\n`;
    await editor.fill(text("dev"));
    await context.getByRole("button", { name: "Plan", exact: true }).click();
    await context.getByRole("table", { name: "Groups", exact: true }).getByRole("row", { name: /g.*1 create/ }).waitFor();
    await editor.fill(text("default"));
    await context.getByRole("button", { name: "Plan", exact: true }).click();
    await context.getByRole("alert").getByText(/needs submit-job in namespace default/).first().waitFor();
    await context.context().close();
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
  await check("access: a JWT of a method that the agent trusts signs in, another does not", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const part = (object) => Buffer.from(JSON.stringify(object)).toString("base64url");
    const jwt = (claims) => { const text = `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}`; return `${text}.${sign("RSA-SHA256", Buffer.from(text), privateKey).toString("base64url")}`; };
    const now = Math.floor(Date.now() / 1000);
    await agent.send("PUT", "/v1/acl/auth-method", { Name: "ci", Type: "JWT", TokenLocality: "local", MaxTokenTTL: "1h", Config: { JWTValidationPubKeys: [publicKey.export({ type: "spki", format: "pem" })], BoundIssuer: ["ci"], ClaimMappings: { team: "team" } } });
    await agent.send("PUT", "/v1/acl/binding-rule", { AuthMethod: "ci", Selector: 'value.team == "shop"', BindType: "policy", BindName: "reader" });
    const page = await browser.page(agent.url);
    await page.goTo("/ui/settings/tokens");
    const box = page.getByRole("textbox", { name: "JWT", exact: true });
    const press = () => page.getByRole("button", { name: "Sign in with ci" }).click();
    await box.fill(jwt({ iss: "ci", team: "none", iat: now, exp: now + 300 }));
    await press();
    await page.getByRole("alert").getByText(/no role or policy bindings matched/).waitFor();
    await box.fill("no.jwt.atall");
    await press();
    await page.getByRole("alert").getByText(/unable to validate|malformed|token/i).waitFor();
    await box.fill(jwt({ iss: "ci", team: "shop", iat: now, exp: now + 300 }));
    await press();
    await page.getByText(/Signed in as JWT-ci/).waitFor();
    await page.goTo("/ui/jobs");
    await page.getByRole("link", { name: "web", exact: true }).waitFor();
    await page.goTo("/ui/settings");
    await page.getByRole("combobox", { name: "Capability" }).fill("submit-job");
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByRole("status", { name: "Answer" }).getByText("refused").waitFor();
    clean(page);
    await page.context().close();
  });
  await check("access: what an administrator keeps is made, changed and deleted", async () => {
    const page = await browser.page(agent.url);
    await signIn(page, root);
    await page.getByText("management").first().waitFor();
    await administer(page, agent);
    clean(page);
    await page.context().close();
  });
  await check("access: a mistake is said in the dialog, and buttons say what is missing", async () => {
    const page = await browser.page(agent.url);
    await signIn(page, root);
    await page.getByText("management").first().waitFor();
    await page.goTo("/ui/access/policies");
    await page.getByRole("button", { name: "New policy" }).click();
    const dialog = page.getByRole("dialog", { name: "New policy" });
    await dialog.getByRole("textbox", { name: "Name" }).fill("broken");
    await dialog.getByRole("textbox", { name: "Rules" }).fill('namespace "x" {\n  policy = "everything"\n}');
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText(/everything/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await signIn(page, reader);
    await page.getByText("reader").first().waitFor();
    await page.goTo("/ui/access/policies");
    await until("it may not be pressed", () => page.getByRole("button", { name: "New policy" }).isDisabled());
    await page.goTo(`/ui/allocations/${alloc.ID}`);
    const exec = page.getByRole("button", { name: "Exec" });
    await until("nor this", () => exec.isDisabled());
    assert.equal(await exec.getAttribute("title"), "This needs alloc-exec in namespace default");
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

/** Each kind: made by its dialog, changed, deleted, as the API says. */
async function administer(page, agent) {
  const open = async (tab, button) => {
    await page.goTo(`/ui/access/${tab}`);
    await page.getByRole("button", { name: button }).click();
    return page.getByRole("dialog");
  };
  const saved = async (dialog) => { await dialog.getByRole("button", { name: "Save" }).click(); await dialog.waitFor({ state: "detached" }); };
  const field = (dialog, name) => dialog.getByRole("textbox", { name, exact: true });
  const remove = async (name) => {
    await page.getByRole("button", { name: `Delete ${name}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Delete/ }).click();
    await page.getByText(`${name} is deleted`).waitFor();
  };
  let dialog = await open("quotas", "New quota");
  await field(dialog, "Name").fill("small");
  await dialog.getByRole("spinbutton", { name: "Memory in MiB" }).fill("512");
  await saved(dialog);
  await page.getByRole("table", { name: "Quotas", exact: true }).getByText(/of 512 MiB/).waitFor();
  assert.equal((await agent.get("/v1/quota/small")).Limits[0].RegionLimit.MemoryMB, 512);
  dialog = await open("quotas", "Change small");
  await dialog.getByRole("spinbutton", { name: "Memory in MiB" }).fill("600");
  await saved(dialog);
  assert.equal((await agent.get("/v1/quota/small")).Limits[0].RegionLimit.MemoryMB, 600);
  dialog = await open("namespaces", "New namespace");
  await field(dialog, "Name").fill("team");
  await dialog.getByRole("combobox", { name: "Quota" }).selectOption("small");
  await saved(dialog);
  assert.equal((await agent.get("/v1/namespace/team")).Quota, "small");
  await page.goTo("/ui/access/quotas");
  await page.getByRole("button", { name: "Delete small" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete quota" }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await page.goTo("/ui/access/namespaces");
  await remove("team");
  dialog = await open("roles", "New role");
  await field(dialog, "Name").fill("readers");
  await dialog.getByRole("checkbox", { name: "reader" }).check();
  await saved(dialog);
  dialog = await open("roles", "Change readers");
  await field(dialog, "Description").fill("people who read");
  await saved(dialog);
  assert.deepEqual((await agent.get("/v1/acl/role/name/readers")).Policies.map((one) => one.Name), ["reader"]);
  assert.equal((await agent.get("/v1/acl/role/name/readers")).Description, "people who read");
  dialog = await open("auth-methods", "New auth method");
  await field(dialog, "Name").fill("idp");
  await field(dialog, "Configuration").fill("{ no JSON");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText(/is no JSON/).waitFor();
  await field(dialog, "Configuration").fill('{ "JWKSURL": "https://idp.example/keys", "BoundIssuer": ["idp"] }');
  await saved(dialog);
  dialog = await open("auth-methods", "Change idp");
  assert.match(await field(dialog, "Configuration").inputValue(), /"JWKSURL": "https:\/\/idp.example\/keys"/);
  await field(dialog, "Tokens end after").fill("2h");
  await saved(dialog);
  assert.equal((await agent.get("/v1/acl/auth-method/idp")).MaxTokenTTL, "2h0m0s");
  dialog = await open("binding-rules", "New binding rule");
  await dialog.getByRole("combobox", { name: "Auth method" }).fill("idp");
  await dialog.getByRole("combobox", { name: "Name of the role" }).fill("readers");
  await field(dialog, "Description").fill("everybody reads");
  await saved(dialog);
  await page.getByRole("table", { name: "Binding rules", exact: true }).getByText("role readers").waitFor();
  for (const tab of ["namespaces", "node-pools", "quotas", "tokens", "policies", "roles", "auth-methods", "binding-rules"]) {
    await page.goTo(`/ui/access/${tab}`);
    await page.getByRole("table").waitFor();
    assert.deepEqual(await axeFindings(page), [], tab);
  }
  await page.goTo("/ui/access/binding-rules");
  await remove("everybody reads");
  await page.goTo("/ui/access/auth-methods");
  await remove("idp");
  dialog = await open("tokens", "New token");
  await field(dialog, "Name").fill("of a role");
  await dialog.getByRole("checkbox", { name: "readers", exact: true }).check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog", { name: "Secret of the token" }).getByRole("button", { name: "Close" }).click();
  await page.getByRole("table", { name: "Tokens", exact: true }).getByRole("row", { name: /of a role/ }).getByText("readers").waitFor();
  dialog = await open("tokens", "Change of a role");
  await dialog.getByRole("checkbox", { name: "reader", exact: true }).check();
  await saved(dialog);
  const made = (await agent.get("/v1/acl/tokens")).find((one) => one.Name === "of a role");
  assert.deepEqual([made.Policies, made.Roles.map((one) => one.Name)], [["reader"], ["readers"]]);
  await remove("of a role");
  await page.goTo("/ui/access/roles");
  await remove("readers");
  await page.goTo("/ui/access/quotas");
  await remove("small");
}
