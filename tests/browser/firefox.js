// The one place that knows where a Firefox is and how it is started: as it is published, over WebDriver BiDi, which it
// speaks without a driver beside it. Run as a program it prints the executable's path.
//
// What it answers are Puppeteer's objects. Tests for both browsers keep to what those share with Playwright's:
// `newPage`, `goto`, `evaluate` with one argument, the events `console` and `pageerror`, `close`.

import { findExecutable, runAsProgram } from "./executable.js";

const FIREFOX = {
  title: "Firefox",
  variable: "FIREFOX_BIN",
  names: ["firefox-esr", "firefox"],
  apps: ["/Applications/Firefox.app/Contents/MacOS/firefox"],
};

/** Path of the Firefox to test in: FIREFOX_BIN, or the first found. */
export function findFirefox() {
  return findExecutable(FIREFOX);
}

/** Starts the browser, headless, with a new profile; the caller closes it. */
export async function launchFirefox(options = {}) {
  // Imported late, so that the path can be found before anything is installed.
  const { launch } = await import("puppeteer-core");
  // On a busy machine the usual half minute for the start, and three for an answer, may be too few.
  const patience = { timeout: 300_000, protocolTimeout: 600_000 };
  return launch({ browser: "firefox", executablePath: findFirefox(), ...patience, ...options });
}

runAsProgram(import.meta, findFirefox);
