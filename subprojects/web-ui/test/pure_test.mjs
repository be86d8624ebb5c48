// The parts without a document, in node alone.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const src = join(dirname(fileURLToPath(import.meta.url)), "../src");
const folders = ["pure", "store", "parts"];

export default async function tests(program, { check }) {
  const out = mkdtempSync(join(tmpdir(), "web-ui-pure-"));
  try {
    const files = folders.flatMap((folder) => readdirSync(join(src, folder)).filter((name) => name.endsWith(".test.ts")).sort().map((name) => join(folder, name)));
    for (const file of files)
      await check(`pure: ${basename(file, ".test.ts")}`, async () => {
        const made = join(out, `${basename(file, ".ts")}.mjs`);
        await build({ entryPoints: [join(src, file)], outfile: made, bundle: true, platform: "node", format: "esm", logLevel: "error" });
        const done = spawnSync(process.execPath, ["--test", made], { encoding: "utf8", timeout: 60_000 });
        if (done.status !== 0) throw new Error(done.stdout);
      });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
