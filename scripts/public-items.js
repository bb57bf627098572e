// The number of items that the library offers, as rustdoc shows them. Fails where it is too large. An item under
// several names counts once. Not counted are variants, fields, implementations of traits, and documents.
//
// usage: node scripts/public-items.js [--list] FILE
//   --list      prints the paths
//   FILE        rustdoc's JSON, target/doc/ldp_pca.json, written by
//               RUSTC_BOOTSTRAP=1 cargo rustdoc -p ldp-pca --lib -- -Z unstable-options --output-format json

import { readFileSync } from "node:fs";

/** The most that there may be. */
const LIMIT = 300;

/** The kinds that do not count, by rustdoc's names. */
const OTHERS = new Set(["extern_crate", "extern_type", "impl", "primitive", "struct_field", "variant"]);

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
    if (OTHERS.has(kind) || found.has(id)) return;
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
  const [file] = args.filter((one) => one !== "--list");
  const paths = publicItems(JSON.parse(readFileSync(file, "utf8")));
  if (args.includes("--list")) paths.forEach((path) => console.log(path));
  console.log(`${paths.length} public items`);
  if (paths.length <= LIMIT) return 0;
  console.error(`at most ${LIMIT} are wanted: take something back, or hide what only our own crates need`);
  return 1;
}

process.exitCode = main(process.argv.slice(2));
