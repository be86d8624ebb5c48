// A server that answers as an agent of a large cluster would: as many allocations as wanted, as many events a second, a task that
// writes as much. For figures of the browser's side, which a real agent of that size on the same machine would disturb.
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { fileAt } from "./front.mjs";

const statuses = ["running", "running", "running", "pending", "complete", "failed"];
const idOf = (at) => `${at.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;

function row(at, time) {
  return { ID: idOf(at), Name: `job-${at % 97}.g[${at}]`, Namespace: "default", NodeID: idOf(at % 500), NodeName: `node-${at % 500}`, JobID: `job-${at % 97}`, JobVersion: at % 7, TaskGroup: "g",
    DesiredStatus: "run", ClientStatus: statuses[at % statuses.length], CreateTime: time * 1e6, ModifyTime: time * 1e6, CreateIndex: at + 1, NextAllocation: "" };
}

/** As an agent tells of one: with its tasks' events, some 4 kB. */
function whole(at, time) {
  const events = Array.from({ length: 8 }, (_, number) => ({ Type: "Received", Time: time * 1e6 + number, DisplayMessage: "Task received by client", Details: {}, Message: "", FailsTask: false, RestartReason: "", ExitCode: 0, Signal: 0 }));
  return { ...row(at, time), EvalID: idOf(at), AllocatedResources: { Tasks: { t: { Cpu: { CpuShares: 100, ReservedCores: [] }, Memory: { MemoryMB: 64, MemoryMaxMB: 0 }, Networks: null } }, Shared: { DiskMB: 300, Ports: null } },
    TaskStates: { t: { State: "running", Failed: false, Restarts: 0, StartedAt: "2026-01-01T00:00:00Z", FinishedAt: null, Events: events } }, Metrics: { NodesEvaluated: 500, ScoreMetaData: [{ NodeID: idOf(1), Scores: { binpack: 0.5 }, NormScore: 0.5 }] } };
}

export class MadeUp {
  /** `perSecond`: events of allocations that are there. */
  constructor({ allocations = 0, perSecond = 0, linesPerSecond = 10_000, lineBytes = 0 } = {}) {
    this.linesPerSecond = linesPerSecond;
    this.lineEnd = "x".repeat(lineBytes);
    this.count = allocations;
    this.perSecond = perSecond;
    this.requests = [];
    this.streams = 0;
    this.sockets = new Set();
    this.index = 1_000;
  }

  async start() {
    this.server = createServer((asked, answer) => this.answer(asked, answer));
    this.server.on("connection", (socket) => { this.sockets.add(socket); socket.on("close", () => this.sockets.delete(socket)); });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  answer(asked, answer) {
    const { pathname, searchParams } = new URL(asked.url, "http://made-up");
    if (pathname.startsWith("/v1/")) this.requests.push(pathname);
    const json = (value, headers = {}) => answer.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip", "X-Nomad-Index": String(this.index), ...headers }).end(gzipSync(JSON.stringify(value), { level: 1 }));
    if (!pathname.startsWith("/v1/")) return this.file(pathname, answer);
    if (pathname === "/v1/event/stream") return this.stream(answer);
    if (pathname === "/v1/allocations") return this.allocations(searchParams, json);
    if (pathname.startsWith("/v1/client/fs/logs/")) return this.log(answer);
    if (pathname.startsWith("/v1/allocation/")) return json({ ...whole(1, Date.now()), ClientStatus: "running", Job: { Version: 0, TaskGroups: [{ Name: "g", Tasks: [{ Name: "t", Driver: "raw_exec" }] }] } });
    if (pathname === "/v1/agent/self") return json({ config: { ACL: { Enabled: false }, Region: "global" } });
    if (pathname === "/v1/regions") return json(["global"]);
    return json([]);
  }

  file(pathname, answer) {
    const { headers, bytes } = fileAt(pathname);
    answer.writeHead(200, { ...headers, "Content-Encoding": "gzip" }).end(gzipSync(bytes));
  }

  allocations(parameters, json) {
    const from = Number(parameters.get("next_token") || this.count);
    const to = Math.max(0, from - Number(parameters.get("per_page") || 100));
    const time = Date.now();
    json(Array.from({ length: from - to }, (_, at) => row(from - 1 - at, time)), to > 0 ? { "X-Nomad-NextToken": String(to) } : {});
  }

  /** Every 20 ms what has gathered, as often as the answer drains. */
  stream(answer) {
    this.streams += 1;
    answer.writeHead(200, { "Content-Type": "application/json" });
    answer.write("{}\n");
    let sent = 0;
    const began = performance.now();
    const timer = setInterval(() => {
      if (this.perSecond === 0 || answer.writableNeedDrain) return;
      const time = Date.now();
      for (const due = ((performance.now() - began) / 1000) * this.perSecond; sent < due; sent += 1) {
        this.index += 1;
        const at = (sent * 7919) % Math.max(1, this.count);
        answer.write(`${JSON.stringify({ Index: this.index, Events: [{ Topic: "Allocation", Type: "AllocationUpdated", Key: idOf(at), Namespace: "default", FilterKeys: [], Index: this.index, Payload: { Allocation: { ...whole(at, time), ClientStatus: statuses[sent % statuses.length] } } }] })}\n`);
      }
      this.sent = sent;
    }, 20);
    answer.on("close", () => { clearInterval(timer); this.streams -= 1; });
  }

  /** So many lines a second, each with the time at which it was written. */
  log(answer) {
    answer.writeHead(200, { "Content-Type": "text/plain" });
    let written = 0;
    const began = performance.now();
    const timer = setInterval(() => {
      if (answer.writableNeedDrain) return;
      const lines = [];
      for (const due = ((performance.now() - began) / 1000) * this.linesPerSecond; written < due; written += 1) lines.push(`at ${Date.now()} GET /page/${written} 200 0.013 line ${written % 2_000}${this.lineEnd}\n`);
      answer.write(lines.join(""));
      this.written = written;
    }, 10);
    answer.on("close", () => clearInterval(timer));
  }
}
