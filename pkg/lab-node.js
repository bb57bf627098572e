// The lab's entry for Node and what resolves like it.

import { readFile } from "node:fs/promises";

import { start } from "./lab-api.js";
import load from "./wasm/lab/ldp_pca.js";

export * from "./lab-exports.js";

export function init(input) {
  return start(async () =>
    load({ module_or_path: input ?? (await readFile(new URL("./wasm/lab/ldp_pca_bg.wasm", import.meta.url))) }),
  );
}
