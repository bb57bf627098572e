// Files that only the packed package has: the changelog, and `ldp-pca/testing` as one file of CommonJS. `npm pack` runs
// it.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE = join(ROOT, "pkg");

// Jest's jsdom lacks some of what browsers and Node have; here they are the file's own.
const BANNER = `const { TextDecoder, TextEncoder } = require("node:util");
const { Request = class {}, Response = class {} } = globalThis;`;

copyFileSync(join(ROOT, "CHANGELOG.md"), join(PACKAGE, "CHANGELOG.md"));
await build({
  configFile: false,
  logLevel: "error",
  root: PACKAGE,
  build: {
    emptyOutDir: false,
    lib: { entry: join(PACKAGE, "testing.js"), formats: ["cjs"], fileName: () => "testing.cjs" },
    minify: false,
    outDir: join(PACKAGE, "wasm"),
    rollupOptions: { output: { banner: BANNER, codeSplitting: false } },
  },
});
