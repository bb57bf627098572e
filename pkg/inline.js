// The entry that carries the module within: for bundlers that copy no files, and hosts that let nothing be fetched. It
// is the entry of Node too: who bundles for a server (Next does) puts the module elsewhere than a path in the bundle
// says.

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
