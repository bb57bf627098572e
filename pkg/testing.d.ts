import type { Randomizer, RandomizeOptions } from "./api.js";
import type { Report } from "./report.js";
import type { RecordOf, Schema } from "./task.js";

/** A report that promises nothing: whoever knows its seed can tell records apart. `submit` and the ledger refuse it. */
export type SeededReport = Omit<Report, "guarantee" | "toJSON"> & { readonly guarantee: null };

/**
 * For tests of what embeds the package, and for test vectors: a report that follows from the record and the seed.
 *
 * While it is made, `crypto.getRandomValues` of this thread is the seed's ChaCha20 stream, so that what runs is the
 * module as it is shipped.
 *
 * @param randomizer - Of `ldp-pca`, `ldp-pca/inline` or `ldp-pca/lab`, not of a worker.
 * @param seed - 32 bytes.
 * @throws As {@link Randomizer.randomize}, and {@link ArgumentError} for a seed of another length.
 */
export function randomizeSeeded<S extends Schema>(
  randomizer: Randomizer<S>,
  record: RecordOf<S>,
  seed: Uint8Array,
  options?: RandomizeOptions,
): SeededReport;
