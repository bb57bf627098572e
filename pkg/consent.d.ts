import type { TaskFacts } from "./api.js";
import type { LedgerOptions } from "./ledger.js";

/**
 * The sentences of {@link consent} in one language. `ldp-pca/sentences` has English and German.
 *
 * Placeholders in the sentences: `{columns}` for the labels of the columns, `{bytes}` for the size of the report,
 * `{others}` for the percentage of others whom a test accuses falsely, and `{found}` for the percentage that it finds
 * at most; `{inPeriod}` for that of all reports of one period together, and `{inAll}` for that of all reports.
 */
export interface ConsentSentences {
  /** The language, and the format of numbers: a BCP 47 tag such as `de`. */
  readonly locale: string;
  /** The question; `ldp-pca/consent-dialog` has it above the sentences. */
  readonly title: string;
  /**
   * What leaves the device, with `{bytes}` and `{columns}`; also that the page may have asked for the report's id
   * (`issuedId`) before.
   */
  readonly leaves: string;
  /** What stays. */
  readonly stays: string;
  /** The guarantee, with `{others}` and `{found}`. */
  readonly promise: string;
  /** What it covers. */
  readonly scope: string;
  /** What several reports reveal, with `{inPeriod}` and `{inAll}`: in place of `scope`, for `limits`. */
  readonly repeated?: string;
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
  /**
   * The limits with which this page opens its {@link PrivacyLedger}, if it asks in several periods. Then `scope` says
   * how much all reports of one period reveal at most, and all reports together.
   */
  readonly limits?: Pick<LedgerOptions, "maxEpsilon" | "maxEpsilonPerPeriod" | "maxDelta">;
}

/**
 * What leaves the device, to be shown before it does: the sentences with their placeholders filled in. They are text,
 * not markup: names in them come from the author of the task. `promise` has {@link Task.detection} in words, with its
 * power rounded up to three digits; `locale` is for an attribute `lang`.
 */
export interface ConsentStatement extends ConsentSentences, Pick<TaskFacts, "detection" | "guarantee" | "reportBytes"> {
  /** All sentences, in this order: `leaves`, `stays`, `promise`, `scope`. */
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
 * @throws {@link ArgumentError} when a sentence is missing, and for limits that make no sense.
 */
export function consent(
  task: Pick<TaskFacts, "detection" | "digest" | "featureNames" | "guarantee" | "reportBytes" | "toJSON">,
  options?: ConsentOptions,
): ConsentStatement;
