import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    alias: [{ find: /^ldp-pca(\/worker)?$/, replacement: "ldp-pca/testing" }],
    environment: "jsdom",
    globals: true,
    testTimeout: 600_000,
  },
});
