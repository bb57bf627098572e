import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the page works under any path.
  base: "./",
  build: {
    // A content security policy without data: in it must not stop the page from loading the module.
    assetsInlineLimit: 0,
  },
  server: {
    // The page imports the package, which lies beside it.
    fs: { allow: [".."] },
  },
});
