// The lab's entry for browsers, workers and bundlers.

import { methods, start } from "./lab-modules.js";

export * from "./lab-api.js";

export function init(input) {
  // In this form bundlers see that the file belongs to the page.
  return start(() => input ?? new URL("./wasm/lab/ldp_pca_bg.wasm", import.meta.url));
}

export function loadMethods(input) {
  return methods.load(() => input ?? new URL("./wasm/methods/ldp_pca_bg.wasm", import.meta.url));
}
