// The second page: one report, every mechanism, sparse recovery, and trust.

import { run } from "./page.js";
import { start as startError } from "./sections/error.js";
import { start as startOneReport } from "./sections/one-report.js";
import { start as startOwn } from "./sections/own.js";
import { start as startSparse } from "./sections/sparse.js";
import { start as startTrust } from "./sections/trust.js";

void run({
  "one-report": startOneReport,
  error: startError,
  sparse: startSparse,
  trust: startTrust,
  own: startOwn,
});
