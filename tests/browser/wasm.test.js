import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launchChromium } from "./chromium.js";
import { serve } from "./serve.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let browser;
let server;

before(async () => {
  server = await serve(ROOT, { "/": '<!doctype html><link rel="icon" href="data:,"><title>empty</title>' });
  browser = await launchChromium();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test("the wasm module starts on a page whose policy allows wasm and nothing else", async () => {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(`${server.url}/`);
  const version = await page.evaluate(async () => {
    const wasm = await import("/pkg/wasm/ldp_pca.js");
    await wasm.default();
    return wasm.version();
  });
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.deepEqual(errors, []);
});
