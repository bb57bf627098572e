// The demo page in a browser: opened, watched, and measured.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";

import { isAsked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { eventually, PATIENCE, ROOT, served } from "./pages.js";
import { serve } from "./serve.js";

export { eventually };

/** The built page. */
export const DIST = join(ROOT, "www/dist");
const SCREENSHOTS = join(ROOT, "tests/browser/screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The sections of the two pages, by the address of the page. */
export const PAGES = {
  "": ["map", "take-part", "error", "planner", "own"],
  "methods.html": ["one-report", "error", "sparse", "trust", "own"],
};

/** The views of different visitors. */
export const VIEWS = {
  light: { viewport: { width: 1200, height: 900 } },
  dark: { viewport: { width: 1200, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

/** State with little to simulate, for tests of other parts: what a page computes takes time from all others. */
export const QUIET = "error.dimension=8&error.rank=1&error.trials=1&error.mechanisms=double-cap";

/** Ends all pages of a browser, and what they compute. */
export async function closePages(browser) {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** The policy of the page itself, as its head has it. */
export function pagePolicy() {
  const [, policy] = readFileSync(join(DIST, "index.html"), "utf8").match(/Content-Security-Policy" content="([^"]+)"/);
  return policy.replaceAll("&#39;", "'");
}

/** The page as a host of files serves it, with its own policy in a header too. */
export function servePage() {
  return serve(DIST, {}, pagePolicy());
}

/**
 * The page at `url`, with the address `hash` (after `methods.html` for the second page), and what goes wrong in it:
 * errors, what its policy forbids, and requests to other hosts. A refusal that is `expected` (part of the console's
 * text) is none of that. In a `context` it is another tab.
 */
export async function openPage(browser, url, { hash = "", expected = [], context = browser, ...options } = {}) {
  const page = await context.newPage(context === browser ? options : undefined);
  page.setDefaultTimeout(PATIENCE);
  const trouble = [];
  const note = (text) => expected.some((part) => text.includes(part)) || trouble.push(text);
  await page.exposeFunction("noteViolation", (text) => note(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      globalThis.noteViolation(`${event.effectiveDirective} forbids ${event.blockedURI}`);
    });
  });
  page.on("pageerror", (error) => note(error.message));
  page.on("console", (message) => message.type() === "error" && note(`${message.text()} ${message.location().url}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith("blob:")) note(`request to ${request.url()}`);
  });
  await page.goto(`${url}/${hash}`);
  return { page, trouble };
}

/** That a host of files has no aggregator is expected, and the browser logs it. */
const NO_AGGREGATOR = ["404 (Not Found)"];

/**
 * The page on a host of files, and a `browser`, for all tests of a file; what a test leaves open is closed after it.
 * `open` is {@link openPage} there, and nothing may have gone wrong in its pages when the test ends.
 */
export function hostPage() {
  const opened = [];
  const server = served(DIST, {}, pagePolicy);
  let browser;
  before(async () => {
    if (isAsked("Chromium")) browser = await launchChromium();
  });
  afterEach(async () => {
    const trouble = opened.splice(0).flatMap(({ trouble }) => trouble);
    if (browser) await closePages(browser);
    assert.deepEqual(trouble, []);
  });
  after(() => browser?.close());
  return {
    get browser() {
      return browser;
    },
    get url() {
      return server.url;
    },
    async open(options) {
      const found = await openPage(browser, server.url, { expected: NO_AGGREGATOR, ...options });
      opened.push(found);
      return found;
    },
  };
}

/** Asserts that axe finds nothing wrong with the page, or with the part of it that `selector` names. */
export async function assertAccessible(page, selector = "html") {
  // The debugger's evaluations are not bound by the page's policy.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    (selector) => globalThis.axe.run(selector, { resultTypes: ["violations"] }),
    selector,
  );
  const found = violations.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.map(({ html }) => html.slice(0, 200)),
  }));
  assert.deepEqual(found, []);
}

/** Asserts that nothing sticks out to the right, once charts have followed the window's width. */
export async function assertFits(page) {
  const widths = () =>
    page.evaluate(() => ({
      content: document.documentElement.scrollWidth,
      width: document.documentElement.clientWidth,
    }));
  await eventually(widths, ({ content, width }) => content <= width);
}

/** Calls `look` with the name of each view that the page is turned to: what it has computed, it has computed once. */
export async function inEveryView(page, look) {
  for (const [view, { viewport, colorScheme = "light" }] of Object.entries(VIEWS)) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await look(view);
  }
}

/** Keeps a picture of a section for those who look. */
export async function screenshot(page, section, view) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.locator(`#${section}`).screenshot({ path: join(SCREENSHOTS, `${section}-${view}.png`) });
}

/** Moves a slider to `value` as a hand does: input on the way, change at the end. */
export async function slide(slider, value) {
  await slider.evaluate((input, value) => {
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, String(value));
}

/** The text of an element, in any browser; "" where there is none. */
export function said(page, selector) {
  const text = (selector) => document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
  return page.evaluate(text, selector);
}

/** Clicks the element that `selector` names, in any browser. */
export function click(page, selector) {
  return page.evaluate((selector) => document.querySelector(selector).click(), selector);
}

/** Brings every section of the page `name` into view, so that what begins when it is seen begins, in any browser. */
export async function scrollAll(page, name) {
  for (const section of PAGES[name]) {
    await page.evaluate((section) => document.getElementById(section).scrollIntoView(), section);
  }
}

/** Waits until an element says these words, and gives all that it says. */
export function saying(page, selector, words) {
  return eventually(() => said(page, selector), (text) => words.test(text));
}

/** Waits until the address has all these parts, and gives its state. */
export function address(page, ...parts) {
  return eventually(() => page.evaluate(() => location.hash), (hash) => parts.every((part) => hash.includes(part)));
}

/** Types a value into a field, and Enter. */
export async function enter(field, value) {
  await field.fill(value);
  await field.press("Enter");
}

/** The texts of all cells, row by row. */
export function cellsOf(rows) {
  return rows.evaluateAll((rows) => rows.map(({ cells }) => [...cells].map(({ textContent }) => textContent)));
}

/**
 * Waits until all charts have drawn what they have been told: each draws at most ten times a second, in a frame of its
 * own, and a page has fewer of them than this waits frames.
 */
export function drawn(page) {
  return page.evaluate(async () => {
    await new Promise((resolve) => setTimeout(resolve, 150));
    for (let frame = 0; frame < 10; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
}

/** The rows of a chart's table as texts. */
export async function tableOf(page, chart) {
  const details = page.locator(`#${chart} details`);
  if (!(await details.evaluate(({ open }) => open))) await details.locator("summary").click();
  await details.locator("tbody tr").first().waitFor();
  return cellsOf(details.locator("tr"));
}

/** The file that a button saves. */
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Keeps back the answers to requests for `file` until `release` is called; `asked` counts them. */
export async function keepBack(page, file) {
  const kept = { asked: 0 };
  const released = new Promise((resolve) => (kept.release = resolve));
  await page.route(file, async (route) => {
    kept.asked += 1;
    await released;
    await route.continue();
  });
  return kept;
}

/** A number as the page writes it: 1,200 or −0.12 or 4.74 × 10⁻⁵. */
export function parsed(text) {
  const [, digits, exponent = "0"] = text.match(/^([\d.,−-]+)(?: × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?$/) ?? [];
  if (digits === undefined) return NaN;
  const power = [...exponent].map((digit) => Math.max(0, "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit))).join("");
  return Number(`${digits.replaceAll(",", "").replace("−", "-")}e-${power}`);
}

/** The colours that a canvas has once what waits for a frame is drawn: a page has fewer maps than this waits frames. */
export function colors(canvas) {
  return canvas.evaluate(async (canvas) => {
    for (let frame = 0; frame < 10; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

