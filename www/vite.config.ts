import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

// The page keeps to itself wherever it is hosted. Only in the build: the development server inserts inline styles.
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const contentSecurityPolicy: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: policy }, injectTo: "head-prepend" },
  ],
};

export default defineConfig({
  // Relative, so that the page works under any path.
  base: "./",
  plugins: [contentSecurityPolicy],
  resolve: {
    // The page uses the package as any other page would.
    alias: { "ldp-pca/lab": fileURLToPath(new URL("../pkg/lab.js", import.meta.url)) },
  },
  build: {
    // A content security policy without data: in it must not stop the page from loading the module.
    assetsInlineLimit: 0,
  },
  server: {
    // The package lies beside the page.
    fs: { allow: [".."] },
    // `npm run dev` beside a running `ldp-pca serve`.
    proxy: { "/tasks": "http://127.0.0.1:8080" },
  },
});
