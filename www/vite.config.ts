import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A module of the package or of the page, and what a host with precompressed files sends of it. */
const moduleOf = (name: string) => file(`../pkg/wasm/${name}/ldp_pca_bg.wasm`);
/** By digest: of the demo's quick build all three are one module, which takes many seconds to compress. */
const sizes = new Map<string, number>();
const sizeOf = (name: string) => {
  const content = readFileSync(moduleOf(name));
  const digest = createHash("sha256").update(content).digest("hex");
  const bytes = sizes.get(digest) ?? brotliCompressSync(content).length;
  sizes.set(digest, bytes);
  return `${10 * Math.round(bytes / 10_000)} kB`;
};

// The page keeps to itself wherever it is hosted; an image that it makes itself (blob:) becomes a PNG. Only in the
// build: the development server inserts inline styles.
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const contentSecurityPolicy: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: policy }, injectTo: "head-prepend" },
  ],
};

/** Where the documentation is read: in the repository that Cargo.toml names, or else in the published crate. */
const repository = /^repository *= *"(.*)"/m.exec(readFileSync(file("../Cargo.toml"), "utf8"))?.[1];
const documents = repository ? `${repository}/blob/main/` : "https://docs.rs/crate/ldp-pca/latest/source/";

/**
 * A section's markup with its controls. `<fields legend="Records">` is a group of them. `<field name="rank">k</field>`
 * is a labelled input, and with `options="value=text | …"` a choice; a `class` is that of label and control together.
 * `<run id="error" label="Simulation" again="Run again" />` is what src/run-controls.ts controls, hidden until it does.
 * `<chart id="error-epsilon" heading="…">` is the figure of src/charts/chart.ts, with more words under its caption.
 */
const withControls = (section: string, html: string) =>
  html
    .replace(
      /<run id="([a-z-]+)" label="([^"]+)" again="([^"]+)"([^>]*) \/>/g,
      `<div class="run">
        <button type="button" id="$1-cancel" hidden>Cancel</button>
        <button type="button" id="$1-run" hidden>$3</button>
        <progress id="$1-progress" aria-label="$2" max="1" value="0" hidden></progress>
        <p id="$1-status"$4></p>
      </div>
      <p id="$1-failure" class="message" role="alert" hidden></p>`,
    )
    .replace(
      /<chart id="([a-z-]+)" heading="([^"]+)">(.*?)<\/chart>/gs,
      '<figure class="chart" id="$1-chart"><figcaption><h3>$2</h3><p id="$1-caption"></p>$3</figcaption></figure>',
    )
    .replace(/<fields legend="([^"]+)"([^>]*)>/g, '<fieldset$2><legend>$1</legend><div class="fields">')
    .replaceAll("</fields>", "</div></fieldset>")
    .replace(
      /<field\s+name="([a-z]+)"(?:\s+class="([^"]+)")?(?:\s+options="([^"]+)")?([^>]*)>(.*?)<\/field>/gs,
      (_, name: string, own = "", options: string | undefined, attributes: string, label: string) => {
        const identity = `id="${section}-${name}" name="${name}"`;
        const choices = options?.split("|").map((option) => {
          const [value, text] = option.split("=").map((part) => part.trim());
          return `<option value="${value}">${text}</option>`;
        });
        const control = choices
          ? `<select ${identity}${attributes}>${choices.join("")}</select>`
          : `<input ${identity}${attributes} autocomplete="off" />`;
        return `<div class="field ${own}"><label for="${section}-${name}">${label.trim()}</label>${control}</div>`;
      },
    );

/**
 * Puts each section's own markup, and that of both pages, in its place: `<!-- section: error -->` is
 * src/sections/error.html, where `<only page="methods">` is for that page alone.
 * `href="doc:docs/guides/how-many-people.md"` leads to that file of the repository, `size:methods`, `size:records` and
 * `size:waves` are how much those modules are. The picture of links has its whole address if PAGE_URL says where the
 * page will be.
 */
const sections: Plugin = {
  name: "sections",
  transformIndexHtml: {
    order: "pre",
    handler: (html, { path }) =>
      html
        .replace(/^ *<!-- section: ([a-z-]+) -->\n/gm, (_, name) =>
          withControls(name, readFileSync(file(`src/sections/${name}.html`), "utf8")),
        )
        .replace(/<only page="([a-z]+)">(.*?)<\/only>/gs, (_, page, own) => (path.includes(page) ? own : ""))
        .replaceAll('href="doc:', `href="${documents}`)
        .replace('content="./preview.png"', `content="${process.env["PAGE_URL"] ?? "./"}preview.png"`)
        .replace(/size:(methods|records|waves)/g, (_, name) => sizeOf(name)),
  },
};

/**
 * Builds the worker as an entry of the page's own bundle, so that both load one file of the lab. Vite's `?worker` would
 * put a second copy of it into the worker. The module `worker-url` has the entry's address.
 */
const sharedWorker: Plugin = {
  name: "shared-worker",
  resolveId: (id) => (id === "worker-url" ? `\0${id}` : undefined),
  load(id) {
    if (id !== "\0worker-url") return undefined;
    const entry = file("src/engine/worker.ts");
    if (this.environment.mode === "dev") return `export default "/src/engine/worker.ts";`;
    const reference = this.emitFile({ type: "chunk", id: entry, name: "worker" });
    return `export default import.meta.ROLLUP_FILE_URL_${reference};`;
  },
};

/** In the names of files that no visitor loads who does not ask for them: scripts/page-sizes.js knows them by it. */
const ON_DEMAND = "on-demand";
/** In the names of files that the second page does not load. */
const FIRST_PAGE = "index-";

/**
 * The module is most of what the page downloads: it starts on its way with the markup, not when a script asks for it.
 */
const earlyModule: Plugin = {
  name: "early-module",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle }) =>
      Object.keys(bundle ?? {})
        .filter((path) => path.endsWith(".wasm") && !path.includes(ON_DEMAND))
        .map((path) => ({
          tag: "link",
          attrs: { rel: "preload", as: "fetch", type: "application/wasm", crossorigin: true, href: `./${path}` },
          injectTo: "head",
        })),
  },
};

/** Content in gzip beside its file, for `ldp-pca serve` and other hosts that send it. */
const packedFiles: Plugin = {
  name: "packed-files",
  apply: "build",
  writeBundle({ dir = "" }, bundle) {
    for (const path of Object.keys(bundle).filter((path) => /\.(css|html|js|svg|wasm)$/.test(path))) {
      writeFileSync(join(dir, `${path}.gz`), gzipSync(readFileSync(join(dir, path)), { level: 9 }));
    }
  },
};

export default defineConfig({
  // Relative, so that the page works under any path.
  base: "./",
  plugins: [contentSecurityPolicy, sections, sharedWorker, earlyModule, packedFiles],
  resolve: {
    // The page uses the package as any other page would.
    alias: [
      ...["components", "consent-dialog", "instantiate", "lab"].map((name) => ({
        find: `ldp-pca/${name}`,
        replacement: file(`../pkg/${name}.js`),
      })),
      { find: "ldp-pca/records-module", replacement: file("../pkg/wasm/records/ldp_pca.js") },
      { find: "ldp-pca/waves-module", replacement: file("../pkg/wasm/waves/ldp_pca.js") },
      ...["lab", "methods", "records", "waves"].map((name) => ({
        find: new RegExp(`^ldp-pca/ldp_pca_${name}_bg\\.wasm(?=\\?|$)`),
        replacement: moduleOf(name),
      })),
    ],
  },
  build: {
    // A content security policy without data: in it must not stop the page from loading the module.
    assetsInlineLimit: 0,
    // A worker has no document to preload into.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, dependencies, { hostId }) => (/\bworker-/.test(hostId) ? [] : dependencies),
    },
    rollupOptions: {
      input: ["index", "methods"].map((page) => file(`${page}.html`)),
      output: {
        // Small files of their own would be larger. What workers have too may not come with what needs a document.
        codeSplitting: {
          groups: [
            { name: "lab", test: /preload-helper|pkg\/(?!components|consent-dialog|ledger|relay)[a-z-]+\.js$/ },
            { name: "survey", test: /www\/src\/(survey|engine\/share)\.ts$/ },
            { name: "page", test: /www\/src\//, minShareCount: 2 },
          ],
        },
        assetFileNames: ({ originalFileNames }) =>
          originalFileNames.some((name) => /wasm\/(methods|records|waves)/.test(name))
            ? `assets/${ON_DEMAND}-[name]-[hash][extname]`
            : "assets/[name]-[hash][extname]",
        chunkFileNames: ({ facadeModuleId, isDynamicEntry }) => {
          const is = (module: string) => facadeModuleId?.endsWith(module);
          // Every page imports the lab later, by itself.
          const isAsked = isDynamicEntry && !is("engine/main-thread-lab.ts");
          const kind = is("engine/survey.ts") ? FIRST_PAGE : isAsked ? `${ON_DEMAND}-` : "";
          return `assets/${kind}[name]-[hash].js`;
        },
      },
    },
  },
  server: {
    // The package lies beside the page.
    fs: { allow: [".."] },
    // `npm run dev` beside a running `ldp-pca serve`.
    proxy: { "/tasks": "http://127.0.0.1:8080" },
  },
});
