// The whole page, as a host of files serves it: every view, every section, by every way of using it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  assertAccessible, assertFits, enter, eventually, hostPage, keepBack, QUIET, screenshot, SECTIONS, VIEWS,
} from "./page-tools.js";
import { PATIENCE } from "./pages.js";

const host = hostPage();

/** The page, once everything in it has come to rest. */
async function open(options) {
  const opened = await host.open({ hash: `#&${QUIET}`, ...options });
  const { page } = opened;
  await page.locator("#one-report-bytes .payload").waitFor();
  await page.getByText("No aggregator here.").waitFor();
  return opened;
}

/** Brings every section into view, so that what begins when it is seen begins, and waits until it is done. */
async function settle(page) {
  for (const section of SECTIONS) await page.locator(`#${section}`).scrollIntoViewIfNeeded();
  await page.locator("#sparse-fantope canvas[aria-label*='heat map']").waitFor();
  await page.waitForFunction(() => document.getElementById("sparse-cancel").hidden);
  await page.locator("#error-status").getByText(/^Done: /).waitFor();
  await page.locator("#planner-answer p").first().waitFor();
  await page.locator("#trust-chart .legend li").first().waitFor();
  await page.locator("#trust-status").getByText(/^Done\./).waitFor();
}

for (const [view, options] of Object.entries(VIEWS)) {
  test(`every section is there, fits, and axe finds nothing: ${view}`, async () => {
    // The records that a visitor finds, with fewer trials.
    const { page } = await open({ hash: "#&error.trials=2", ...options });
    await settle(page);
    for (const section of SECTIONS) await screenshot(page, section, section === "take-part" ? `alone-${view}` : view);
    await assertFits(page);
    await assertAccessible(page);
    // Tables and explanations that are folded away are part of the page too.
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await assertFits(page);
    await assertAccessible(page);
  });
}

test("with the keyboard alone everything is reached in order, and seen where it is", async () => {
  const { page } = await open({ viewport: VIEWS.light.viewport });
  await settle(page);
  await page.evaluate(() => {
    scrollTo(0, 0);
    document.activeElement.blur();
  });
  const expected = await page.evaluate(() => {
    const all = "a[href], button, input, select, textarea, summary, [tabindex]";
    const focusable = [...document.querySelectorAll(all)].filter(
      (node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }),
    );
    // Radio buttons of one name are one stop.
    return focusable.length;
  });
  const seen = [];
  for (let step = 0; step < expected + 20; step += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(node);
      const { top, bottom, height } = node.getBoundingClientRect();
      return {
        what: `${node.tagName} ${node.id || node.textContent.slice(0, 30)}`,
        section: node.closest("section")?.id ?? "",
        ring: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
        inView: height > innerHeight || (bottom > 0 && top < innerHeight),
      };
    });
    if (!stop) break;
    seen.push(stop);
  }
  assert.equal(seen.length, expected, "every stop once, and then the end");
  assert.deepEqual(seen.filter(({ ring, inView }) => !ring || !inView), []);
  const order = [...new Set(seen.map(({ section }) => section).filter(Boolean))];
  assert.deepEqual(order, SECTIONS.filter((section) => order.includes(section)));
});

test("the navigation leads to each section by keyboard, keeps the state, and the back button goes back", async () => {
  const { page } = await open({ hash: `#&one-report.epsilon=4&${QUIET}` });
  for (const section of SECTIONS) {
    await page.locator(`#contents a[href="#${section}"]`).focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.closest("section")?.id), section);
    const hash = await page.evaluate(() => location.hash);
    assert.ok(hash.startsWith(`#${section}`) && hash.includes("one-report.epsilon=4"), hash);
  }
  await page.goBack();
  assert.match(await page.evaluate(() => location.hash), new RegExp(`^#${SECTIONS.at(-2)}`));
});

test("the first thing that Tab finds leads past the navigation, and keeps the state", async () => {
  const { page } = await open({ hash: `#&one-report.epsilon=4&${QUIET}` });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  assert.equal(await page.getByLabel("Privacy loss ε").first().inputValue(), "4");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest("section").id), "one-report");
});

test("with reduced motion nothing moves by itself", async () => {
  const { page } = await open({ reducedMotion: "reduce" });
  await settle(page);
  const moving = await page.evaluate(() =>
    document.getAnimations().map((animation) => animation.effect?.target?.outerHTML.slice(0, 100)),
  );
  assert.deepEqual(moving, []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "auto");
});

test("sections far from the view are laid out when it comes near, and their text is there before", async () => {
  const { page } = await open({ viewport: VIEWS.light.viewport });
  const laidOut = (section) =>
    page.locator(`#${section} h2`).evaluate((node) => node.checkVisibility({ contentVisibilityAuto: true }));
  assert.equal(await laidOut("one-report"), true);
  assert.equal(await laidOut("trust"), false);
  assert.equal(
    await page.getByRole("heading", { name: "Whom must you trust?" }).count(),
    1,
    "in the tree that is heard",
  );
  await page.locator("#trust h2").scrollIntoViewIfNeeded();
  await eventually(() => laidOut("trust"), Boolean);
});

test("without JavaScript the page says that it takes it", async () => {
  const page = await host.browser.newPage({ javaScriptEnabled: false });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${host.url}/`);
  assert.equal(await page.locator("noscript p").isVisible(), true);
  await page.close();
});

test("input before the page responds counts, and Enter does not reload the page", async () => {
  const { page } = await open();
  const loads = [];
  page.on("request", (request) => request.isNavigationRequest() && loads.push(request.url()));
  const { release } = await keepBack(page, "**/*.js");
  await page.reload({ waitUntil: "commit" });
  const epsilon = page.locator("#trust-epsilon");
  await enter(epsilon, "99");
  await page.locator("#trust-records").fill("4321");
  release();
  await page.locator('#trust-epsilon[aria-invalid="true"]').waitFor();
  assert.equal(await epsilon.inputValue(), "99");
  await page.waitForURL(/trust\.records=4321/);
  assert.equal(loads.length, 1);
});
