// Time of a page from its start to its first report in a real Chromium, with each entry of the built package,
// bundled by Vite, and how long its main thread is busy at a stretch. Cold: a new profile. Warm: with what the browser
// has in its cache. scripts/setup.sh and scripts/build-wasm.sh come first; `make bench` does it all.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build } from "vite";

import { launchChromium } from "../tests/browser/chromium.js";
import { serve } from "../tests/browser/serve.js";
import { align, median, ROOT, run, taskOf, traceTasks } from "./command.js";

const ENTRIES = { "ldp-pca": "index.js", "ldp-pca/inline": "inline.js", "ldp-pca/worker": "worker.js" };
const DIMENSION = 116;
const COLD = 5;
const WARM = 30;

async function measureAll() {
  const folder = mkdtempSync(join(tmpdir(), "ldp-pca-page-start-"));
  try {
    const results = [];
    for (const [entry, file] of Object.entries(ENTRIES)) results.push({ entry, ...(await measure(folder, file)) });
    return { dimension: DIMENSION, results };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder, file) {
  const server = await serve(await buildPage(folder, file), {}, undefined, { "cache-control": "max-age=3600" });
  try {
    const cold = [];
    for (let index = 0; index < COLD; index += 1) cold.push(...(await starts(folder, server.url, 1)));
    // The first fills the cache, and the second lets the browser keep the code that it compiled.
    const warm = (await starts(folder, server.url, WARM + 2)).slice(2);
    const task = [];
    for (let index = 0; index < COLD; index += 1) task.push(await longestTask(server.url));
    return { cold, warm, task };
  } finally {
    await server.close();
  }
}

/** A page that makes one report, as a bundler builds it. Returns its folder. */
async function buildPage(folder, file) {
  const root = join(folder, file);
  mkdirSync(join(root, "public"), { recursive: true });
  const task = taskOf(DIMENSION, { type: "double-cap", epsilon: 2, candidates: 64, cap: 8 });
  writeFileSync(join(root, "public/task.json"), JSON.stringify(task));
  writeFileSync(
    join(root, "index.html"),
    `<!doctype html><link rel="icon" href="data:,"><title>start</title><script type="module" src="./main.js"></script>`,
  );
  writeFileSync(
    join(root, "main.js"),
    `import { init, Randomizer, Task } from ${JSON.stringify(join(ROOT, "pkg", file))};
    async function start() {
      performance.mark("the main thread");
      await init();
      const task = await Task.fetch("task.json");
      const record = Float64Array.from({ length: task.dimension }, (_, index) => Math.sin(index + 1));
      const report = await new Randomizer(task, { maxEpsilon: 2 }).randomize(record);
      if (report.bytes.length === task.reportBytes) window.reported = performance.now();
    }
    start();`,
  );
  await build({ configFile: false, logLevel: "error", root, build: { assetsInlineLimit: 0 } });
  return join(root, "dist");
}

/** The page's start so many times in one new profile: milliseconds until the first report. */
async function starts(folder, url, count) {
  const context = await launchChromium({ profile: mkdtempSync(join(folder, "profile-")) });
  try {
    const times = [];
    for (let index = 0; index < count; index += 1) {
      const page = await context.newPage();
      times.push(await start(page, url));
      await page.close();
    }
    return times;
  } finally {
    await context.close();
  }
}

async function start(page, url) {
  await page.goto(`${url}/`);
  await page.waitForFunction(() => window.reported);
  return page.evaluate(() => window.reported);
}

/** The longest task of the main thread in a cold start: milliseconds of its own time, whatever else runs. */
async function longestTask(url) {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await browser.startTracing(page, { categories: ["toplevel", "blink.user_timing"] });
    await start(page, url);
    const tasks = traceTasks(await browser.stopTracing(), "the main thread");
    return Math.max(...tasks.map(({ tdur }) => tdur)) / 1000;
  } finally {
    await browser.close();
  }
}

function table({ results }) {
  const head = ["", "cold ms", "warm ms", "(min)", "longest task ms"];
  const rows = results.map(({ entry, cold, warm, task }) => [
    entry,
    ...[median(cold), median(warm), Math.min(...warm), median(task)].map((time) => time.toFixed(1)),
  ]);
  return [
    `page start to first report in Chromium, d = ${DIMENSION}: medians of ${COLD} cold and ${WARM} warm starts`,
    "",
    ...align([head, ...rows]),
    "",
    "longest task: the main thread's own time in one task, from the start of the page to the report, cold",
  ].join("\n");
}

await run("page_start.js", measureAll, table);
