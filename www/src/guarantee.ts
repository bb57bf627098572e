// The library's statements about a task, in the page's words.

import type { ConsentStatement } from "ldp-pca/lab";

/** The promise of one report, and its terms. */
export function describeGuarantee({ guarantee, promise, scope, stays }: ConsentStatement): Node[] {
  const { epsilon, delta } = guarantee;
  const strong = document.createElement("strong");
  strong.textContent = "The promise: ";
  const terms = `local differential privacy, ε\u00a0=\u00a0${epsilon}, δ\u00a0=\u00a0${delta}`;
  return [strong, document.createTextNode(`${stays} ${promise} ${scope} (In technical terms: ${terms}.)`)];
}

/** The honest reports in one batch of a relay, where a visitor does not say. */
export const BATCH = 20_000;
