import { defineConfig } from "vite";

export default defineConfig({
  server: { headers: { "content-security-policy": process.env.CONTENT_SECURITY_POLICY ?? "" } },
});
