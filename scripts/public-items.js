// The number of items that the library offers, as rustdoc shows them. An item under several names counts once.
// Not counted are variants, fields, implementations of traits, and documents.
//
// usage: node scripts/public-items.js [--list] [--limit N] [FILE]
//   --list      prints the paths
//   --limit N   fails if there are more than N
//   FILE        rustdoc's JSON; target/doc/ldp_pca.json where none is named, written by
//               RUSTC_BOOTSTRAP=1 cargo rustdoc -p ldp-pca --lib -- -Z unstable-options --output-format json

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const FILE = fileURLToPath(new URL("../target/doc/ldp_pca.json", import.meta.url));
const USAGE = "usage: node scripts/public-items.js [--list] [--limit N] [FILE]";

/** The kinds of items that count, by rustdoc's names. */
const COUNTED = new Set([
  "module",
  "struct",
  "enum",
  "union",
  "trait",
  "trait_alias",
  "function",
  "constant",
  "static",
  "type_alias",
  "assoc_const",
  "assoc_type",
  "macro",
  "proc_macro",
]);

/** The path of every item that can be reached from the root, by the first way to it. */
function publicItems({ index, root }) {
  const found = new Map();
  const visit = (id, prefix, renamed) => {
    const item = index[id];
    if (!item) return; // Hidden, private, or of another crate.
    if (item.name === "_documentation") return;
    const [[kind, inner]] = Object.entries(item.inner);
    if (kind === "use") {
      const target = index[inner.id];
      if (inner.is_glob) target?.inner.module?.items.forEach((child) => visit(child, prefix));
      else visit(inner.id, prefix, inner.name);
      return;
    }
    if (!COUNTED.has(kind) || found.has(id)) return;
    const path = [...prefix, renamed ?? item.name];
    found.set(id, path.join("::"));
    if (kind === "module" || kind === "trait") inner.items.forEach((child) => visit(child, path));
    for (const impl of inner.impls ?? []) {
      const { trait, items } = index[impl]?.inner.impl ?? { items: [] };
      if (!trait) items.forEach((child) => visit(child, path));
    }
  };
  // Modules first: an item has the path of its module, and its other names lead to the same.
  const { items } = index[root].inner.module;
  const isUse = (id) => Number(index[id] !== undefined && "use" in index[id].inner);
  [...items].sort((one, other) => isUse(one) - isUse(other)).forEach((id) => visit(id, []));
  return [...found.values()].sort();
}

function main(args) {
  let options;
  try {
    const known = { list: { type: "boolean" }, limit: { type: "string" } };
    options = parseArgs({ args, allowPositionals: true, options: known });
  } catch {
    options = null;
  }
  const { values = {}, positionals = [] } = options ?? {};
  if (!options || positionals.length > 1 || !/^\d+$/.test(values.limit ?? "0")) {
    console.error(USAGE);
    return 2;
  }
  const paths = publicItems(JSON.parse(readFileSync(positionals[0] ?? FILE, "utf8")));
  if (values.list) paths.forEach((path) => console.log(path));
  console.log(`${paths.length} public items`);
  if (values.limit !== undefined && paths.length > Number(values.limit)) {
    console.error(`at most ${values.limit} are wanted: take something back, or hide what only our own crates need`);
    return 1;
  }
  return 0;
}

process.exitCode = main(process.argv.slice(2));
