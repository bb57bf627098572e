import type { ConsentSentences } from "./consent.js";

/** All that visitors read in one language: what {@link consent} says, and what {@link explain} says. */
export interface Sentences extends ConsentSentences {
  /** What became of a report, by the `status` of its outcome (`refused` is among the errors), and `declined`. */
  readonly outcomes: Readonly<Record<"accepted" | "duplicate" | "relayed" | "pending" | "declined", string>>;
  readonly errors: {
    /** The device has no connection. */
    readonly offline: string;
    /** The aggregator does not answer, or has no time. */
    readonly unreachable: string;
    /** The task has not started. */
    readonly early: string;
    /** The task is not there any more: a report of an earlier visit may count. */
    readonly gone: string;
    /** The task has expired, was deleted, or its first wave is over. */
    readonly over: string;
    /** The task has as many reports as it takes. */
    readonly full: string;
    /** The aggregator does not take the report, for another reason. */
    readonly refused: string;
    /** The visitor has withdrawn. */
    readonly withdrawn: string;
    /** The report does not fit the budget. */
    readonly budget: string;
    /** The browser gives no storage. */
    readonly storage: string;
    /** The task is not the one that the page expects. */
    readonly changed: string;
    /** The module did not load, or there is no source of randomness. */
    readonly browser: string;
    /** Anything else, which is the page's own mistake. */
    readonly page: string;
  };
}

/** English, the default of `consent`, of `collect` and of `explain`. */
export const en: Sentences;
/** German. */
export const de: Sentences;

/**
 * The sentence for a visitor about an outcome (of `collect`, of `ledger.send`) or about an error, without technical
 * words: those are in the error's `message`, for you.
 *
 * @param told - Whatever was returned or thrown. What is none of this package's is the page's own mistake.
 * @param sentences - English by default.
 * @throws {@link ArgumentError} when a sentence is missing, or lacks a place.
 */
export function explain(told: unknown, sentences?: Sentences): string;
