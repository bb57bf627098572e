// The pages that tests of the package open, and what is tested alike through every entry and in every browser.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { inTurn } from "../js/hooks.js";
import { asked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { launchFirefox } from "./firefox.js";
import { serve } from "./serve.js";

/** Milliseconds after which a test gives up what it waits for: no machine is so busy. */
export const PATIENCE = 600_000;
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A page with nothing in it, which asks for no icon either. */
export const EMPTY = '<!doctype html><link rel="icon" href="data:,"><title>empty</title>';
/** The policy of a page that runs the package, and that connects to its own origin and these. */
export const policyFor = (...origins) =>
  `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:; connect-src 'self' ${origins.join(" ")}`;
/** How the browsers are launched. */
export const BROWSERS = asked({ Chromium: { launch: launchChromium }, Firefox: { launch: launchFirefox } });

const VECTORS = join(ROOT, "tests/vectors/v1");

/** Has the tests that `define(name, browser, more)` defines in each of these browsers, which `browser()` gives. */
export function inEachBrowser(define, browsers = BROWSERS) {
  for (const [name, { launch, concurrency, skip, ...more }] of Object.entries(browsers)) {
    describe(name, { concurrency, skip }, () => {
      let browser;
      before(async () => (browser = await launch()));
      after(() => browser?.close());
      define(name, () => browser, more);
    });
  }
}

/** {@link serve} with these parameters, of which functions give what is not known before, for all tests of a file. */
export function served(...given) {
  const server = {};
  const now = () => given.map((one) => (typeof one === "function" ? one() : one));
  inTurn(async () => Object.assign(server, await serve(...now())));
  after(() => server.close?.());
  return server;
}

/** A page, and the errors that it reports. */
export async function openPage(browser, url, path = "/") {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url + path);
  return { page, errors };
}

/** {@link openPage}, until the test `t` ends: then nothing has gone wrong in the page. */
export async function quietPage(t, ...given) {
  const { page, errors } = await openPage(...given);
  t.after(async () => {
    await page.close();
    assert.deepEqual(errors, []);
  });
  return page;
}

/** Waits until `read()` gives something that passes `wanted`; what it gave last is in the error. */
export async function eventually(read, wanted) {
  for (const end = performance.now() + PATIENCE; ; await milliseconds(20)) {
    const found = await read();
    if (wanted(found)) return found;
    if (performance.now() > end) assert.fail(`still ${JSON.stringify(found)} after ${PATIENCE} ms: ${read}`);
  }
}

/** Waits until `look` gives something true. */
export const until = (look) => eventually(look, Boolean);

export const milliseconds = (time) => new Promise((resolve) => setTimeout(resolve, time));

/**
 * The test vectors through an entry of the package, in pages that `open` gives; `where` completes the tests' names. (Of
 * an entry with a worker, whose source of randomness is out of reach, the tasks alone; its module is that of the
 * others.)
 */
export function vectorTests(where, entry, open, files = readdirSync(VECTORS)) {
  for (const file of files) {
    test(`${file}: the same bytes ${where} as natively`, async () => {
      const { page, errors } = await open();
      const differences = await page.evaluate(async ([entry, vectors]) => {
        const api = await import(entry);
        const { differences } = await import("/tests/js/vectors.js");
        await api.init();
        return differences(api, vectors);
      }, [entry, JSON.parse(readFileSync(join(VECTORS, file), "utf8"))]);
      assert.deepEqual(differences, []);
      assert.deepEqual(errors, []);
    });
  }
}
