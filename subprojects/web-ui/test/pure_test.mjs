// The parts without a document, in node alone.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const pure = join(dirname(fileURLToPath(import.meta.url)), "../src/pure");

export default async function tests(program, { check }) {
  const out = mkdtempSync(join(tmpdir(), "web-ui-pure-"));
  try {
    for (const name of readdirSync(pure).filter((file) => file.endsWith(".test.ts")).sort())
      await check(`pure: ${name.replace(".test.ts", "")}`, async () => {
        const made = join(out, name.replace(".ts", ".mjs"));
        await build({ entryPoints: [join(pure, name)], outfile: made, bundle: true, platform: "node", format: "esm", logLevel: "error" });
        const done = spawnSync(process.execPath, ["--test", made], { encoding: "utf8" });
        if (done.status !== 0) throw new Error(done.stdout);
      });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
