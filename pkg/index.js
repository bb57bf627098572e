// The entry for browsers, workers and bundlers.

import { start } from "./api.js";
import load from "./wasm/client/ldp_pca.js";

export * from "./client.js";

export function init(input) {
  // In this form bundlers see that the file belongs to the page.
  return start(() => load({ module_or_path: input ?? new URL("./wasm/client/ldp_pca_bg.wasm", import.meta.url) }));
}
