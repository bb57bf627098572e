import type { ConsentSentences } from "./consent.js";

/** English, the default of `consent`. */
export const en: ConsentSentences;
/** German. */
export const de: ConsentSentences;
