// Speed of the demo page in a real Chromium: until something is painted, until the first point of a curve, until
// the default curves are complete, and for how long its main thread is busy at a stretch. `make page` comes first.

import { join } from "node:path";

import { measure as measureSizes, total } from "../scripts/page-sizes.js";
import { launchChromium } from "../tests/browser/chromium.js";
import { serve } from "../tests/browser/serve.js";
import { align, ROOT, run, traceTasks } from "./command.js";

const VISITS = 10;
/** The browser's own start is over by then: a visitor's browser has been running for a while. */
const REST_MS = 1500;
const MARKS = { point: "error: first point", epsilon: "error: all of epsilon", records: "error: all of records" };

async function measureAll() {
  const server = await serve(join(ROOT, "www/dist"));
  try {
    const runs = [];
    for (let index = 0; index < VISITS; index += 1) runs.push(await measure(server.url));
    const sizes = measureSizes();
    return { runs, sizes, total: total(sizes) };
  } finally {
    await server.close();
  }
}

/** One visit with a new browser: milliseconds from the start of the page, and its long tasks. */
async function measure(url) {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.addInitScript(() => {
      window.longTasks = [];
      new PerformanceObserver((list) => {
        for (const { startTime, duration } of list.getEntries()) window.longTasks.push({ startTime, duration });
      }).observe({ type: "longtask", buffered: true });
    });
    await page.waitForTimeout(REST_MS);
    // Beside the wall's clock, in which other work of the machine counts too, the thread's own.
    await browser.startTracing(page, { categories: ["toplevel", "blink.user_timing"] });
    await page.goto(`${url}/`);
    const last = Object.values(MARKS);
    await page.waitForFunction((names) => names.every((name) => performance.getEntriesByName(name).length > 0), last, {
      timeout: 600_000,
    });
    const tasks = traceTasks(await browser.stopTracing(), MARKS.point);
    const times = await page.evaluate((marks) => {
      const at = (name) => performance.getEntriesByName(name)[0].startTime;
      const times = Object.fromEntries(Object.entries(marks).map(([key, name]) => [key, at(name)]));
      return {
        threads: navigator.hardwareConcurrency,
        paint: at("first-contentful-paint"),
        ...times,
        longTasks: window.longTasks,
      };
    }, MARKS);
    // By the wall's clock and of the thread's own.
    const longest = Math.max(...tasks.map(({ dur }) => dur)) / 1000;
    return { ...times, longest, longestOwn: Math.max(...tasks.map(({ tdur }) => tdur)) / 1000 };
  } finally {
    await browser.close();
  }
}

function table({ runs, sizes, total }) {
  const head = ["", "first paint", "first point", "all of ε", "all of n", "tasks over 50 ms", "longest", "own time"];
  const most = (value) => Math.max(...runs.map(value));
  const ms = (time) => `${time.toFixed(0)} ms`;
  const row = (title, value) => [
    title,
    ...["paint", "point", "epsilon", "records"].map((name) => ms(value((run) => run[name]))),
    String(value(({ longTasks }) => longTasks.length)),
    ms(value(({ longest }) => longest)),
    ms(value(({ longestOwn }) => longestOwn)),
  ];
  const rows = [...runs.map((run, index) => row(`visit ${index + 1}`, (value) => value(run))), row("at most", most)];
  const files = Object.entries(sizes).map(([path, size]) => [path, String(size)]);
  return [
    `the demo page in Chromium, a new browser each, ${runs[0].threads} processors: from the start of the page`,
    "",
    ...align([head, ...rows]),
    "",
    "longest task of the main thread by the wall's clock, in which other work of the machine counts, and in its own " +
      "time",
    "all of ε: 20 trials x 10 points x 3 mechanisms and the floor; all of n: as many of the second chart, after it",
    "",
    ...align([["bytes after brotli", ""], ...files, ["in all", String(total)]]),
  ].join("\n");
}

await run("page.js", measureAll, table);
