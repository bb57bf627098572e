// The entry that contains the module: for bundlers that copy no files, and hosts that allow no fetch. It is the entry
// of Node too: bundles for a server (as Next makes them) have the module elsewhere than at a path in the bundle.

import { start } from "./api.js";
import base64 from "./wasm/client/ldp_pca_bg.wasm.js";

export * from "./client.js";

export function init(input) {
  return start(() => input ?? bytes(base64));
}

function bytes(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
