// Which browsers a run is about: all, or those that LDP_PCA_BROWSERS lists, such as Chromium or Firefox,WebKit.

import { test } from "node:test";

const LISTED = process.env.LDP_PCA_BROWSERS?.split(",");

/** Whether the run is about the browser of this name. */
export const isAsked = (name) => !LISTED || LISTED.includes(name);

/** Those of these browsers, by name, that the run is about. */
export const asked = (browsers) => Object.fromEntries(Object.entries(browsers).filter(([name]) => isAsked(name)));

/** A test that runs in Chromium alone, or in no browser. */
export const inChromium = isAsked("Chromium") ? test : () => {};

/** A test that runs in Firefox alone. */
export const inFirefox = isAsked("Firefox") ? test : () => {};
