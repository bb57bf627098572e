import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { pack } from "../consumers/consumer.js";
import { scratchFolder } from "./folder.js";
import { TASK } from "./task.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGE = join(ROOT, "pkg");

/** All that the package holds, in the order of the alphabet. */
const FILES = `
  CHANGELOG.md LICENSE-APACHE LICENSE-MIT README.md api.d.ts api.js bind.js boundary.js cdn.html checks.js client.js
  collect-inline.js collect.d.ts collect.js collecting.js common.d.ts common.js components.d.ts
  components.js consent-dialog.d.ts consent-dialog.js consent.d.ts consent.js errors.d.ts errors.js index.d.ts
  index.js inline.js instantiate.js lab-api.js lab-modules.js lab-node.js lab.d.ts lab.js ldp-pca-error.js ledger.d.ts
  ledger.js package.json reach.js relay.js report.d.ts report.js seeded.js sentences.d.ts sentences.js submit.d.ts
  submit.js task.d.ts testing.d.ts testing.js values.js wasm/client/ldp_pca.js wasm/client/ldp_pca_bg.wasm
  wasm/client/ldp_pca_bg.wasm.js wasm/collect.min.js wasm/lab/ldp_pca.js wasm/lab/ldp_pca_bg.wasm
  wasm/methods/ldp_pca.js wasm/methods/ldp_pca_bg.wasm wasm/testing.cjs worker-thread.js worker.d.ts worker.js
  workerd.js
`.trim().split(/\s+/);

const folder = scratchFolder();
const installed = join(folder, "node_modules/ldp-pca");
let packed;

before(() => {
  packed = pack();
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", packed.file, "--strip-components=1", "-C", installed]);
});

after(() => packed?.remove());

test("the package holds its entries, its types, the module and the licences, and nothing else", () => {
  assert.deepEqual(packed.content, FILES);
});

test("the installed package works by its name in Node, and gives out its wasm file", () => {
  const script = `
    import { init, Randomizer, Task } from "ldp-pca";
    import { Components } from "ldp-pca/components";
    import { readFileSync } from "node:fs";
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    await init(readFileSync(require.resolve("ldp-pca/ldp_pca_bg.wasm")));
    const task = Task.parse(process.argv[1]);
    const report = new Randomizer(task, { maxEpsilon: 2 }).randomize({ height: 181, plan: "free" });
    console.log(require("ldp-pca/package.json").version, report.bytes.length, Components.name);`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script, JSON.stringify(TASK)], {
    cwd: folder,
    encoding: "utf8",
  });
  const [, version] = readFileSync(join(ROOT, "Cargo.toml"), "utf8").match(/^version = "(.*)"/m);
  assert.equal(printed.trim(), `${version} 35 Components`);
});

// What workerd does with a file of WebAssembly.
const COMPILED = `
  export async function load(url, context, next) {
    if (!url.endsWith(".wasm")) return next(url, context);
    const path = JSON.stringify(new URL(url).pathname);
    const source =
      "import { readFileSync } from 'node:fs'; export default new WebAssembly.Module(readFileSync(" + path + "))";
    return { format: "module", shortCircuit: true, source };
  }`;

test("workerd, which compiles no bytes, has an entry with the module compiled beforehand", () => {
  const script = `
    import { register } from "node:module";
    register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(COMPILED))});
    const compile = WebAssembly.instantiate;
    WebAssembly.instantiate = (source, imports) => {
      if (!(source instanceof WebAssembly.Module)) throw new Error("code generation is not allowed");
      return compile(source, imports);
    };
    const { init, Randomizer, Task } = await import("ldp-pca");
    await init();
    const randomizer = new Randomizer(Task.parse(process.argv[1]), { maxEpsilon: 2 });
    const report = randomizer.randomize({ height: 181, plan: null });
    console.log(import.meta.resolve("ldp-pca").split("/").at(-1), report.bytes.length);`;
  const options = ["--conditions=workerd", "--input-type=module", "--eval", script, JSON.stringify(TASK)];
  assert.equal(execFileSync(process.execPath, options, { cwd: folder, encoding: "utf8" }).trim(), "workerd.js 35");
});

test("a page can load all of `ldp-pca/collect` as one script, whose hash the package's own page has", () => {
  const code = readFileSync(join(installed, "wasm/collect.min.js"));
  const { ldpPca } = new Function(`${code}; return { ldpPca };`)();
  assert.deepEqual(Object.keys(ldpPca).sort(), ["collect", "de", "en", "explain", "formRecord", "resume"]);
  const html = readFileSync(join(installed, "cdn.html"), "utf8");
  const { version, jsdelivr, unpkg } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  assert.ok(html.includes(`src="https://cdn.jsdelivr.net/npm/ldp-pca@${version}/wasm/collect.min.js"`));
  assert.ok(html.includes(`integrity="sha384-${createHash("sha384").update(code).digest("base64")}"`));
  assert.deepEqual([jsdelivr, unpkg], Array(2).fill("./wasm/collect.min.js"));
  assert.doesNotMatch(html, /…"/);
});

test("the package's licences are those of the repository", () => {
  for (const file of ["LICENSE-APACHE", "LICENSE-MIT"]) {
    assert.equal(readFileSync(join(PACKAGE, file), "utf8"), readFileSync(join(ROOT, file), "utf8"), file);
  }
});
