// The one place that knows where a Chromium is and how it is started.
// Run as a program it prints the executable's path, or with --webdriver the capabilities for chromedriver.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MAC_APPS = ["Google Chrome", "Chromium"].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);

// Tests talk to this machine alone, so the browser has no business elsewhere. Containers have a small /dev/shm.
const ARGS = ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--disable-sync"];

/** Path of the Chromium or Chrome to test in: CHROME_BIN, or the first found. */
export function findChromium() {
  if (process.env.CHROME_BIN) return process.env.CHROME_BIN;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...MAC_APPS].find(isExecutable);
  if (!found) throw new Error("no Chromium or Chrome found: run scripts/setup.sh, or set CHROME_BIN to its executable");
  return found;
}

/** Starts the browser, headless; the caller closes it. With `profile`, a folder, it keeps its data there and is a context. */
export async function launchChromium({ profile, ...options } = {}) {
  // Imported late, so that the path can be found before anything is installed.
  const { chromium } = await import("playwright-core");
  const settings = { executablePath: findChromium(), args: ARGS, ...options };
  return profile ? chromium.launchPersistentContext(profile, settings) : chromium.launch(settings);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    const binary = findChromium();
    const webdriver = { "goog:chromeOptions": { binary, args: ARGS } };
    console.log(process.argv.includes("--webdriver") ? JSON.stringify(webdriver) : binary);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
