// What the command line says, and that it is the same.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

import { binary } from "../browser/aggregator.js";

let path;

/** The command line's output. */
export function run(...words) {
  path ??= binary();
  return execFileSync(path, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** The command line's output as JSON. */
export const command = (...words) => JSON.parse(run(...words, "--json"));

/** The command line's plan for a setting, as the lab's `plan` is given it, or with an `epsilon` and more options. */
export function planned({ signals, mechanism, shuffled, ...more }) {
  const batch = shuffled && { shuffled: shuffled.delta, batch: shuffled.honestReports };
  const options = { epsilon: mechanism?.epsilon, ...more, spectrum: signals.join(), ...batch };
  return command("plan", ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]));
}

const written = (key) => key.replaceAll("_", "").toLowerCase();

/** That a result has the keys of the command line's, however they are written, and its numbers but for rounding. */
export function assertNear(found, expected, where = "") {
  if (typeof expected === "number") {
    assert.ok(Math.abs(found - expected) <= 1e-9 * Math.abs(expected), `${where}: ${found} and ${expected}`);
  } else if (Object(expected) === expected) {
    assert.deepEqual(Object.keys(found).map(written), Object.keys(expected).map(written), where);
    const values = Object.values(expected);
    Object.values(found).forEach((value, place) => assertNear(value, values[place], `${where}, value ${place}`));
  } else {
    assert.equal(found, expected, where);
  }
}
