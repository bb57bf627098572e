// Whether the charts show the curve of two waves: a choice of its own, which starts no simulation again.

import type { Series } from "../../charts/series.js";
import { subset } from "../../fields.js";

export const FIELDS = { curve: subset([], ["two"], 0) };

/** The prediction for two waves in one chart; `note` says where they are not worth it, and why. */
export type WavesCurve = Required<Pick<Series, "predicted" | "refused" | "note">>;
