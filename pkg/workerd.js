// The entry for workerd (Cloudflare Workers), which compiles no bytes: the module is part of the deployment.

import { start } from "./api.js";
import module from "./wasm/client/ldp_pca_bg.wasm";

export * from "./client.js";

export function init(input) {
  return start(() => input ?? module);
}
