import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** An empty folder, until the test `t` ends, or all tests of a file have. */
export function scratchFolder(t = { after }) {
  const folder = mkdtempSync(join(tmpdir(), "ldp-pca-test-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
