import type { Report } from "./report.js";

/** Where {@link submit} sends a report, and for how long it tries. */
export interface SubmitOptions {
  /** The aggregator: the URL under which `tasks/<digest>/reports` is. In a page it may be relative, such as `"/"`. */
  readonly url: string | URL;
  /** Stops it; the promise then rejects with the signal's reason. The report may have arrived nonetheless. */
  readonly signal?: AbortSignal;
  /** How often it tries again; 4 by default. */
  readonly retries?: number;
  /** The longest that one attempt may take, in milliseconds; 30,000 by default. */
  readonly timeout?: number;
  /**
   * Before retry k it waits between 0 and `delay * 2 ** k` milliseconds, at random; 500 by default. Where the answer
   * has a `Retry-After`, that long in addition.
   */
  readonly delay?: number;
  /** The longest wait, in milliseconds; 60,000 by default. A longer `Retry-After` ends the attempts. */
  readonly maxDelay?: number;
  /** The longest that all attempts and waits may take together, in milliseconds; without end by default. */
  readonly deadline?: number;
}

/** What became of a report. */
export interface Submission {
  /** It counts now; or it did already, from an earlier attempt. */
  readonly status: "accepted" | "duplicate";
  /** How often it was sent. */
  readonly attempts: number;
}

/**
 * Sends a report to its task's aggregator, with the same bytes on every attempt, so that it counts once. Sends neither
 * cookies nor a referrer, and no header for which a browser would ask the server beforehand. A report below 60 kB
 * arrives although the page is left while it is on its way (`keepalive`).
 *
 * It tries again when there is no answer, and after the answers 408, 429 and 500 to 599.
 *
 * @throws {@link SubmitError} (by rejecting) with the code, and where there is one the `status`, of the last attempt;
 *   {@link ArgumentError} for options that make no sense; the signal's reason when that aborts.
 */
export function submit(report: Report, options: SubmitOptions): Promise<Submission>;

/**
 * An id for one report of the task, issued by its aggregator: `randomize(record, { id })` makes the report that has it.
 * Aggregators take no others unless they are told to; one that takes any gives `undefined`, with which a report makes
 * its own.
 *
 * It says nothing of a record, and can be asked for when the page starts. The aggregator can recognize the report by
 * it.
 *
 * @param task - The task, or its `digest`.
 * @param options - As for {@link submit}.
 * @throws What {@link submit} throws.
 */
export function issuedId(task: { readonly digest: string }, options: SubmitOptions): Promise<string | undefined>;
