import type { TaskFacts } from "./api.js";
import type { LedgerOptions } from "./ledger.js";

/** A text with these places in it, for what `consent` puts there. */
type With<Place extends string> = (
  Place extends unknown ? (text: `${string}{${Place}}${string}`) => void : never
) extends (text: infer Text) => void
  ? Text
  : never;

/**
 * The sentences of {@link consent} in one language. `ldp-pca/sentences` has English and German. One that lacks a place,
 * such as `{columns}`, is an error; where TypeScript knows only that it is a text (of a JSON file, for example), assert
 * the type, and `consent` checks it.
 */
export interface ConsentSentences {
  /** The language, and the format of numbers: a BCP 47 tag such as `de`. */
  readonly locale: string;
  /** The question; `ldp-pca/consent-dialog` has it above the sentences. */
  readonly title: string;
  /** Who asks, and what for, as the page says it. */
  readonly who: With<"collector" | "purpose">;
  /**
   * What leaves the device: the size of the report, and the labels of the columns; also that the page may have asked
   * for the report's id (`issuedId`) before.
   */
  readonly leaves: With<"bytes" | "columns">;
  /** What stays. */
  readonly stays: string;
  /**
   * The guarantee. Of 1000 people of whom something is not true, a test of their reports suspects `{others}`; then of
   * 1000 of whom it is true it suspects `{found}` at most, on average.
   */
  readonly promise: With<"others" | "found">;
  /** What it covers. */
  readonly scope: string;
  /** What the reports of one period reveal, and all of them, of 1000 people: in place of `scope`, for `limits`. */
  readonly repeated: With<"inPeriod" | "inAll">;
  /** The two answers. */
  readonly agree: string;
  readonly decline: string;
}

/** The wording of {@link consent}. */
export interface ConsentOptions {
  /** English by default. */
  readonly sentences?: ConsentSentences;
  /** The format of numbers, if it differs from the sentences' own locale: `de-CH`, for example. */
  readonly locale?: string;
  /** Names of columns for visitors, by column name, in place of the task's `label`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Who receives the reports, by the name that visitors know. */
  readonly collector?: string;
  /** What the answers are for, after "What for: ". */
  readonly purpose?: string;
  /**
   * The limits with which this page opens its {@link PrivacyLedger}, if it asks in several periods. Then `scope` says
   * how much all reports of one period reveal at most, and all reports together.
   */
  readonly limits?: Pick<LedgerOptions, "maxEpsilon" | "maxEpsilonPerPeriod" | "maxDelta">;
}

/**
 * What leaves the device, to be shown before it does: the sentences with their placeholders filled in. They are text,
 * not markup: names in them come from the author of the task. `who` is empty where the page does not say both its
 * `collector` and its `purpose`. `promise` has {@link Task.detection} in words, for 1000 people and rounded up to
 * whole ones; `locale` is for an attribute `lang`.
 */
export interface ConsentStatement
  extends Readonly<Record<keyof ConsentSentences, string>>,
    Pick<TaskFacts, "detection" | "guarantee" | "reportBytes"> {
  /** All sentences, in this order: `who`, `leaves`, `stays`, `promise`, `scope`. */
  readonly text: string;
  /** The names of the columns that are asked for. */
  readonly columns: string[];
  /** The names of the features that they become. */
  readonly features: string[];
  readonly taskDigest: string;
}

/**
 * What a task asks for, in words and in numbers. Throws what the task's properties throw if it was freed.
 *
 * @throws {@link ArgumentError} when a sentence is missing, or lacks a place, and for limits that make no sense.
 */
export function consent(
  task: Pick<TaskFacts, "detection" | "digest" | "featureNames" | "guarantee" | "reportBytes" | "toJSON">,
  options?: ConsentOptions,
): ConsentStatement;
