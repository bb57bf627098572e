// A page's download with each entry of the built package, in bytes after brotli: JavaScript as a bundler makes it,
// with every export kept, and modules as they are. The budgets are in pkg/sizes.json, the table in pkg/README.md.
//
// usage: node scripts/sizes.js [--write]   (after scripts/build-wasm.sh)
//   --write   also rewrites the table

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE = join(ROOT, "pkg");
const README = join(PACKAGE, "README.md");
const TABLE = /(?<=<!-- sizes -->\n\n)(\|.*\n)*/;

/** What every page with a report has already. */
const SHARED = ["boundary.js", "errors.js", "reach.js", "report.js", "submit.js", "values.js"];

/** The names in sizes.json, and their texts in the table. */
const PARTS = {
  client: ["`ldp-pca`: JavaScript", () => bundled("index.js")],
  module: ["its module", () => readFileSync(join(PACKAGE, "wasm/client/ldp_pca_bg.wasm"))],
  collect: ["`ldp-pca/collect`: JavaScript, with that of `ldp-pca`", () => bundled("collect.js")],
  inline: ["`ldp-pca/inline`: JavaScript with the module within", () => bundled("inline.js")],
  worker: ["`ldp-pca/worker`: JavaScript of the page; the worker loads `ldp-pca`", () => bundled("worker.js")],
  components: ["`ldp-pca/components`", () => bundled("components.js")],
  "consent-dialog": ["`ldp-pca/consent-dialog`", () => bundled("consent-dialog.js")],
  relay: ["what the ledger loads to seal a report for a relay", () => bundled("relay.js", SHARED)],
  lab: ["`ldp-pca/lab`: JavaScript", () => bundled("lab.js")],
  "lab-module": ["the lab's module", () => readFileSync(join(PACKAGE, "wasm/lab/ldp_pca_bg.wasm"))],
  methods: [
    "the module that `loadMethods()` of the lab adds",
    () => readFileSync(join(PACKAGE, "wasm/methods/ldp_pca_bg.wasm")),
  ],
};

/** The most that each part may have, in bytes. */
export const BUDGETS = JSON.parse(readFileSync(join(PACKAGE, "sizes.json"), "utf8"));

/** The size of each part of the built package, in bytes. */
export async function measure() {
  const sizes = {};
  for (const [part, [, read]] of Object.entries(PARTS)) sizes[part] = brotliCompressSync(await read()).length;
  return sizes;
}

/** What the table says of each part, in bytes. */
export function stated() {
  const [table] = readFileSync(README, "utf8").match(TABLE) ?? [""];
  const found = Object.entries(PARTS).map(([part, [text]]) => {
    const row = table.split("\n").find((line) => line.startsWith(`| ${text} |`));
    return [part, Number(row?.match(/\| ([\d.]+) kB \|/)?.[1]) * 1000];
  });
  return Object.fromEntries(found);
}

function table(sizes) {
  const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  const rows = Object.entries(PARTS).map(
    ([part, [text]]) => `| ${text} | ${kilobytes(sizes[part])} | ${kilobytes(BUDGETS[part])} |\n`,
  );
  return ["| after brotli | size | budget |\n", "|---|---|---|\n", ...rows].join("");
}

/** The JavaScript of an entry and of what it imports at once, but for `without`, in one minified file. */
async function bundled(entry, without = []) {
  const { build } = await import("vite");
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    root: PACKAGE,
    plugins: [withoutPreloads],
    build: {
      write: false,
      minify: true,
      assetsInlineLimit: 0,
      modulePreload: false,
      rollupOptions: {
        input: join(PACKAGE, entry),
        external: (file) => without.some((name) => file.endsWith(`/${name}`)),
        // What is loaded later may have more of it.
        preserveEntrySignatures: "allow-extension",
        // Without hashes of contents: they compress a few bytes better or worse by chance.
        output: { assetFileNames: "[name][extname]" },
      },
    },
    worker: { rollupOptions: { output: { entryFileNames: "[name].js" } } },
  });
  const [chunk, ...others] = output.filter(({ type, isDynamicEntry }) => type === "chunk" && !isDynamicEntry);
  if (others.length > 0) throw new Error(`${entry} was bundled into several files`);
  return chunk.code;
}

/** What Vite adds, once, to each page that loads anything later is not of the package. */
const withoutPreloads = {
  name: "without-preloads",
  enforce: "pre",
  load: (id) => (id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (load) => load();" : undefined),
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const sizes = await measure();
  if (process.argv.includes("--write")) {
    writeFileSync(README, readFileSync(README, "utf8").replace(TABLE, table(sizes)));
  }
  console.log(table(sizes));
}
