import type { Report } from "./report.js";
import type { SubmitOptions } from "./submit.js";

/** Options of {@link submitThroughRelay}: the relay, and how long it tries. */
export interface RelayOptions extends Omit<SubmitOptions, "url"> {
  /** The relay: the URL under which `keys` and `reports` are. In a page it may be relative. */
  readonly relay: string | URL;
  /**
   * The aggregator's keys, as its `/.well-known/ohttp-gateway` gives them (`application/ohttp-keys`). A page that has
   * them need not trust the relay with them: nothing is sent to a relay that gives out another key. (Nor is anything
   * sealed to a key that others do not have: its owner could tell the report from theirs.)
   */
  readonly keys?: Uint8Array;
}

/** The outcome of a report that is left with a relay. */
export interface RelayedSubmission {
  /** The relay has it on its disk, and sends it on with its batch. Nobody says whether it counts. */
  readonly status: "relayed";
  /** How often it was sent. */
  readonly attempts: number;
}

/**
 * Leaves a report with a relay, which shuffles: sealed to the aggregator, so that the relay cannot read it, and the
 * aggregator does not learn who sent it. Every attempt sends the same bytes. Sends neither cookies nor a referrer, and
 * no header that needs a preflight request.
 *
 * An id that the aggregator issued would say whose the report is: use it for tasks whose reports make their own.
 *
 * It tries again when there is no answer, and after the answers 408, 429 and 500 to 599.
 *
 * @throws {@link SubmitError} (by rejecting) with the code, and where there is one the `status`, of the last attempt
 *   (`answer`: the relay's key is not that of `keys`, among others); {@link ArgumentError} for
 *   options that make no sense; {@link EntropyError} on a page without https:// or localhost; the signal's reason when
 *   that aborts.
 */
export function submitThroughRelay(report: Report, options: RelayOptions): Promise<RelayedSubmission>;
