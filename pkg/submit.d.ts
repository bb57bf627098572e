import type { Report } from "./report.js";

/** Options of {@link submit}: the destination, and how long it tries. */
export interface SubmitOptions {
  /** The aggregator: the URL under which `tasks/<digest>/reports` is. In a page it may be relative, such as `"/"`. */
  readonly url: string | URL;
  /** Stops it; the promise then rejects with the signal's reason. The report may have arrived nonetheless. */
  readonly signal?: AbortSignal;
  /** The number of retries; 4 by default. */
  readonly retries?: number;
  /** The longest that one attempt may take, in milliseconds; 30,000 by default. */
  readonly timeout?: number;
  /**
   * Before retry k it waits between 0 and `delay * 2 ** k` milliseconds, at random; 500 by default. If the answer has a
   * `Retry-After`, it waits that long in addition.
   */
  readonly delay?: number;
  /** The longest wait, in milliseconds; 60,000 by default. A longer `Retry-After` ends the attempts. */
  readonly maxDelay?: number;
  /**
   * The longest that all attempts and waits may take together, in milliseconds; no limit by default. Of a ledger it is
   * for everything, 60,000 by default, and after that the outcome is `pending`.
   */
  readonly deadline?: number;
}

/** The outcome of a report. */
export interface Submission {
  /** It counts now, or it already did, from an earlier attempt. */
  readonly status: "accepted" | "duplicate";
  /** How often it was sent. */
  readonly attempts: number;
}

/**
 * Sends a report to its task's aggregator, with the same bytes on every attempt, so that it counts once. Sends neither
 * cookies nor a referrer, and no header that needs a preflight request. A report below 60 kB arrives even if the
 * visitor leaves the page while it is on its way (`keepalive`).
 *
 * It tries again when there is no answer, and after the answers 408, 429 and 500 to 599. It follows no redirect: the
 * report goes to no other server than that of `url`.
 *
 * @throws {@link SubmitError} (by rejecting) with the code, and where there is one the `status`, of the last attempt;
 *   {@link ArgumentError} for options that make no sense; the signal's reason when that aborts.
 */
export function submit(report: Report, options: SubmitOptions): Promise<Submission>;

/**
 * An id for one report of the task, issued by its aggregator: `randomize(record, { id })` makes the report with this
 * id. Aggregators accept no other ids unless they are configured to. One that accepts any gives `undefined`, with which
 * a report makes its own.
 *
 * It says nothing about a record, and can be requested when the page starts. The aggregator can recognize the report by
 * it: reports that go through a relay need none, and {@link PrivacyLedger.send} refuses both together.
 *
 * @param task - The task, or its `digest`.
 * @param options - As for {@link submit}.
 * @throws What {@link submit} throws.
 */
export function issuedId(task: { readonly digest: string }, options: SubmitOptions): Promise<string | undefined>;
