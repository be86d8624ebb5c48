// An agent of its own for the tests, on free ports of loopback, and what they ask it.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, createWriteStream } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Front } from "./front.mjs";

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function until(what, attempt, seconds = Number(process.env.UI_TEST_SECONDS ?? 30)) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      const got = await attempt();
      if (got) return got;
    } catch (wrong) {
      if (Date.now() > end) throw new Error(`${what}: ${wrong.message}`);
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export class Agent {
  /** Without -dev it is what `config` says. */
  constructor(program, config = "", words = ["-dev"]) {
    this.program = program;
    this.words = words;
    this.dir = mkdtempSync(join(tmpdir(), "web-ui-"));
    this.extra = config;
    this.token = "";
  }

  /** The ports that it will have, for others that are to know them. */
  async choosePorts() {
    this.port ??= await freePort();
    this.rpc ??= await freePort();
    this.serf ??= await freePort();
  }

  async start() {
    await this.choosePorts();
    writeFileSync(join(this.dir, "agent.hcl"), `data_dir = "${this.dir}/data"\nports {\n  http = ${this.port}\n  rpc = ${this.rpc}\n  serf = ${this.serf}\n}\nlog_level = "INFO"\n${this.extra}\n`);
    this.process = spawn(this.program, ["agent", ...this.words, "-config", join(this.dir, "agent.hcl")], { env: { ...process.env, TMPDIR: this.dir }, stdio: ["ignore", "pipe", "pipe"] });
    const log = createWriteStream(join(this.dir, "agent.log"), { flags: "a" });
    this.process.stdout.pipe(log);
    this.process.stderr.pipe(log);
    if (process.env.UI_TEST_DIST && !this.front) {
      this.front = new Front(() => `http://127.0.0.1:${this.port}`);
      await this.front.start();
    }
    await until("the agent answers", async () => (await fetch(`${this.url}/v1/status/leader`)).ok && (await (await fetch(`${this.url}/v1/status/leader`)).text()).length > 4);
  }

  get url() { return this.front?.url ?? `http://127.0.0.1:${this.port}`; }

  async send(method, path, body) {
    const answer = await fetch(this.url + path, { method, headers: this.token ? { "X-Nomad-Token": this.token } : {}, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  get(path) { return this.send("GET", path); }

  /** Registers a job from its text, as the command line does. */
  async run(source) {
    const job = await this.send("POST", "/v1/jobs/parse", { JobHCL: source, Canonicalize: true });
    await this.send("PUT", `/v1/jobs?namespace=${job.Namespace ?? "default"}`, { Job: job, Submission: { Source: source, Format: "hcl2" } });
  }

  /** A running allocation of the job, in this version or a later one. */
  running(job, version = 0) {
    return until(`${job} runs`, async () => (await this.get(`/v1/job/${job}/allocations`)).find((one) => one.ClientStatus === "running" && one.JobVersion >= version));
  }

  async stop(signal = "SIGINT") {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    const late = setTimeout(() => this.process.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(late);
    this.process = null;
  }

  async destroy() {
    if (!this.dir) return;
    for (const job of await this.get("/v1/jobs?namespace=*").catch(() => [])) await this.send("DELETE", `/v1/job/${encodeURIComponent(job.ID)}?purge=true&namespace=${job.Namespace}`).catch(() => null);
    await until("nothing runs", async () => (await this.get("/v1/allocations?namespace=*&task_states=false")).every((one) => one.ClientStatus !== "running"), 15).catch(() => null);
    await this.stop();
    await this.front?.stop();
    this.remove();
  }

  /** What it leaves on the disk. */
  remove() {
    // Secrets of allocations are file systems of their own, which stay for the next agent of this folder.
    for (const line of readFileSync("/proc/self/mounts", "utf8").split("\n").reverse()) {
      const place = line.split(" ")[1];
      if (place?.startsWith(`${this.dir}/`)) spawnSync("umount", ["-l", place]);
    }
    try {
      rmSync(this.dir, { recursive: true, force: true });
    } catch (wrong) {
      console.log(`left behind: ${wrong.message}`);
    }
    this.dir = "";
  }
}
