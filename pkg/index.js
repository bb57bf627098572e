// The entry for browsers, workers and bundlers.

import { start } from "./api.js";

export * from "./client.js";

export function init(input) {
  // In this form bundlers see that the file belongs to the page.
  return start(() => input ?? new URL("./wasm/client/ldp_pca_bg.wasm", import.meta.url));
}
