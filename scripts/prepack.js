// Files that only the packed package has: the changelog, `ldp-pca/testing` as one file of CommonJS, `ldp-pca/collect`
// as one script for pages without a build, and such a page with its hash. `npm pack` runs it.

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";

import { cdnPage } from "./cdn-page.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE = join(ROOT, "pkg");

// Jest's jsdom lacks some of what browsers and Node have; here they are the file's own.
const BANNER = `const { TextDecoder, TextEncoder } = require("node:util");
const { Request = class {}, Response = class {} } = globalThis;`;

copyFileSync(join(ROOT, "CHANGELOG.md"), join(PACKAGE, "CHANGELOG.md"));

/** Writes what an entry and all that it imports are together, as one file in the package's folder `wasm`. */
async function oneFile(entry, file, lib, minify, output = {}) {
  await build({
    configFile: false,
    logLevel: "error",
    root: PACKAGE,
    build: {
      emptyOutDir: false,
      lib: { ...lib, entry: join(PACKAGE, entry), fileName: () => file },
      minify,
      outDir: join(PACKAGE, "wasm"),
      rollupOptions: { output: { ...output, codeSplitting: false } },
    },
  });
}

await oneFile("testing.js", "testing.cjs", { formats: ["cjs"] }, false, { banner: BANNER });
await oneFile("collect-inline.js", "collect.min.js", { formats: ["iife"], name: "ldpPca" }, true);
const page = readFileSync(join(ROOT, "examples/cdn.html"), "utf8");
writeFileSync(join(PACKAGE, "cdn.html"), cdnPage(page, PACKAGE));
