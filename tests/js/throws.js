// The errors that the package throws.

import assert from "node:assert/strict";

import { LdpPcaError } from "../../pkg/common.js";

/** The class of each code that has one of its own. */
const NAMES = {
  argument: "ArgumentError",
  entropy: "EntropyError",
  "max-delta": "TaskError",
  "max-draws": "TaskError",
  "max-epsilon": "TaskError",
  "max-report-bytes": "TaskError",
  record: "RecordError",
  report: "ReportError",
  schema: "RecordError",
  task: "TaskError",
};

/** That `action` throws an error of the package with this code, and a message with this part. */
export function throws(action, code, part) {
  assert.throws(action, (error) => {
    assert.ok(error instanceof LdpPcaError && error instanceof Error, String(error?.stack));
    assert.equal(error.name, NAMES[code] ?? "LdpPcaError", error.code);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, part);
    return true;
  });
}
