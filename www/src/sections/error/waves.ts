// Whether the charts show the curve of two waves: a choice of its own, which starts no simulation again.

import type { Point } from "../../charts/series.js";
import { subset } from "../../fields.js";

export const FIELDS = { curve: subset([], ["two"], 0) };

/** The prediction for two waves in one chart. */
export interface WavesCurve {
  readonly predicted: readonly Point[];
  /** The places where two waves are not worth it. */
  readonly refused: readonly number[];
  /** Where, and why, in a sentence. */
  readonly note: string;
}
