// The packed package in what web developers use, and in the examples that they copy: installed, built, and run in real
// browsers and runtimes. Each makes a report with every entry that it uses, and the native aggregator accepts it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync, copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { cdnPage } from "../../scripts/cdn-page.js";
import { Aggregator, binary } from "../browser/aggregator.js";
import { launchChromium } from "../browser/chromium.js";
import { launchFirefox } from "../browser/firefox.js";
import { openPage, PATIENCE } from "../browser/pages.js";
import { serveUntilEnd } from "../browser/serve.js";
import { inTurn } from "../js/hooks.js";
import { Consumer, pack } from "./consumer.js";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const ACCEPTED = { status: "accepted", attempts: 1 };

/** Consumers that build a page: where, how many entries of the package it uses, how many modules its files are. */
const BUILDS = {
  "tests/consumers/vite8": ["dist", { entries: 3, modules: 3 }],
  "tests/consumers/vite7": ["dist", { entries: 3, modules: 3 }],
  "tests/consumers/webpack5": ["dist", { entries: 3, modules: 3 }],
  "tests/consumers/next": ["out", { entries: 2, modules: 1 }],
  "tests/consumers/esbuild": ["dist", { entries: 1, modules: 0 }],
};

/** Consumers with a development server that is used in the browser. */
const DEVELOPMENT = ["tests/consumers/vite8", "tests/consumers/vite7"];

/** Consumers without a page: the scripts of their package.json. */
const RUNTIMES = {
  "tests/consumers/node": ["import", "require", "inline", "lab"],
  "tests/consumers/node24": ["import", "require", "inline"],
  "tests/consumers/deno": ["import", "inline"],
  "tests/consumers/bun": ["import", "inline"],
};

/** Consumers whose own tests run with `ldp-pca/testing`: the scripts of their package.json. */
const TESTED = { "tests/consumers/vitest": ["modules"], "tests/consumers/jest": ["commonjs", "modules"] };

const aggregator = Aggregator.forTests(JSON.parse(readFileSync(join(EXAMPLES, "app-task.json"), "utf8")));
let browsers;
let digest;
let tarball;
/** The installed consumers, by source: several tests use some. */
const installed = new Map();

inTurn(async () => {
  tarball = pack();
  [digest] = (await aggregator.get("/tasks")).tasks;
  browsers = { Chromium: await launchChromium(), Firefox: await launchFirefox() };
});

after(async () => {
  for (const browser of Object.values(browsers ?? {})) await browser.close();
  for (const consumer of installed.values()) await consumer.remove();
  tarball?.remove();
});

for (const [source, [folder, { entries, modules }]] of Object.entries(BUILDS)) {
  test(`${source}: the built page, under a strict policy`, async (t) => {
    const consumer = await install(source);
    await consumer.run("build");
    const built = join(consumer.folder, folder);
    const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith(".wasm"));
    assert.equal(files.length, modules, `${files}`);
    // Not every bundler makes the page too.
    if (!existsSync(join(built, "index.html"))) {
      copyFileSync(join(consumer.folder, "index.html"), join(built, "index.html"));
    }
    const server = await serveUntilEnd(t, built, {}, policy(join(built, "index.html")));
    await everyBrowserTakesPart(server.url, entries);
  });
}

for (const source of DEVELOPMENT) {
  test(`${source}: the development server, under a strict policy`, async (t) => {
    const consumer = await install(source);
    const environment = { CONTENT_SECURITY_POLICY: policy() };
    const server = await consumer.serve("vite", ["--host", "127.0.0.1"], environment);
    t.after(() => server.close());
    await everyBrowserTakesPart(server.url, 3);
  });
}

for (const [source, scripts] of Object.entries(RUNTIMES)) {
  describe(source, () => {
    for (const script of scripts) {
      test(script, async () => {
        const consumer = await install(source);
        await reportsMore(1, async () => [JSON.parse(await consumer.run(script, [aggregator.url]))]);
      });
    }
  });
}

for (const [source, scripts] of Object.entries(TESTED)) {
  for (const script of scripts) {
    test(`${source}: an app's tests run in jsdom, ${script}`, async () => {
      const consumer = await install(source);
      copyFileSync(join(EXAMPLES, "app-task.json"), join(consumer.folder, "task.json"));
      await reportsMore(0, async () => (await consumer.run(script), []));
    });
  }
}

test("examples/node: a device takes part", async () => {
  const consumer = await install("examples/node");
  await reportsMore(1, async () => [JSON.parse(await consumer.run("start", [aggregator.url, digest]))]);
});

/** Examples of a page, and whether it knows a visitor at once who comes again. */
for (const [source, knows] of [["examples/vite", false], ["examples/react", false], ["examples/vue", true]]) {
  test(`${source}: a visitor takes part, once${knows ? ", and is known again" : ""}`, async (t) => {
    const consumer = await install(source);
    assert.match(readFileSync(join(consumer.folder, ".env"), "utf8"), new RegExp(`^VITE_TASK=${digest}$`, "m"));
    await consumer.run("build", [], { VITE_AGGREGATOR: aggregator.url });
    const server = await serveUntilEnd(t, join(consumer.folder, "dist"), {}, policy());
    await visitorsTakePart(server.url, knows);
  });
}

test("examples/react: in StrictMode, which mounts everything twice, one report is made", async (t) => {
  const consumer = await install("examples/react");
  const server = await consumer.serve("vite", ["--host", "127.0.0.1"], { VITE_AGGREGATOR: aggregator.url });
  t.after(() => server.close());
  await visitorsTakePart(server.url, false);
});

test("examples/next: a server component shows the consent, and a visitor takes part, once", async (t) => {
  const consumer = await install("examples/next");
  assert.match(readFileSync(join(consumer.folder, ".env"), "utf8"), new RegExp(`^TASK=${digest}$`, "m"));
  await consumer.run("build");
  const server = await consumer.serve("next", ["start", "-H", "127.0.0.1", "-p", "0"], { AGGREGATOR: aggregator.url });
  t.after(() => server.close());
  const response = await fetch(`${server.url}/`);
  assert.equal(response.status, 200);
  assert.match(await response.text(), /Who asks: Example Club\..*One report of 35 bytes leaves this device/);
  await visitorsTakePart(server.url, false);
});

test("the README's survey, in one call and by the parts, from its commands to the owner's page", async (t) => {
  const consumer = await install("tests/consumers/vite8");
  const readme = readFileSync(join(consumer.folder, "node_modules/ldp-pca/README.md"), "utf8");
  const block = (language, title = "A survey from zero", index = 0) => {
    const [, section] = readme.match(new RegExp(`^## ${title}\\n(.*?)^## `, "ms"));
    return [...section.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))][index][1];
  };

  writeFileSync(join(consumer.folder, "sample.csv"), block("csv"));
  const [infer, create, start] = block("sh").trim().split("\n");
  const commandLine = (line) => line.split(" ").slice(1);
  for (const line of [infer, create])
    execFileSync(binary(), commandLine(line), { cwd: consumer.folder, stdio: "pipe" });
  const server = await consumer.serve(binary(), [...commandLine(start), "--listen", "127.0.0.1:0"]);
  t.after(() => server.close());
  const [task] = (await (await fetch(`${server.url}/tasks`)).json()).tasks;
  assert.ok(block("js").includes(task));

  const allowed = policy().replace(aggregator.url, server.url);
  const strict = `${allowed}; require-trusted-types-for 'script'`;
  const counted = async () => (await (await fetch(`${server.url}/tasks/${task}/status`)).json()).records;
  const buttons = block("html", "The parts");
  const html = block("html");
  assert.ok(html.includes("<button>Take part</button>"));
  for (const [code, page, knows] of [
    [block("js"), html, false],
    [block("js", "The parts"), html.replace("<button>Take part</button>", buttons), true],
  ]) {
    // No test after this one uses the consumer's own page.
    writeFileSync(join(consumer.folder, "index.html"), page);
    writeFileSync(join(consumer.folder, "main.js"), code.replace("http://127.0.0.1:8080", server.url));
    await consumer.run("build");
    const site = await serveUntilEnd(t, join(consumer.folder, "dist"), {}, strict);
    await visitorsTakePart(site.url, knows, counted);
  }

  // The made-up people.
  writeFileSync(join(consumer.folder, "people.mjs"), block("js", undefined, 1));
  const [make, ...send] = block("sh", undefined, 1).replaceAll("http://127.0.0.1:8080", server.url).trim().split("\n");
  const people = execFileSync("node", ["people.mjs"], { cwd: consumer.folder });
  writeFileSync(join(consumer.folder, make.split(" > ")[1]), people);
  for (const line of send) execFileSync(binary(), commandLine(line), { cwd: consumer.folder, stdio: "pipe" });
  const token = readFileSync(join(consumer.folder, "collected/collector.token"), "utf8").trim();
  const headers = { Authorization: `Basic ${Buffer.from(`anybody:${token}`).toString("base64")}`, Accept: "text/html" };
  assert.match(await (await fetch(server.url, { headers })).text(), new RegExp(`tasks/${task}/report`));
  const report = await (await fetch(`${server.url}/tasks/${task}/report`, { headers })).text();
  const result = report.replaceAll(/<[^>]*>/g, "");
  assert.match(result, /The strongest is: more (running and cycling|cycling and running)\./);
});

describe("examples/cdn.html", () => {
  test("a visitor takes part", async (t) => {
    const { url } = await deliver(t);
    for (const [name, browser] of Object.entries(browsers)) {
      const before = await records();
      const { page, errors } = await openPage(browser, url);
      assert.equal(await click(page), "Counted. Thank you!", name);
      assert.equal(await records(), before + 1, name);
      assert.deepEqual(errors, [], name);
      await page.close();
    }
  });

  test("with another script than it was written for it does nothing", async (t) => {
    const { folder, url } = await deliver(t);
    appendFileSync(join(folder, "wasm/collect.min.js"), "\n");
    for (const [name, browser] of Object.entries(browsers)) {
      const { page, errors } = await openPage(browser, url);
      // Not every browser's console has why it did not run the script.
      for (const end = Date.now() + PATIENCE; !/integrity|ldpPca/i.test(errors.join()); await setTimeout(20)) {
        assert.ok(Date.now() < end, `${name}: ${errors}`);
      }
      assert.equal(await page.evaluate(() => document.querySelector("button").disabled), true, name);
      await page.close();
    }
  });
});

/** That a visitor of each browser is counted once, and told so after a reload: at once, or on agreeing again. */
async function visitorsTakePart(url, knows = true, counted = records) {
  for (const [name, browser] of Object.entries(browsers)) {
    const before = await counted();
    const { page, errors } = await openPage(browser, url);
    assert.equal(await click(page), "Counted. Thank you!", name);
    await page.reload();
    await tellsAgain(page, errors, knows, name);
    assert.equal(await counted(), before + 1, name);
    // The README's page has no icon.
    assert.deepEqual(errors.filter((text) => !/favicon/.test(text)), [], name);
    await page.close();
  }
}

/** That a page tells a visitor who comes again: at once, with its button disabled, or on agreeing again. */
async function tellsAgain(page, errors, knows, name) {
  const again = "You took part already. Thank you!";
  if (!knows) return assert.equal(await click(page), again, name);
  await until(page, errors, () => document.querySelector("[role=status]")?.textContent);
  const found = await page.evaluate(() => {
    return [document.querySelector("[role=status]").textContent, document.querySelector("button").disabled];
  });
  assert.deepEqual(found, [again, true], name);
}

async function install(source) {
  if (!installed.has(source)) installed.set(source, await Consumer.install(source, tarball.file));
  return installed.get(source);
}

/** The page examples/cdn.html at `url`, and at another origin the package in `folder`. */
async function deliver(t) {
  const consumer = await install("tests/consumers/node");
  const network = mkdtempSync(join(consumer.folder, "network-"));
  const { version } = JSON.parse(readFileSync(join(consumer.folder, "node_modules/ldp-pca/package.json"), "utf8"));
  const folder = join(network, `npm/ldp-pca@${version}`);
  cpSync(join(consumer.folder, "node_modules/ldp-pca"), folder, { recursive: true });
  const files = await serveUntilEnd(t, network, {}, "", { "access-control-allow-origin": "*" });
  const html = readFileSync(join(EXAMPLES, "cdn.html"), "utf8");
  assert.ok(html.includes(digest));
  const here = html
    .replaceAll("https://cdn.jsdelivr.net", files.url)
    .replaceAll("https://aggregator.example", aggregator.url);
  const page = await serveUntilEnd(t, network, { "/": cdnPage(here, folder) }, "");
  return { folder, url: page.url };
}

/** That a page takes part by every entry without any error, also of its policy, in its console. */
async function everyBrowserTakesPart(url, entries) {
  for (const [name, browser] of Object.entries(browsers)) {
    await reportsMore(
      entries,
      async () => {
        const { page, errors } = await openPage(browser, url, `/?aggregator=${aggregator.url}`);
        await until(page, errors, () => document.body?.dataset.outcomes);
        const outcomes = JSON.parse(await page.evaluate(() => document.body.dataset.outcomes));
        assert.deepEqual(errors, [], name);
        await page.close();
        return outcomes;
      },
      name,
    );
  }
}

/** That `participate` resolves to the news that so many reports were accepted, and that they were. */
async function reportsMore(count, participate, message) {
  const before = await records();
  assert.deepEqual(await participate(), Array(count).fill(ACCEPTED), message);
  assert.equal(await records(), before + count, message);
}

/**
 * Clicks the button of an example when the page lets one, agrees where a dialog asks, and returns what the page says in
 * the end.
 */
async function click(page) {
  await until(page, [], () => document.querySelector("button:not([type]):enabled"));
  await page.click("button:not([type])");
  await until(page, [], () => {
    const asks = document.querySelector("ldp-pca-consent")?.shadowRoot?.querySelector("dialog[open]");
    asks?.querySelectorAll("button")[1].click();
    return /[.!]$/.test(document.querySelector("[role=status]").textContent);
  });
  return page.evaluate(() => document.querySelector("[role=status]").textContent);
}

async function until(page, errors, condition) {
  try {
    await page.waitForFunction(condition);
  } catch (cause) {
    const text = await page.evaluate(() => document.body.innerText);
    throw new Error(`not on the page: ${condition}; it says “${text}” and ${JSON.stringify(errors)}`, { cause });
  }
}

const records = () => aggregator.records(digest);

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
