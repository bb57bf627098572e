// Both pages whole, as a host of files serves them: every view, every section, by every way of using it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  assertAccessible, assertFits, enter, eventually, hostPage, keepBack, PAGES, QUIET, screenshot, VIEWS,
} from "./page-tools.js";
import { PATIENCE, until } from "./pages.js";

const host = hostPage();
const SECOND = "methods.html";

/** A page, once everything in it has come to rest. */
async function open(name = "", { state = QUIET, ...options } = {}) {
  const opened = await host.open({ hash: `${name}#&${state}`, ...options });
  const { page } = opened;
  if (name === SECOND) {
    await page.locator("#one-report-bytes .payload").waitFor();
  } else {
    await page.getByText("No aggregator here.").waitFor();
    await page.locator("#map-share strong").waitFor();
  }
  return opened;
}

/** Brings every section into view, so that what begins when it is seen begins; with `all`, begins the rest by hand. */
async function settle(page, name, all = false) {
  for (const section of PAGES[name]) await page.locator(`#${section}`).scrollIntoViewIfNeeded();
  await page.locator("#error-status").getByText(/^Predicted/).waitFor();
  if (all) await page.locator("#error-run").click();
  if (name === SECOND) {
    await page.locator("#trust-chart .legend li").first().waitFor();
    await page.locator("#trust-status").getByText(/^Predicted/).waitFor();
    if (!all) return;
    await page.locator("#trust-run").click();
    await page.locator("#sparse-run").click();
    await page.locator("#sparse-fantope canvas[aria-label*='heat map']").waitFor();
    await page.waitForFunction(() => document.getElementById("sparse-cancel").hidden);
    await page.locator("#trust-status").getByText(/^Done\./).waitFor();
  } else {
    await page.locator("#planner-answer p").first().waitFor();
    if (!all) return;
    await people(page, 20_000);
    await page.locator("#take-part-send").click();
    await page.locator("#take-part-scores li").first().waitFor();
  }
  await page.locator("#error-status").getByText(/^Done: /).waitFor();
}

const share = (page) => page.locator("#map-share").textContent();

/** Moves the slider to so many people, and waits until they are counted. */
async function people(page, count) {
  const end = count === 20_000 ? "End" : "Home";
  await page.locator("#map-people").press(end);
  const words = `With ${count.toLocaleString("en")} ${count === 1 ? "person" : "people"}:`;
  await eventually(() => share(page), (text) => text.startsWith(words));
}

for (const name of Object.keys(PAGES)) {
  for (const [view, options] of Object.entries(VIEWS)) {
    test(`every section is there, fits, and axe finds nothing: /${name}, ${view}`, async () => {
      // The records that a visitor finds, with fewer trials.
      const { page } = await open(name, { state: "error.trials=2", ...options });
      await settle(page, name, true);
      for (const section of PAGES[name]) {
        await screenshot(page, section, section === "take-part" ? `alone-${view}` : view);
      }
      await assertFits(page);
      await assertAccessible(page);
      // Tables and explanations that are folded away are part of the page too.
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      await assertFits(page);
      await assertAccessible(page);
    });
  }

  test(`with the keyboard alone everything is reached in order, and seen where it is: /${name}`, async () => {
    const { page } = await open(name, { viewport: VIEWS.light.viewport });
    await settle(page, name);
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
    assert.deepEqual(order, PAGES[name].filter((section) => order.includes(section)));
  });

  test(`with reduced motion nothing moves by itself: /${name}`, async () => {
    const { page } = await open(name, { reducedMotion: "reduce" });
    await settle(page, name, true);
    const moving = await page.evaluate(() =>
      document.getAnimations().map((animation) => animation.effect?.target?.outerHTML.slice(0, 100)),
    );
    assert.deepEqual(moving, []);
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "auto");
  });

  test(`without JavaScript the page says that it takes it: /${name}`, async () => {
    const page = await host.browser.newPage({ javaScriptEnabled: false });
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`${host.url}/${name}`);
    assert.equal(await page.locator("noscript p").isVisible(), true);
    await page.close();
  });
}

test("the first screen says it in under 80 words, and its map becomes named patterns as the slider moves", async () => {
  const { page } = await open("", { viewport: { width: 1280, height: 800 } });
  // Beside the names in the map.
  const parts = page.locator("#map .story, #map figcaption");
  const texts = await parts.evaluateAll((all) => all.map((node) => node.innerText));
  const words = texts.join(" ").split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word));
  assert.ok(words.length < 80, `${words.length} words: ${words.join(" ")}`);
  const { y, height } = await page.locator("#map").boundingBox();
  assert.ok(y + height <= 800, "all of it is seen at once");
  const named = () => page.locator("#map .clear text").allTextContents();
  const map = () => page.locator("#map-plot").getAttribute("aria-label");
  assert.match(await share(page), /^With 1 person: \d+ % of the structure$/);
  assert.deepEqual(await named(), []);
  assert.match(await map(), /by the reports of 1 person\. Only noise\.$/);

  await people(page, 20_000);
  // The reports are random: which side comes first, and which of the weaker activities are named. By the law of the
  // estimate, what is asserted fails in fewer than 1 of 50,000 runs. (All of the structure is 99.5 % of it or more.)
  assert.match(await share(page), /^With 20,000 people: (9\d|100) % of the structure$/);
  assert.match(await page.locator("#map-people").getAttribute("aria-valuetext"), /^With 20,000 people: (9\d|100) % of/);
  const all = await named();
  for (const name of ["hiking", "gaming", "museums", "theatre"]) assert.ok(all.includes(name), `${all}`);
  const patterns = await page.locator("#map-patterns li").allTextContents();
  assert.ok(patterns.some((pattern) => pattern.includes(", against ")), `${patterns}`);
  assertSides(patterns[0], ["hiking", "cycling", "camping", "swimming"], ["gaming", "streaming"]);
  assertSides(patterns[1], ["museums", "theatre", "reading", "concerts"], ["football"]);
  await page.waitForURL(/map\.people=20000/);

  // There and back again: what is known is known.
  await people(page, 1);
  assert.deepEqual(await named(), []);
});

/** At least two of `one` are named, on one side of "against", and of `other` none beside them. */
function assertSides(pattern, one, other) {
  const named = (names) => names.filter((name) => pattern.includes(name));
  assert.ok(named(one).length >= 2, pattern);
  const sides = pattern.split(", against ");
  assert.ok(sides.some((side) => named(one).every((name) => side.includes(name))), pattern);
  assert.ok(!sides.some((side) => [one, other].every((names) => names.some((name) => side.includes(name)))), pattern);
}

test("nothing is simulated before somebody asks", async () => {
  const { page } = await open();
  await settle(page, "");
  const marks = () => page.evaluate(() => performance.getEntriesByType("mark").map(({ name }) => name));
  assert.deepEqual((await marks()).filter((name) => /point|all of/.test(name)), []);
  assert.match(await share(page), /^With 1 person:/);
  const { page: second } = await open(SECOND);
  await settle(second, SECOND);
  assert.equal(await second.locator("#sparse-results").isVisible(), false);
  assert.doesNotMatch(await second.locator("#trust-chart .legend").textContent(), /Central/);
  const loaded = await second.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  assert.deepEqual([loaded.length > 0, loaded.filter((name) => name.includes("on-demand"))], [true, []]);
});

test("a link has the number of people, and the same patterns at once", async () => {
  const { page } = await host.open({ hash: "#&map.people=5000" });
  await eventually(() => share(page), (text) => text.startsWith("With 5,000 people:"));
  // How many stand out is up to the reports: five or fewer in 1 of 100 runs, none in fewer than 1 of a million.
  assert.ok((await page.locator("#map .clear text").count()) > 0);
});

test("the navigation leads to each section by keyboard, keeps the state, and the back button goes back", async () => {
  for (const name of Object.keys(PAGES)) {
    const { page } = await open(name, { state: `trust.epsilon=4&${QUIET}` });
    const sections = PAGES[name].filter((section) => section !== "map");
    for (const section of sections) {
      await page.locator(`#contents a[href="#${section}"]`).focus();
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.closest("section")?.id), section);
      const hash = await page.evaluate(() => location.hash);
      assert.ok(hash.startsWith(`#${section}`) && hash.includes("trust.epsilon=4"), hash);
    }
    await page.goBack();
    assert.match(await page.evaluate(() => location.hash), new RegExp(`^#${sections.at(-2)}`));
  }
});

test("each page leads to the other, which has its state", async () => {
  const { page } = await open("", { state: `trust.epsilon=4&planner.share=80&${QUIET}` });
  await page.locator('#contents a[href^="./methods.html"]').click();
  await page.waitForURL(/methods\.html#.*trust\.epsilon=4/);
  await page.locator("#version").getByText(/./).waitFor();
  assert.equal(await page.locator("#trust-epsilon").inputValue(), "4");
  assert.equal(await page.locator("#error-dimension").inputValue(), "8");
  await page.locator('header a[href^="./"]').click();
  await page.waitForURL(/\/#.*planner\.share=80/);
  await page.locator("#version").getByText(/./).waitFor();
  assert.equal(await page.locator("#planner-share").inputValue(), "80");
});

test("the first thing that Tab finds leads past the navigation, and keeps the state", async () => {
  const { page } = await open(SECOND, { state: `one-report.epsilon=4&${QUIET}` });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  assert.equal(await page.getByLabel("Privacy loss ε").first().inputValue(), "4");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest("section").id), "one-report");
});

test("sections far from the view are laid out when it comes near, and their text is there before", async () => {
  const { page } = await open(SECOND, { viewport: VIEWS.light.viewport });
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
  await until(() => laidOut("trust"));
});

test("input before the page responds counts, and Enter does not reload the page", async () => {
  const { page } = await open(SECOND);
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

test("what shows links finds a title, a description and a picture", async () => {
  const page = await (await fetch(`${host.url}/`)).text();
  for (const name of ["title", "description", "image"]) {
    const [, content] = page.match(new RegExp(`property="og:${name}"\\s+content="([^"]+)"`)) ?? [];
    assert.ok(content, name);
    if (name === "image") assert.equal((await fetch(new URL(content, `${host.url}/`))).status, 200);
  }
});
