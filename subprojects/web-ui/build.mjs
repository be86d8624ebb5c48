// Builds dist/: bundles src/ with esbuild, names files by their content, writes the licences of what was bundled and a MANIFEST.
// The output depends on nothing but the sources and package-lock.json. Fails over the budgets of sizes.
//
//   node build.mjs          writes dist/
//   node build.mjs --check  fails if the sources are not those that dist/ was made of
//   node build.mjs --watch  serves the pages at :4748 (or $UI_PORT), builds at each change, and asks $NOMAD_ADDR for /v1
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
const budgets = { first: 80_000, firstScript: 60_000, all: 350_000 };  // bytes, compressed

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/// Of everything that dist/ is made of.
function hashOfSources() {
  const sources = [...filesBelow(join(root, "src")).filter((path) => !path.endsWith(".test.ts")),
    ...["build.mjs", "package.json", "package-lock.json", "tsconfig.json"].map((name) => join(root, name))].sort();
  const hash = createHash("sha256");
  for (const path of sources) {
    hash.update(`${relative(root, path)}\0`);
    hash.update(readFileSync(path));
  }
  return hash.digest("hex");
}

function options(esbuild) {
  return {
    absWorkingDir: root,
    entryPoints: { app: "src/main.tsx", worker: "src/store/worker.ts", theme: "src/shell/theme_first.ts", style: "src/style.css" },
    entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", outdir: "dist",
    bundle: true, splitting: true, format: "esm", target: "es2022", minify: true, metafile: true, write: false,
    jsx: "automatic", jsxImportSource: "preact", legalComments: "none", charset: "utf8", logLevel: "warning",
    supported: { "inline-style": false },
  };
}

/// The text of index.html with the names that the entries have got.
function indexHtml(outputs) {
  const nameOf = (entry) => Object.entries(outputs).find(([, made]) => made.entryPoint === entry)[0].replace("dist/", "");
  return readFileSync(join(root, "src/index.html"), "utf8")
    .replace("{{theme}}", nameOf("src/shell/theme_first.ts")).replace("{{style}}", nameOf("src/style.css"))
    .replace("{{app}}", nameOf("src/main.tsx")).replace("{{worker}}", nameOf("src/store/worker.ts"));
}

/// The packages that something was bundled of, with their licences.
function licences(inputs) {
  const packages = new Set();
  for (const path of Object.keys(inputs)) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) packages.add(found[1]);
  }
  return [...packages].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : "see its repository"}\n`;
  }).join("\n----------------------------------------\n\n");
}

/// What is loaded before the first page stands: the entries and what they import statically.
function firstLoad(outputs) {
  const wanted = new Set();
  const add = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const { path, kind } of outputs[name]?.imports ?? []) if (kind === "import-statement") add(path);
  };
  for (const [name, made] of Object.entries(outputs))
    if (["src/main.tsx", "src/shell/theme_first.ts", "src/style.css", "src/store/worker.ts"].includes(made.entryPoint)) add(name);
  return [...wanted].map((name) => name.replace("dist/", ""));
}

async function build() {
  const esbuild = await import("esbuild");
  const made = await esbuild.build(options(esbuild));
  const { outputs, inputs } = made.metafile;
  const files = new Map(made.outputFiles.map((file) => [relative(dist, file.path), file.contents]));
  files.set("index.html", Buffer.from(indexHtml(outputs)));
  files.set("LICENSES.txt", Buffer.from(licences(inputs)));
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  const rows = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, content]) => {
    writeFileSync(join(dist, name), content);
    return { name, hash: createHash("sha256").update(content).digest("hex"), size: content.length, gzip: gzipSync(content, { level: 9 }).length };
  });
  writeFileSync(join(dist, "MANIFEST"), `sources ${hashOfSources()}\n` + rows.map((row) => `${row.hash} ${row.size} ${row.name}\n`).join(""));
  const sum = (names) => rows.filter((row) => names(row.name)).reduce((total, row) => total + row.gzip, 0);
  const first = ["index.html", ...firstLoad(outputs)];
  const sizes = { first: sum((name) => first.includes(name)), firstScript: sum((name) => first.includes(name) && name.endsWith(".js")), all: sum(() => true) };
  for (const [what, size] of Object.entries(sizes)) console.log(`${what}: ${size} bytes compressed, of ${budgets[what]}`);
  const over = Object.keys(sizes).filter((what) => sizes[what] > budgets[what]);
  if (over.length) throw new Error(`over the budget: ${over.join(", ")}`);
}

function check() {
  const said = existsSync(join(dist, "MANIFEST")) ? readFileSync(join(dist, "MANIFEST"), "utf8").split("\n")[0] : "";
  if (said === `sources ${hashOfSources()}`) return;
  console.error("dist/ was not made of these sources: run ./dev ui build");
  process.exitCode = 1;
}

/// The agent's own (actors/api/ui/pages.cpp).
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
  + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Serves dist/ as an agent does, but for /v1, which it passes on.
async function watch() {
  const { createServer, request } = await import("node:http");
  const agent = new URL(process.env.NOMAD_ADDR ?? "http://127.0.0.1:4646");
  const uiPort = Number(process.env.UI_PORT ?? 4748);
  let seen = "";
  const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8" };
  createServer(async (asked, answer) => {
    const { pathname } = new URL(asked.url, "http://ui");
    if (pathname.startsWith("/v1/")) {
      const passed = request({ host: agent.hostname, port: agent.port, method: asked.method, path: asked.url, headers: { ...asked.headers, host: agent.host, origin: agent.origin } },
        (got) => { answer.writeHead(got.statusCode, got.headers); got.pipe(answer); });
      passed.on("error", () => answer.writeHead(502).end());
      return asked.pipe(passed);
    }
    if (hashOfSources() !== seen) {
      try { await build(); seen = hashOfSources(); } catch (wrong) { return answer.writeHead(500).end(String(wrong)); }
    }
    const file = join(dist, pathname.replace(/^\/ui\//, ""));
    const path = file.startsWith(dist) && existsSync(file) && statSync(file).isFile() ? file : join(dist, "index.html");
    answer.writeHead(200, { "Content-Type": types[/\.\w+$/.exec(path)?.[0]] ?? "text/plain", "Content-Security-Policy": policy }).end(readFileSync(path));
  }).listen(uiPort, "127.0.0.1", () => console.log(`http://127.0.0.1:${uiPort}/ui/ with the agent at ${agent.origin}`));
}

const kind = process.argv[2] ?? "";
if (kind === "--check") check();
else if (kind === "--watch") await watch();
else await build();
