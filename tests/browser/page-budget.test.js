// The size of the page's download.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { BUDGET, measure, PAGES, total } from "../../scripts/page-sizes.js";
import { launchChromium } from "./chromium.js";
import { DIST } from "./page-tools.js";
import { PATIENCE, served } from "./pages.js";

const server = served(DIST, {}, undefined, { "cache-control": "max-age=600" });
let browser;

before(async () => (browser = await launchChromium()));

after(() => browser?.close());

for (const name of PAGES) {
  test(`all files of the page are within its budget: ${name}`, () => {
    const sizes = measure();
    assert.ok(total(sizes, name) <= BUDGET, `${total(sizes, name)} bytes: ${JSON.stringify(sizes, null, 2)}`);
  });
}

test("the page loads its module once, for itself and all its workers, and nothing that is not its own", async () => {
  const context = await browser.newContext();
  const asked = [];
  context.on("request", (request) => asked.push(request.url()));
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${server.url}/`);
  await page.click("#error-run");
  await page.waitForFunction(() => performance.getEntriesByName("error: first point").length > 0);
  const paths = asked.map((url) => (url.startsWith(`${server.url}/`) ? url.slice(server.url.length + 1) : url));
  assert.equal(paths.filter((path) => path.endsWith(".wasm")).length, 1, paths.join("\n"));
  const files = new Set(["", "tasks", ...Object.keys(measure())]);
  assert.deepEqual(paths.filter((path) => !files.has(path)), []);
  assert.deepEqual(paths.filter((path) => path.includes("methods")), [], "nothing of the second page");
  await context.close();
});
