// The lab's entry for Node and what resolves like it.

import { readFile } from "node:fs/promises";

import { methods, start } from "./lab-modules.js";

export * from "./lab-api.js";

export function init(input) {
  return start(() => input ?? readFile(new URL("./wasm/lab/ldp_pca_bg.wasm", import.meta.url)));
}

export function loadMethods(input) {
  return methods.load(() => input ?? readFile(new URL("./wasm/methods/ldp_pca_bg.wasm", import.meta.url)));
}
