import type { RandomizeOptions, RandomizerFacts } from "./api.js";
import type { LedgerError, SubmitError } from "./errors.js";
import type { Report } from "./report.js";
import type { SubmitOptions } from "./submit.js";
import type { Guarantee } from "./task.js";

/** Options of {@link PrivacyLedger.open}. */
export interface LedgerOptions {
  /** The name of the database; `ldp-pca` by default. Ledgers of one name and origin are one ledger, in all tabs. */
  readonly name?: string;
  /** The largest sum of the epsilons of all reports. There is no default; `Infinity` only counts. */
  readonly maxEpsilon: number;
  /**
   * The largest sum of the epsilons of the reports of one period, which are those of all tasks with the same `period`;
   * `Infinity` by default. (Tasks without a period are together, as if they had one of their own.) `maxEpsilon` is the
   * sum over all periods.
   *
   * It holds for two people whose values differ in one period. Values that stay the same differ in all of them, and
   * then `maxEpsilon` is what holds.
   */
  readonly maxEpsilonPerPeriod?: number;
  /** The largest sum of their deltas, over all periods; 1e-5 by default. */
  readonly maxDelta?: number;
  /**
   * Asked when the browser denies storage. Resolve to `true` to continue with a ledger that lasts only as long as the
   * page (after asking the visitor, for example). Any other result refuses, as does a missing callback.
   */
  readonly onStorageDenied?: (
    error: LedgerError & { readonly code: "storage" },
  ) => boolean | undefined | Promise<boolean | undefined>;
  /**
   * Whether this page itself sends waiting reports when the device comes back online; `false` by default. Without it a
   * page that only opens the ledger sends nothing.
   */
  readonly flushOnline?: boolean;
  /** Receives the outcomes of reports that were sent because the device came back online. */
  readonly onFlush?: (outcomes: Outcome[]) => void;
}

/**
 * The outcome of the task's one report, by `status`:
 *
 * - `accepted`: it counts.
 * - `duplicate`: it counts, from an earlier attempt or visit.
 * - `relayed`: a relay has it on its disk, from now or from an earlier visit, and sends it on with its batch. Nobody
 *   says whether it counts.
 * - `pending`: it is on disk, and the next {@link PrivacyLedger.flush} or {@link PrivacyLedger.send} sends the same
 *   bytes (or this page does, when the device comes back online). It may have arrived; it counts once.
 * - `refused`: it does not count, and is not sent again by itself.
 */
export type Outcome = {
  /** The task of the report: where there are two waves, the one that this device answered. */
  readonly taskDigest: string;
  /**
   * The report's id, 32 hexadecimal digits. Show it to the visitor as a receipt, or keep it: with it the aggregator's
   * operator can erase the report, and without it nobody can find the report. `undefined` where none was made, since
   * the aggregator gave no id for it, or it was withdrawn before.
   */
  readonly id: string | undefined;
} & (
  | { readonly status: "accepted" | "duplicate" | "relayed"; readonly id: string; readonly error?: undefined }
  | {
      readonly status: "pending";
      readonly id: string;
      /** The error of the last attempt. */
      readonly error: SubmitError;
      /** The seconds until the server accepts the next request, if it said so. */
      readonly retryAfter: number | undefined;
      /**
       * The next sender: the event `online` (with `flushOnline`, in this page), or only the next `flush` or `send`.
       */
      readonly retryOn: "online" | "flush";
    }
  | {
      readonly status: "refused";
      /**
       * A {@link SubmitError} whose `type` says why the aggregator does not take it (see there which refusals are
       * final), or a {@link LedgerError} of code `spent`: it was withdrawn.
       */
      readonly error: SubmitError | (LedgerError & { readonly code: "spent" });
    }
);

/** The result of {@link PrivacyLedger.withdraw}. */
export interface Withdrawal {
  /** The task of the report, or the given one if there is none. */
  readonly taskDigest: string;
  /** The report's id, if there was one. */
  readonly id?: string;
  /**
   * Whether the report had left the device. `true`: it counts, and nothing here removes it from the sum; the
   * aggregator's operator can, by its `id`. `false`: it never will. `"unknown"`: it may count, because an attempt had
   * started and no answer came, or because a relay has it; by `id` the operator can erase it if it arrived.
   */
  readonly sent: boolean | "unknown";
}

/** The spent budget. */
export interface LedgerStatus {
  /** The sum of the epsilons of all reports, never below the real one. */
  readonly epsilon: number;
  /** The sum of their deltas, likewise. */
  readonly delta: number;
  readonly reports: readonly {
    /** Of the first wave, where there are two: whichever was answered, a page finds it by the digest that it pins. */
    readonly taskDigest: string;
    /**
     * The origin that the report is promised to, of its `url` or `relay`. Any author of a task can name another's first
     * wave as its parent: a page knows its own report by both.
     */
    readonly origin: string;
    /** The task's period, if it has one. */
    readonly period?: string;
    readonly guarantee: Guarantee;
    /**
     * `booked`: its budget is spent and no report was made yet (randomizing failed, or the page was left meanwhile),
     * the one report can still be made; `pending`: it waits to be sent; `sent`: it counts; `relayed`: a relay has it;
     * `refused`: the aggregator (or the relay) does not accept it, `send` tries once more; `withdrawn`: there will be
     * none.
     */
    readonly state: "booked" | "pending" | "sent" | "relayed" | "refused" | "withdrawn";
    /** For `refused`: the reason. */
    readonly error?: SubmitError;
  }[];
}

/** Options of {@link PrivacyLedger.send}: the destination, with what belongs to it, and how long it tries. */
export type SendOptions = AggregatorOptions | RelayOptions;

/** To the aggregator. */
export interface AggregatorOptions extends SubmitOptions {
  readonly relay?: undefined;
  readonly keys?: undefined;
  /**
   * The report's id, as for {@link Randomizer.randomize}, or a promise of it: `issuedId(task, { url })`, requested when
   * the page starts, lets the report leave at once. Without this member the id is requested when the report is made.
   */
  readonly id?: string | undefined | Promise<string | undefined>;
}

/**
 * Through a relay, which shuffles: sealed to the aggregator, so that the relay cannot read the report, and the
 * aggregator does not learn who sent it. The task is one whose reports make their own ids, and its JSON is in the page
 * ({@link Task.parse}): an aggregator that is asked for a task or an id sees who takes part, and when. A task for which
 * this page has asked it, by {@link Task.fetch} from another origin than the page's or by {@link issuedId}, is refused.
 *
 * The part of the package that seals is loaded when it is needed.
 */
export interface RelayOptions extends Omit<SubmitOptions, "url"> {
  /** The relay: the URL under which `keys` and `reports` are. In a page it may be relative. */
  readonly relay: string | URL;
  /**
   * The aggregator's keys, as its `/.well-known/ohttp-gateway` gives them (`application/ohttp-keys`). A page that has
   * them need not trust the relay with them: nothing is sent to a relay that gives out another key, and the report
   * waits. (Nor is anything sealed to a key that others do not have: its owner could tell the report from theirs.)
   */
  readonly keys?: Uint8Array;
  readonly url?: undefined;
  readonly id?: undefined;
}

/**
 * What this device has promised: one report per task, a budget over all tasks, and the reports that wait to be sent.
 * A task and its refinements have one report together: who answered the first wave gets that report's outcome in the
 * second. What is only booked can still be made for either, and counts as the larger of both. The ledger knows the
 * refinements of the tasks that this copy of the package has read, on this page; of others it books each task alone.
 * A refinement of another period than its first wave is a promise of its own.
 *
 * A report is promised to one origin, that of its `url` or `relay`, and keeps it: it goes to another path of it, but to
 * no other server, and what is promised to a relay never to an aggregator. A refinement that asks for its report at
 * another origin than its first wave is a promise of its own, and the budget counts both: anybody can name a parent.
 *
 * It is kept in IndexedDB, per browser profile, origin and `name`. A private window has its own, which ends with it;
 * deleting the site's data starts a new ledger. A page that is open then still counts what its ledgers of this name
 * have seen, and makes no second report; what waited is sent only if the page calls {@link PrivacyLedger.send} again.
 * Later visits know only what the page has booked or changed since. Where the browser closes the database (of a
 * suspended tab, for example), the next call opens it again. Like everything that runs on the device, the ledger is
 * only as trustworthy as the page.
 */
export class PrivacyLedger {
  private constructor();

  /**
   * Opens the ledger.
   *
   * @throws {@link LedgerError} (by rejecting) with code `storage` where the browser denies storage, or does not answer
   *   for 10 seconds; {@link ArgumentError} for limits that make no sense.
   */
  static open(options: LedgerOptions): Promise<PrivacyLedger>;

  /** Whether it outlives the page. */
  readonly persistent: boolean;

  /**
   * Books, randomizes, stores and sends: the one call of a page whose visitor agrees. It returns the outcome of this
   * device's one report for the randomizer's task, to every caller, in all tabs and however often it is called.
   *
   * The budget is spent, on disk, before the record is looked at, and stays spent whatever happens afterwards. The
   * report is on disk before it is sent, and the record never is. An existing report is sent as it is, whatever the
   * record is now, to the new `url` or `relay`. One that goes to a relay is sealed once, and the sealed bytes replace
   * the report's own on the disk before the first attempt: every attempt sends them.
   *
   * Reports below 60 kB arrive even if the visitor leaves the page while they are on their way. A larger one that is
   * cut off waits, like one without a connection, and so does one for which the relay's key had not come.
   *
   * @param randomizer - One of this package or of `ldp-pca/worker`.
   * @param options - Either the `url` of the aggregator or a `relay`; a relative one is made absolute now.
   * @throws {@link LedgerError} (by rejecting) with code `budget` when the report does not fit, `destination` when it
   *   was promised to another origin, or to a relay or not to one, `storage` when the storage fails;
   *   {@link ArgumentError} for options that make no sense, and for a task for which a relay would hide nothing;
   *   {@link EntropyError} for a relay on a page without https:// or localhost; {@link SubmitError} when no id came for
   *   a report that is still to be made; what {@link Randomizer.randomize} throws (the budget stays spent, and the
   *   report can be made by another call); the signal's reason.
   */
  send<R>(randomizer: LedgerRandomizer<R>, record: R, options: SendOptions): Promise<Outcome>;

  /**
   * Whether {@link PrivacyLedger.send} would make a report, to which the visitor has to agree: there is none of the
   * task yet.
   *
   * @param options - As for {@link PrivacyLedger.send}.
   */
  needsConsent(
    randomizer: Pick<LedgerRandomizer<never>, "taskDigest" | "period">,
    options: SendOptions,
  ): Promise<boolean>;

  /**
   * Makes the one report of this device for the randomizer's task, for an aggregator, and does not send it. The budget
   * is spent as by {@link PrivacyLedger.send}. The report is on disk when the promise resolves;
   * {@link PrivacyLedger.flush} sends it. What the page itself does with it, by `submit` for one, the ledger does not
   * see: {@link PrivacyLedger.withdraw} says nothing of that.
   *
   * @throws {@link LedgerError} (by rejecting) with code `spent` when the task's report was sent or withdrawn; what
   *   {@link PrivacyLedger.send} throws.
   */
  report<R>(
    randomizer: LedgerRandomizer<R>,
    record: R,
    options: Pick<AggregatorOptions, "url" | "id">,
  ): Promise<Report>;

  /**
   * Sends the waiting reports, all at once, with their stored bytes, each to where it was promised. Each stays until an
   * aggregator says that it counts, a relay has it, or one of them refuses it for good. Call it in the background, once
   * the page has started: it takes as long as the servers do, at most its `deadline` (60,000 milliseconds by default,
   * for everything). One tab at a time sends a report, and others wait up to that long for its outcome. One that waits
   * for a relay is left out on a page that has asked for the task elsewhere, or for an id: a later page sends it.
   *
   * @param options - As for {@link submit}, for each report.
   * @returns One outcome per waiting report, the same for all callers meanwhile.
   * @throws {@link LedgerError} (by rejecting) with code `storage`; the signal's reason.
   */
  flush(options?: Omit<SubmitOptions, "url">): Promise<Outcome[]>;

  /**
   * Withdraws the consent: deletes the bytes of the task's report, and no tab sends it from then on (an attempt of this
   * tab is cut off; one that another tab has started continues). The budget stays spent. A `send` under way gets the
   * outcome `refused`.
   *
   * @param taskDigest - That of the task; where there are two waves, of either. Everything is withdrawn that claims to
   *   be of the same first wave, and where there are several reports, the result is that of one that left.
   */
  withdraw(taskDigest: string): Promise<Withdrawal>;

  /** The spent budget, and the reports that wait. */
  status(): Promise<LedgerStatus>;

  /** Releases the database and the event `online`. The object cannot be used afterwards. */
  close(): void;
}

/** The part of a randomizer that the ledger needs. */
export interface LedgerRandomizer<R> extends Pick<RandomizerFacts, "taskDigest" | "period" | "guarantee"> {
  randomize(record: R, options?: RandomizeOptions): Report | Promise<Report>;
}
