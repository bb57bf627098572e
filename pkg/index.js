// The entry for browsers, workers and bundlers.

import { start } from "./api.js";
import load from "./wasm/ldp_pca.js";

export * from "./client.js";

export function init(input) {
  // Without an input the module is the file beside wasm/ldp_pca.js, under a URL that bundlers recognize.
  return start(() => load(input === undefined ? undefined : { module_or_path: input }));
}
