// The errors that the package throws, and rejects with.

import assert from "node:assert/strict";

import { LdpPcaError } from "../../pkg/common.js";

/** The codes of each class that has some. */
const CODES = {
  ArgumentError: "argument",
  EntropyError: "entropy",
  InitError: "init",
  LedgerError: "storage budget spent destination",
  RecordError: "record schema",
  ReportError: "report",
  SubmitError: "network rate-limit unavailable answer not-found too-large media-type rejected refused",
  TaskError: "task fetch digest max-epsilon max-delta max-report-bytes max-draws",
};
const nameOf = (code) => Object.keys(CODES).find((name) => CODES[name].split(" ").includes(code)) ?? "LdpPcaError";

/** That an error is one of the package with this code, this message or part of it, and these members. */
function check(error, code, words, members = {}) {
  assert.ok(error instanceof LdpPcaError && error instanceof Error, String(error?.stack));
  assert.deepEqual([error.name, error.code], [nameOf(code), code], error.message);
  if (typeof words === "string") assert.equal(error.message, words);
  else if (words) assert.match(error.message, words);
  for (const [name, value] of Object.entries(members)) assert.equal(error[name], value, name);
  return true;
}

/** That `action` throws such an error. */
export const throws = (action, ...expected) => assert.throws(action, (error) => check(error, ...expected));

/** Such an error that a promise is rejected with. */
export async function rejects(promise, ...expected) {
  const error = await Promise.resolve(promise).then(() => assert.fail("there is no error"), (error) => error);
  check(error, ...expected);
  return error;
}
