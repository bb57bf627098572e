// A static file server on a free port of the loopback interface, as strict as a careful host would be.

import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

import { listen } from "../js/answers.js";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
].join("; ");

/**
 * Serves the files under `root`, and `pages` (path to HTML) before them, all with `policy` for their content.
 * `headers` come in addition. Resolves to the server's `url` without a trailing slash, and `close`.
 */
export async function serve(root, pages = {}, policy = CONTENT_SECURITY_POLICY, headers = {}) {
  return listen(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = path.endsWith("/") ? `${path}index.html` : path;
    try {
      const body = pages[path] ?? (await readFile(join(root, normalize(file))));
      response.writeHead(200, {
        "content-type": path in pages ? TYPES[".html"] : (TYPES[extname(file)] ?? "application/octet-stream"),
        "content-security-policy": policy,
        ...headers,
      });
      response.end(body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" }).end(`no file ${file}`);
    }
  });
}

/** {@link serve} with these parameters, until the test `t` ends. */
export async function serveUntilEnd(t, ...given) {
  const server = await serve(...given);
  t.after(() => server.close());
  return server;
}
