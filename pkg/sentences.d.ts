import type { ConsentSentences } from "./consent.js";

/** English: what `consent` says by default. */
export const en: ConsentSentences;
/** German. */
export const de: ConsentSentences;
