// Speed of the demo page in a real Chromium: until something is painted, until the map is there, until the curves are
// predicted and, once they are asked for, simulated, and for how long its main thread is busy at a stretch. `make page`
// comes first.

import { join } from "node:path";

import { measure as measureSizes, total } from "../scripts/page-sizes.js";
import { launchChromium } from "../tests/browser/chromium.js";
import { serve } from "../tests/browser/serve.js";
import { align, ROOT, run } from "./command.js";

const VISITS = 10;
/** The browser's own start is over by then: a visitor's browser has been running for a while. */
const REST_MS = 1500;
const MARKS = {
  map: "map: first picture",
  predicted: "error: records predicted",
  epsilon: "error: all of epsilon",
  records: "error: all of records",
};

async function measureAll() {
  const server = await serve(join(ROOT, "www/dist"));
  try {
    const runs = [];
    for (let index = 0; index < VISITS; index += 1) runs.push(await measure(server.url));
    const sizes = measureSizes();
    return { runs, sizes, total: total(sizes, "index") };
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
    const marked = (names) =>
      page.waitForFunction((names) => names.every((name) => performance.getEntriesByName(name).length > 0), names, {
        timeout: 600_000,
      });
    await marked([MARKS.map, MARKS.predicted]);
    await page.click("#error-run");
    await marked(Object.values(MARKS));
    const tasks = traceTasks(await browser.stopTracing(), MARKS.predicted);
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

/** In a browser's trace the tasks of the thread that has made this mark. */
function traceTasks(trace, mark) {
  const { traceEvents } = JSON.parse(trace);
  const { pid, tid } = traceEvents.find(({ name }) => name === mark);
  return traceEvents.filter((event) => event.pid === pid && event.tid === tid && event.tdur !== undefined);
}

function table({ runs, sizes, total }) {
  const head = ["", "first paint", "map", "predicted", "all of ε", "all of n", "over 50 ms", "longest", "own time"];
  const most = (value) => Math.max(...runs.map(value));
  const ms = (time) => `${time.toFixed(0)} ms`;
  const row = (title, value) => [
    title,
    ...["paint", "map", "predicted", "epsilon", "records"].map((name) => ms(value((run) => run[name]))),
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
    "all of ε: 20 trials x 10 points of double-cap and the floor; all of n: as many of the second chart, after it",
    "",
    ...align([["bytes after brotli", ""], ...files, ["in all, of the first page", String(total)]]),
  ].join("\n");
}

await run(measureAll, table);
