import { fileURLToPath } from "node:url";

export default {
  // The folder of this file. Otherwise Next looks for one above it.
  turbopack: { root: fileURLToPath(new URL(".", import.meta.url)) },
};
