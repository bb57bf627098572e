// The library's statements about a task, in the page's words.

import type { ConsentStatement } from "ldp-pca/lab";

import { make } from "./dom.js";

/** The promise of one report, and its terms. */
export function describeGuarantee({ guarantee, promise, scope, stays }: ConsentStatement): (Node | string)[] {
  const { epsilon, delta } = guarantee;
  const terms = `local differential privacy, ε\u00a0=\u00a0${epsilon}, δ\u00a0=\u00a0${delta}`;
  return [make("strong", {}, "The promise: "), `${stays} ${promise} ${scope} (In technical terms: ${terms}.)`];
}

/** The honest reports in one batch of a relay, where a visitor does not say. */
export const BATCH = 20_000;
