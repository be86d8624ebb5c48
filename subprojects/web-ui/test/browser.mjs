// Debian's Chromium without a window, and what every page must keep to: no error, no foreign request, no violation of the policy.
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
export const browserPath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export class Browser {
  static async open() {
    const self = new Browser();
    self.browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
    return self;
  }

  /** A page of a user of his own. What is wrong there is in `page.wrong`. */
  async page(origin, options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(Number(process.env.UI_TEST_SECONDS ?? 30) * 1000);
    page.wrong = [];
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
    });
    page.on("console", (message) => {
      // What the agent refuses, a page says; the browser notes it besides.
      if (message.type() === "error" && !/Failed to load resource|WebSocket connection/.test(message.text())) page.wrong.push(message.text());
    });
    page.on("pageerror", (error) => page.wrong.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) page.wrong.push(`foreign request: ${request.url()}`);
    });
    page.origin = origin;
    page.goTo = (path) => page.goto(origin + path, { waitUntil: "domcontentloaded" });
    return page;
  }

  close() { return this.browser.close(); }
}

/** Serious findings of axe-core on the page. Evaluated by the debugger, which the policy does not bind. */
export async function axeFindings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** What is smaller than 24 px and stands too near to something else (WCAG 2.2). */
export async function smallTargets(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: { type: "rule", values: ["target-size"] }, resultTypes: ["violations"] }));
  return violations.flatMap((one) => one.nodes.map((node) => node.html.slice(0, 160)));
}
