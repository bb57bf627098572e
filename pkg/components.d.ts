import type { LdpPcaError } from "./errors.js";
import type { RecordInput } from "./task.js";

/** Options of {@link Components.fetch}. */
export interface ComponentsFetchOptions {
  /**
   * The digest of the task that the components must be of, 64 lower-case hexadecimal digits. Without it, the server can
   * serve those of another task. It cannot be `undefined`.
   */
  readonly digest?: string;
  /** Stops it; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A component in words. */
export interface ComponentDescription {
  /**
   * Its share of the total variance, above 0 and at most 1; `null` where it is none, or one of the two is not known.
   * That of noise is not.
   */
  readonly share: number | null;
  /** The features whose loadings are at least a third of the largest, the largest first. */
  readonly features: { readonly name: string; readonly loading: number }[];
  /**
   * The same features in English, by the labels of their columns: `running and cycling, against reading`. Those that
   * come first have positive scores if the first loading is positive.
   */
  readonly text: string;
}

/**
 * Published components (`components.json`), and a record's place among them, which is computed on the device: nothing
 * is sent. It needs no `init` and no WebAssembly.
 *
 * All errors are {@link LdpPcaError} itself, and none of its classes, which take more bytes.
 */
export class Components {
  private constructor();

  /**
   * Reads components.
   *
   * @param json - The text of `components.json`, version 1, or what `JSON.parse` made of it. (What is there twice shows
   *   in the text alone.)
   * @throws {@link LdpPcaError} with code `components` for anything else: other versions, members that are unknown,
   *   missing or there twice, and numbers that do not fit together. Whole numbers in another spelling (`1e2`), a number
   *   of records that was rounded to 2^53, and any `dialect` of files, which means nothing here, are not refused.
   */
  static parse(json: string | object): Components;

  /**
   * Fetches and reads components.
   *
   * @param url - Where they are, for instance `<aggregator>/tasks/<digest>/components`.
   * @throws {@link LdpPcaError} with code `fetch` where there is no answer, or another than success; `components` as
   *   {@link Components.parse}; `digest` for components of a task other than the expected one.
   */
  static fetch(url: string | URL, options?: ComponentsFetchOptions): Promise<Components>;

  /** The digest of the task that the components are of. */
  readonly taskDigest: string;
  /** The names of the d features. */
  readonly featureNames: readonly string[];
  /** The number of reports that they were found from. */
  readonly records: number;
  /** The number of components. */
  readonly rank: number;

  /**
   * The scores of a record, one for each component: its features, of norm 1 where the task says so, less the mean where
   * that is known, times the loadings. They are as private as the record. What does not fit its column counts as
   * missing, as in a report.
   *
   * @throws {@link LdpPcaError} with code `record` for what is no record.
   */
  scores(record: RecordInput): number[];

  /** Each component in words. */
  describe(): ComponentDescription[];
}
