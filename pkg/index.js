// The entry for browsers, workers and bundlers.

import { start } from "./api.js";
import load from "./wasm/client/ldp_pca.js";

export { LdpPcaError, Randomizer, Task, version } from "./api.js";

export function init(input) {
  // Without an input the module is the file beside wasm/client/ldp_pca.js, under a URL that bundlers recognize.
  return start(() => load(input === undefined ? undefined : { module_or_path: input }));
}
