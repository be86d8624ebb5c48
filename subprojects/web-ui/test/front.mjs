// Serves dist/ of this folder in front of an agent, to which it passes everything else: so that what was changed can be tried without
// building the program anew (UI_TEST_DIST=1).
import { existsSync, readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const types = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };
export const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
  + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** What is asked for below /ui/: its headers, and its bytes. */
export function fileAt(pathname) {
  const asked = join(dist, pathname.replace(/^\/ui\//, ""));
  const path = asked.startsWith(dist) && existsSync(asked) && /\.\w+$/.test(asked) ? asked : join(dist, "index.html");
  return { headers: { "Content-Type": types[path.split(".").pop()] ?? "text/plain", "Content-Security-Policy": policy, "Cache-Control": "no-cache" }, bytes: readFileSync(path) };
}

export class Front {
  constructor(agentUrl) {
    this.agent = agentUrl;
  }

  async start() {
    this.server = createServer((asked, answer) => this.answer(asked, answer));
    this.server.on("upgrade", (asked, socket) => this.pass(asked, socket));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  headersOf(asked) {
    const { host } = new URL(this.agent());
    return { ...asked.headers, host, ...(asked.headers.origin ? { origin: `http://${host}` } : {}) };
  }

  answer(asked, answer) {
    const { pathname } = new URL(asked.url, "http://front");
    if (pathname.startsWith("/ui/")) {
      const { headers, bytes } = fileAt(pathname);
      return answer.writeHead(200, headers).end(bytes);
    }
    const passed = request(this.agent() + asked.url, { method: asked.method, headers: this.headersOf(asked) }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
      got.on("error", () => answer.destroy());
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  }

  pass(asked, socket) {
    const to = connect(Number(new URL(this.agent()).port), "127.0.0.1", () => {
      to.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${Object.entries(this.headersOf(asked)).map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
      to.pipe(socket);
      socket.pipe(to);
    });
    for (const [one, other] of [[to, socket], [socket, to]]) one.on("error", () => other.destroy()).on("close", () => other.destroy());
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
