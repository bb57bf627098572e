// Takes pictures from the demo page in a real Chromium, light and dark: of one report beside its record (README.md),
// and of the cost of privacy (docs/guides/what-epsilon.md); and the picture that links to the page are shown with. Run
// `make page` first.
//
// usage: node scripts/readme-pictures.js

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { launchChromium } from "../tests/browser/chromium.js";
import { openPage, servePage } from "../tests/browser/page-tools.js";
import { ROOT } from "../tests/browser/pages.js";

const FOLDER = join(ROOT, "docs/pictures");
const PREVIEW = join(ROOT, "www/public/preview.png");
// The page's own policy would forbid the style below.
const VIEW = { viewport: { width: 960, height: 1200 }, deviceScaleFactor: 1.5, bypassCSP: true };

/** A picture has room around it, titles of one line, and none of the page's controls and notes. */
const STYLE = `
  .pair { padding: 1rem; }
  .pair h3 { font-size: 1rem; }
  .pair :is(figcaption, .readout, details) { display: none; }
`;

/** The first screen, as large as previews of links are: its title, and the map of all people. */
const PREVIEW_VIEW = { viewport: { width: 1200, height: 630 }, bypassCSP: true };
const PREVIEW_STYLE = `
  body { max-width: none; padding: 0; }
  #map { height: 630px; border: 0; padding: 0 4rem; border-radius: 0; }
  #map h1 { font-size: 3rem; }
  #map :is(.lead, #map-share) { font-size: 1.5rem; }
  #map :is(.people, #map-patterns, nav, figcaption) { display: none; }
  .skip, section:not(#map), footer { display: none; }
`;

/** The colours of charts that a file has in the page's light ones. */
const COLORS = ["text", "muted", "line", "surface", "blue", "orange", "purple", "green"];

async function colors(page) {
  return page.evaluate((names) => {
    const style = getComputedStyle(document.documentElement);
    return names.map((name) => style.getPropertyValue(`--${name}`).trim());
  }, COLORS);
}

/** The chart of the error against epsilon, as the page saves it. */
async function chart(page) {
  const button = page.locator("#error-epsilon-chart").getByRole("button", { name: "SVG" });
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await download.path(), "utf8");
}

mkdirSync(FOLDER, { recursive: true });
const server = await servePage();
const browser = await launchChromium();
try {
  const { page: first } = await openPage(browser, server.url, { hash: "#&map.people=20000", ...PREVIEW_VIEW });
  await first.locator("#map-share").getByText("20,000").waitFor();
  await first.addStyleTag({ content: PREVIEW_STYLE });
  // The names have come, and the map has its new size.
  await first.waitForTimeout(1000);
  await first.screenshot({ path: PREVIEW });

  const { page } = await openPage(browser, server.url, { hash: "methods.html#&error.measure=error", ...VIEW });
  await page.locator("#error-status").getByText(/^Predicted/).waitFor();
  await page.locator("#error-run").click();
  await page.locator("#error-status").getByText(/^Done: /).waitFor({ timeout: 600_000 });
  await page.addStyleTag({ content: STYLE });
  const error = await chart(page);
  const light = await colors(page);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const present = await colors(page);
    const painted = light.reduce((text, color, at) => text.replaceAll(color, present[at]), error);
    writeFileSync(join(FOLDER, `error-${colorScheme}.svg`), painted);
    const path = join(FOLDER, `report-${colorScheme}.png`);
    await page.locator("#one-report .pair").screenshot({ path });
  }
} finally {
  await browser.close();
  await server.close();
}
