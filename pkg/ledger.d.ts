import type { SubmitError } from "./errors.js";
import type { Report } from "./report.js";
import type { SubmitOptions } from "./submit.js";
import type { Guarantee } from "./task.js";

/** How a {@link PrivacyLedger} is opened. */
export interface LedgerOptions {
  /** The name of the database; `ldp-pca` by default. Ledgers of one name and origin are one ledger, in all tabs. */
  readonly name?: string;
  /** The largest sum of the epsilons of all reports. There is no default; `Infinity` only counts. */
  readonly maxEpsilon: number;
  /** The largest sum of their deltas; 1e-5 by default. */
  readonly maxDelta?: number;
  /**
   * Asked when the browser denies storage. Resolve to `true` to go on with a ledger that lasts only as long as the page
   * (after asking the visitor, say); anything else refuses, as does having no callback.
   */
  readonly onStorageDenied?: (error: LedgerErrorOfStorage) => boolean | undefined | Promise<boolean | undefined>;
  /** Told what became of the reports that were sent because the device came back online. */
  readonly onFlush?: (outcomes: FlushOutcome[]) => void;
}

type LedgerErrorOfStorage = import("./errors.js").LedgerError & { readonly code: "storage" };

/** What became of a report that waited. With an `error` it waits on. */
export type FlushOutcome =
  | { readonly taskDigest: string; readonly status: "accepted" | "duplicate"; readonly error?: undefined }
  | { readonly taskDigest: string; readonly error: SubmitError; readonly status?: undefined };

/** What was spent. */
export interface LedgerStatus {
  /** The sum of the epsilons of all reports, never below the real one. */
  readonly epsilon: number;
  /** The sum of their deltas, likewise. */
  readonly delta: number;
  readonly reports: readonly {
    readonly taskDigest: string;
    readonly guarantee: Guarantee;
    /** Whether it waits to be sent. */
    readonly pending: boolean;
    /** Whether its budget is spent and no report was made yet: randomizing failed, or the page was closed meanwhile. */
    readonly booked: boolean;
  }[];
}

/**
 * What this device has promised: one report per task, a budget over all tasks, and the reports that wait to be sent.
 *
 * It is kept in IndexedDB. That is per browser profile and origin: a private window has one of its own, which ends with
 * it, and whoever deletes the site's data starts anew. Whether it can be trusted is up to the page, as is everything
 * that runs on the device.
 */
export class PrivacyLedger {
  private constructor();

  /**
   * Opens the ledger.
   *
   * @throws {@link LedgerError} (by rejecting) with code `storage` where the browser denies storage;
   *   {@link ArgumentError} for limits that make no sense.
   */
  static open(options: LedgerOptions): Promise<PrivacyLedger>;

  /** Whether it outlives the page. */
  readonly persistent: boolean;

  /**
   * The one report of this device for the randomizer's task. It is on the disk when the promise resolves;
   * {@link PrivacyLedger.flush} sends it.
   *
   * The budget is spent, on the disk, before the record is looked at, and stays spent whatever happens then. If
   * randomizing fails (a column is missing, say), call it again: the task's one report can still be made, at no further
   * cost.
   *
   * A report that waits already is the answer again, in every tab and whatever the record is now; it will go to the new
   * `url`. The record itself is not stored.
   *
   * @param randomizer - Of this package or of `ldp-pca/worker`.
   * @param options - `url` is the aggregator's, as for {@link submit}; a relative one is made absolute now. `id` is one that the
   *   aggregator issued ({@link issuedId}), as for {@link Randomizer.randomize}.
   * @throws {@link LedgerError} (by rejecting) with code `spent` when the task's report was sent, `budget` when it does
   *   not fit, `storage` when the storage fails; what {@link Randomizer.randomize} throws.
   */
  report<R>(
    randomizer: LedgerRandomizer<R>,
    record: R,
    options: { readonly url: string | URL; readonly id?: string | undefined },
  ): Promise<Report>;

  /**
   * Sends the reports that wait, one after the other, with the bytes that they have. Each stays until an aggregator
   * says that it counts. Call it when the page starts; it runs by itself when the device comes back online. One tab at
   * a time does this, and the others wait for it.
   *
   * @param options - As for {@link submit}, for each report.
   * @returns One outcome per report.
   * @throws {@link LedgerError} (by rejecting) with code `storage`; the signal's reason.
   */
  flush(options?: Omit<SubmitOptions, "url">): Promise<FlushOutcome[]>;

  /** What was spent, and what waits. */
  status(): Promise<LedgerStatus>;

  /** Lets go of the database, and of the event `online`. The object cannot be used afterwards. */
  close(): void;
}

/** What the ledger needs of a randomizer. */
export interface LedgerRandomizer<R> {
  readonly taskDigest: string;
  readonly guarantee: Guarantee;
  randomize(record: R, options?: { readonly id?: string | undefined }): Report | Promise<Report>;
}
