// The tests of the web UI in a real browser against a real agent. usage: run.mjs PROGRAM [pattern]
// Closes with "N passed, N failed". Without a browser: says so, and that all was skipped.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [program, pattern = ""] = process.argv.slice(2);
let passed = 0;
let failed = 0;
let skipped = 0;

export const results = {
  /** Whether a test whose name begins so is asked for: its agent is only started then. */
  wants: (prefix) => prefix.includes(pattern) || pattern.includes(prefix.trim()),
  async check(name, test) {
    if (!name.includes(pattern)) { skipped += 1; return; }
    const began = Date.now();
    try {
      await test();
      passed += 1;
      console.log(`ok ${name} (${Date.now() - began} ms)`);
    } catch (wrong) {
      failed += 1;
      console.log(`FAILED ${name}: ${String(wrong.message ?? wrong).split("\n").slice(0, 12).join("\n  ")}`);
    }
  },
};

async function main() {
  let browserPath;
  try {
    ({ browserPath } = await import("./browser.mjs"));
  } catch {
    console.log("SKIPPED: the packages of package-lock.json are not installed (./dev ui test installs them)");
    return;
  }
  if (!browserPath) {
    console.log("SKIPPED: there is no chromium (apt-get install chromium)");
    return;
  }
  const here = dirname(fileURLToPath(import.meta.url));
  for (const file of readdirSync(here).filter((name) => name.endsWith("_test.mjs")).sort()) {
    const { default: tests } = await import(join(here, file));
    try {
      await tests(program, results);
    } catch (wrong) {
      // What they need was not to be had: those of other files go on.
      failed += 1;
      console.log(`FAILED ${file}: ${String(wrong.message ?? wrong).trim()}`);
    }
  }
}

await main();
console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
process.exit(failed > 0 ? 1 : 0);
