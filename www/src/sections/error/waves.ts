// Whether the charts show the curve of two waves: a choice of its own, which starts no simulation again.

import { subset } from "../../fields.js";
import type { Place } from "./prediction.js";

export const FIELDS = { curve: subset([], ["two"], 0) };

/** The prediction for two waves in one chart; `note` says where they are not worth it, and why. */
export interface WavesCurve {
  readonly predicted: readonly Place[];
  readonly refused: readonly number[];
  readonly note: string;
}
