// Writes examples/cdn.html, with the hashes of the built package, to standard output.
//
// usage: node scripts/cdn-page.js > page.html   (after scripts/build-wasm.sh)

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * The page `html` with every … replaced by the hash that belongs there, of the files of the package in `folder`. Throws
 * when the page is for another version, or its import map does not name exactly the modules that are loaded.
 */
export function cdnPage(html, folder) {
  const { imports, integrity } = JSON.parse(inlineScripts(html)[0]);
  const base = imports["ldp-pca"].replace(/\/index\.js$/, "");
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!base.endsWith(`@${version}`))
    throw new Error(`the page has ${base}, and the package is ${version}: change the page`);

  const named = Object.keys(integrity);
  const loaded = modules(folder, "index.js").map((file) => `${base}/${file}`);
  const wrong = [...named.filter((url) => !loaded.includes(url)), ...loaded.filter((url) => !named.includes(url))];
  if (wrong.length > 0) throw new Error(`the page's import map and the package differ in: ${wrong.join(", ")}`);

  const hashOf = (url) => hash("sha384", readFileSync(join(folder, url.slice(base.length))));
  const [, wasm] = html.match(/"([^"]+\.wasm)"/);
  const files = html
    .replaceAll(/"([^"]+)": "sha384-…"/g, (_, url) => `"${url}": "${hashOf(url)}"`)
    .replace("sha384-…", hashOf(wasm));
  // The last, for they are of what stands in the page by now.
  const scripts = inlineScripts(files).map((script) => hash("sha256", script));
  return files.replaceAll("sha256-…", () => scripts.shift());
}

/** The modules that `file` loads, itself included, as paths in `folder`. */
function modules(folder, file, found = new Set()) {
  if (found.has(file)) return [];
  found.add(file);
  const text = readFileSync(join(folder, file), "utf8");
  for (const [, path] of text.matchAll(/^(?:import|export)\b[^"]*? from "(\.[^"]+)"/gm)) {
    modules(folder, posix.join(posix.dirname(file), path), found);
  }
  return [...found];
}

function inlineScripts(html) {
  return [...html.matchAll(/<script[^>]*>(.*?)<\/script>/gs)].map(([, script]) => script);
}

function hash(algorithm, data) {
  return `${algorithm}-${createHash(algorithm).update(data).digest("base64")}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.stdout.write(cdnPage(readFileSync(join(ROOT, "examples/cdn.html"), "utf8"), join(ROOT, "pkg")));
}
