// The package in a page: what the page's policy allows it, and the same bytes as elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EMPTY, inEachBrowser, openPage as open, ROOT, served, vectorTests } from "./pages.js";
import { serveUntilEnd } from "./serve.js";

const server = served(ROOT, { "/": EMPTY });

inEachBrowser((name, browser) => {
  const openPage = (url = server.url) => open(browser(), url);

  test("a policy that forbids wasm is an error with a code", async (t) => {
    const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, "default-src 'self'; img-src data:");
    const { page } = await openPage(strict.url);
    const error = await page.evaluate(async () => {
      const { init, LdpPcaError } = await import("/pkg/index.js");
      return init().catch((error) => ({ typed: error instanceof LdpPcaError, ...error, message: error.message }));
    });
    assert.equal(error.typed, true);
    assert.equal(error.code, "init");
    assert.match(error.message, /'wasm-unsafe-eval' to script-src/);
  });

  test("what a page can know of a request that failed is in the message, and the next call tries again", async (t) => {
    const here = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
    const [open, strict] = await Promise.all(
      [here, `${here}; connect-src 'none'`].map((policy) => serveUntilEnd(t, ROOT, { "/": EMPTY }, policy)),
    );
    const messages = async ({ url }) => {
      const { page } = await openPage(url);
      return page.evaluate(async () => {
        const { init, Task } = await import("/pkg/index.js");
        const message = (promise) => promise.then(String, ({ code, message }) => `${code}: ${message}`);
        // Nothing listens on either.
        return [
          await message(init("/")),
          await message(init()),
          await message(Task.fetch("http://127.0.0.1:9/tasks/1")),
        ];
      });
    };
    const [html, again, blocked] = await messages(open);
    assert.equal(again, "undefined");
    assert.match(html, /^init: .*http:.* is text\/html.*"<!doctype html.*not WebAssembly/);
    assert.match(blocked, /^fetch: no answer from http:\/\/127\.0\.0\.1:9\/tasks\/1: the page's policy.*connect-src/);
    const [, forbidden] = await messages(strict);
    assert.match(forbidden, /^init: .*ldp_pca_bg\.wasm: the page's policy forbids it.*connect-src/);
  });

  vectorTests(`in ${name}`, "/pkg/index.js", openPage);
});
