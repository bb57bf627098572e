// The packed package in what web developers use: installed, built, and run in real browsers and runtimes. Each consumer
// makes a report with every entry that it uses, and the native aggregator accepts it.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Aggregator } from "../browser/aggregator.js";
import { launchChromium } from "../browser/chromium.js";
import { launchFirefox } from "../browser/firefox.js";
import { serve } from "../browser/serve.js";
import { Consumer, pack } from "./consumer.js";

const TASK = new URL("../../examples/task.json", import.meta.url);
const ACCEPTED = { status: "accepted", attempts: 1 };

/** Consumers that build a page: where, how many entries of the package it uses, how many files with the module it has. */
const BUILDS = {
  "tests/consumers/vite8": ["dist", { entries: 2, modules: 1 }],
  "tests/consumers/vite7": ["dist", { entries: 2, modules: 1 }],
  "tests/consumers/webpack5": ["dist", { entries: 2, modules: 1 }],
  "tests/consumers/next": ["out", { entries: 2, modules: 1 }],
  "tests/consumers/esbuild": ["dist", { entries: 1, modules: 0 }],
};

/** Consumers with a development server that is used in the browser. */
const DEVELOPMENT = ["tests/consumers/vite8", "tests/consumers/vite7"];

/** Consumers without a page: the scripts of their package.json. */
const RUNTIMES = {
  "tests/consumers/node": ["import", "require", "inline"],
  "tests/consumers/deno": ["import", "inline"],
  "tests/consumers/bun": ["import"],
};

let aggregator;
let browsers;
let tarball;

before(async () => {
  tarball = pack();
  aggregator = new Aggregator(JSON.parse(readFileSync(TASK, "utf8")));
  await aggregator.start();
  browsers = { Chromium: await launchChromium(), Firefox: await launchFirefox() };
});

after(async () => {
  for (const browser of Object.values(browsers ?? {})) await browser.close();
  await aggregator?.remove();
  tarball?.remove();
});

for (const [source, [folder, { entries, modules }]] of Object.entries(BUILDS)) {
  test(`${source}: the built page, under a strict policy`, async (t) => {
    const consumer = await install(t, source);
    await consumer.run("build");
    const built = join(consumer.folder, folder);
    const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith(".wasm"));
    assert.equal(files.length, modules, `${files}`);
    // Not every bundler makes the page too.
    if (!existsSync(join(built, "index.html"))) {
      copyFileSync(join(consumer.folder, "index.html"), join(built, "index.html"));
    }
    const server = await serve(built, {}, policy(join(built, "index.html")));
    t.after(() => server.close());
    await everyBrowserTakesPart(server.url, entries);
  });
}

for (const source of DEVELOPMENT) {
  test(`${source}: the development server, under a strict policy`, async (t) => {
    const consumer = await install(t, source);
    const environment = { CONTENT_SECURITY_POLICY: policy() };
    const server = await consumer.serve("vite", ["--host", "127.0.0.1"], environment);
    t.after(() => server.close());
    await everyBrowserTakesPart(server.url, 2);
  });
}

for (const [source, scripts] of Object.entries(RUNTIMES)) {
  describe(source, () => {
    for (const script of scripts) {
      test(script, async (t) => {
        const consumer = await install(t, source);
        await reportsMore(1, async () => [JSON.parse(await consumer.run(script, aggregator.url))]);
      });
    }
  });
}

async function install(t, source) {
  const consumer = await Consumer.install(source, tarball.file);
  t.after(() => consumer.remove());
  return consumer;
}

/** That a page takes part without any error, also of its policy, in its console. */
async function everyBrowserTakesPart(url, entries) {
  for (const [name, browser] of Object.entries(browsers)) {
    const page = await browser.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await reportsMore(entries, async () => {
      await page.goto(`${url}/?aggregator=${aggregator.url}`);
      try {
        await page.waitForFunction(() => document.body?.dataset.outcomes);
      } catch (error) {
        throw new Error(`${name}: no outcomes; ${JSON.stringify(errors)}`, { cause: error });
      }
      return JSON.parse(await page.evaluate(() => document.body.dataset.outcomes));
    }, name);
    assert.deepEqual(errors, [], name);
    await page.close();
  }
}

/** That `participate` resolves to the news that so many reports were accepted, and that they were. */
async function reportsMore(count, participate, message) {
  const before = await records();
  assert.deepEqual(await participate(), Array(count).fill(ACCEPTED), message);
  assert.equal(await records(), before + count, message);
}

async function records() {
  const { tasks } = await aggregator.get("/tasks");
  return (await aggregator.get(`/tasks/${tasks[0]}/status`)).records;
}

/**
 * A content security policy that allows what is needed and nothing else: no `eval`, and no inline scripts but those of
 * the file `page`, by their hashes.
 */
function policy(page) {
  const html = page ? readFileSync(page, "utf8") : "";
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(
    ([, script]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self' 'wasm-unsafe-eval'", ...inline].join(" "),
    `connect-src 'self' ${aggregator.url}`,
    "img-src data:",
    "style-src 'self'",
    "font-src 'self'",
  ].join("; ");
}
