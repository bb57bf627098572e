// The entry for Node and what resolves like it: `fetch` does not read files there, so the module is read from disk.

import { readFile } from "node:fs/promises";

import { start } from "./api.js";

export * from "./client.js";

export function init(input) {
  return start(() => input ?? readFile(new URL("./wasm/client/ldp_pca_bg.wasm", import.meta.url)));
}
