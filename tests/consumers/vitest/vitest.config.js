import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    alias: [{ find: /^ldp-pca(\/collect|\/worker)?$/, replacement: "ldp-pca/testing" }],
    environment: "jsdom",
    globals: true,
    testTimeout: 600_000,
  },
});
