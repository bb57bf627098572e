// The downloads of a visitor of the built pages, file by file, in bytes after brotli, as sent by a host with
// precompressed files. The budget is for each of the two pages, with every section in view, without the files loaded on
// request.
//
// usage: node scripts/page-sizes.js   (after `make page`)

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const DIST = fileURLToPath(new URL("../www/dist", import.meta.url));

/** The most that a page may have, in bytes. */
export const BUDGET = 357_000;

export const PAGES = ["index", "methods"];

/** The bytes of every file of the built page, by its path. */
export function measure() {
  const entries = readdirSync(DIST, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".gz"));
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const content = readFileSync(path);
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      };
      return [path.slice(DIST.length + 1), brotliCompressSync(content, { params }).length];
    }),
  );
}

/** Whether the file of this path is loaded only by visitors who ask for what it does, or by others who show links. */
export function onDemand(path) {
  return path.includes("on-demand-") || path === "preview.png";
}

/** The sum of all files of a page but those on demand. */
export function total(sizes, page) {
  const others = PAGES.filter((other) => other !== page);
  const isOthers = (path) => others.some((other) => new RegExp(`(^|/)${other}[.-]`).test(path));
  return Object.entries(sizes).reduce((sum, [path, size]) => (onDemand(path) || isOthers(path) ? sum : sum + size), 0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const sizes = measure();
  for (const [path, size] of Object.entries(sizes)) console.log(`${String(size).padStart(8)}  ${path}`);
  for (const page of PAGES) {
    console.log(`${String(total(sizes, page)).padStart(8)}  ${page}: all but those on demand, of ${BUDGET}`);
  }
}
