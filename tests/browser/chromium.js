// The one place that knows where a Chromium is and how it is started.
// Run as a program it prints the executable's path, or with --webdriver the capabilities for chromedriver.

import { findExecutable, runAsProgram } from "./executable.js";

const CHROMIUM = {
  title: "Chromium or Chrome",
  variable: "CHROME_BIN",
  names: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
  apps: ["Google Chrome", "Chromium"].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`),
};

// Tests talk to this machine alone, so the browser has no business elsewhere. Containers have a small /dev/shm.
const ARGS = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-dev-shm-usage",
  "--disable-sync",
];

/** Path of the Chromium or Chrome to test in: CHROME_BIN, or the first found. */
export function findChromium() {
  return findExecutable(CHROMIUM);
}

/** Starts the browser, headless; the caller closes it. With `profile`, a folder, it keeps its data there: a context. */
export async function launchChromium({ profile, ...options } = {}) {
  // Imported late, so that the path can be found before anything is installed.
  const { chromium } = await import("playwright-core");
  const settings = { executablePath: findChromium(), args: ARGS, ...options };
  return profile ? chromium.launchPersistentContext(profile, settings) : chromium.launch(settings);
}

runAsProgram(import.meta, (args) => {
  const binary = findChromium();
  const capabilities = { "goog:chromeOptions": { binary, args: ARGS } };
  return args.includes("--webdriver") ? JSON.stringify(capabilities) : binary;
});
