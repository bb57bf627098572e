// The page examples/cdn.html with the hashes of a package, which `npm pack` puts into the package (prepack.js).

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The page `html` with every … replaced by the hash that belongs there: of the file of the package in `folder`, and of
 * the page's own script. Throws when the page is for another version.
 */
export function cdnPage(html, folder) {
  const [, base, file] = html.match(/src="([^"]*\/ldp-pca@[^/]*)\/([^"]*)"/);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!base.endsWith(`@${version}`))
    throw new Error(`the page has ${base}, and the package is ${version}: change the page`);
  const [, script] = html.match(/<script>(.*?)<\/script>/s);
  return html
    .replace("sha384-…", hash("sha384", readFileSync(join(folder, file))))
    .replace("sha256-…", hash("sha256", script));
}

function hash(algorithm, data) {
  return `${algorithm}-${createHash(algorithm).update(data).digest("base64")}`;
}
