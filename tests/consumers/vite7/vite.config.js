import { defineConfig } from "vite";

export default defineConfig({
  // Otherwise Vite 7 moves the JavaScript to a folder of its own, without the module beside it.
  optimizeDeps: { exclude: ["ldp-pca"] },
  server: { headers: { "content-security-policy": process.env.CONTENT_SECURITY_POLICY ?? "" } },
});
