import { fileURLToPath } from "node:url";

export default {
  output: "export",
  // The folder of this file, so that Next does not look for one above it.
  turbopack: { root: fileURLToPath(new URL(".", import.meta.url)) },
};
