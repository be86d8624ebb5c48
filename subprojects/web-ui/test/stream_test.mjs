// The one event stream as a websocket, and through a proxy that passes none.
import { strict as assert } from "node:assert";
import { connect, createServer } from "node:net";
import { Agent, until } from "./agent.mjs";
import { Browser } from "./browser.mjs";

const job = (name) => `job "${name}" {
  type = "batch"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
`;

/** Passes everything on to the agent, and keeps how requests begin. `passes`: of websockets, too. */
class Proxy {
  constructor(agent, passes) {
    this.agent = agent;
    this.passes = passes;
    this.streams = [];
    this.sockets = new Set();
  }

  async start() {
    this.server = createServer((from) => this.take(from));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  take(from) {
    const to = connect(this.agent.port, "127.0.0.1");
    for (const [one, other] of [[from, to], [to, from]]) {
      this.sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
    from.on("data", (data) => {
      const text = data.toString("latin1");
      const isWebsocket = /\r\nUpgrade: websocket\r\n/i.test(text);
      if (text.startsWith("GET /v1/event/stream")) this.streams.push(isWebsocket ? "websocket" : "body");
      if (isWebsocket && !this.passes) from.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      else to.write(data);
    });
    to.on("data", (data) => from.write(data));
  }

  async stop() {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export default async function tests(program, { check, wants }) {
  if (!wants("stream: ")) return;
  const agent = new Agent(program);
  let browser;
  try {
    await agent.start();
    browser = await Browser.open();
    for (const [passes, name, kinds] of [[true, "is a websocket, and no answer that takes one of six connections", ["websocket"]], [false, "is the body of an answer where no websocket comes through", ["websocket", "body"]]])
      await check(`stream: it ${name}`, async () => {
        const proxy = new Proxy(agent, passes);
        await proxy.start();
        const page = await browser.page(proxy.url);
        await page.goTo("/ui/jobs");
        await until("live", async () => (await page.getByRole("status", { name: "Connection" }).textContent()) === "live");
        const named = `job-${passes}`;
        await agent.run(job(named));
        await page.getByRole("link", { name: named, exact: true }).waitFor();
        const second = await page.context().newPage();
        await second.goto(`${proxy.url}/ui/clients`);
        await until("live, too", async () => (await second.getByRole("status", { name: "Connection" }).textContent()) === "live");
        assert.deepEqual(proxy.streams, kinds, "of both tabs together");
        assert.deepEqual(page.wrong, []);
        await page.context().close();
        await proxy.stop();
      });
  } finally {
    await browser?.close();
    await agent.destroy();
  }
}
