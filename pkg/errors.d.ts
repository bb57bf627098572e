/**
 * What was wrong. Codes are stable; messages may change.
 *
 * | code | class | what was wrong |
 * |---|---|---|
 * | `init` | {@link InitError} | the WebAssembly module is not loaded, or did not load; the worker died, or does not answer |
 * | `argument` | {@link ArgumentError} | an argument has the wrong type or length, or the object was freed |
 * | `task` | {@link TaskError} | the document is not JSON, has unknown fields or another version, or makes no sense |
 * | `fetch` | {@link TaskError} | no task came from the URL; `status`, where there was an answer |
 * | `digest` | {@link TaskError} | the task is not the expected one, or its second wave does not refine it |
 * | `max-epsilon` | {@link TaskError} | the task asks for a larger epsilon than the page allows |
 * | `max-delta` | {@link TaskError} | the task asks for a larger delta than the page allows |
 * | `max-report-bytes` | {@link TaskError} | the task asks for longer reports than the page allows |
 * | `max-draws` | {@link TaskError} | the task asks for more work per report than the page allows |
 * | `schema` | {@link RecordError} | `check` and `strict`: a column or a value does not fit the task |
 * | `record` | {@link RecordError} | there is no record |
 * | `entropy` | {@link EntropyError} | `crypto.getRandomValues` is missing or failed; there is no fallback |
 * | `report` | {@link ReportError} | the bytes are not a report of this task |
 * | `network` | {@link SubmitError} | no answer: no connection, too slow, forbidden by CORS or the page's policy, or a redirect |
 * | `rate-limit` | {@link SubmitError} | 429, on every attempt; or a longer `Retry-After` than `maxDelay` |
 * | `unavailable` | {@link SubmitError} | 408 or 500 to 599, likewise |
 * | `answer` | {@link SubmitError} | success, but not an aggregator's answer: a portal or another server |
 * | `not-found` | {@link SubmitError} | 404: the aggregator does not collect this task, or is not at this URL |
 * | `too-large` | {@link SubmitError} | 413: a server in between takes no body of this size |
 * | `media-type` | {@link SubmitError} | 415: the server does not take reports |
 * | `rejected` | {@link SubmitError} | 422: the bytes are not a report of this task |
 * | `refused` | {@link SubmitError} | any other status |
 * | `storage` | {@link LedgerError} | the browser gives no durable storage, or it failed |
 * | `budget` | {@link LedgerError} | the report does not fit the budget |
 * | `spent` | {@link LedgerError} | this device has sent its report of the task, or it was withdrawn |
 * | `destination` | {@link LedgerError} | this device's report of the task was promised to another place |
 * | `components` | {@link LdpPcaError} | the text is not components of version 1 |
 * | `aggregate` | {@link LdpPcaError} | lab: bytes that are not an aggregate of the task, or one that is empty or of another |
 * | `recovery` | {@link LdpPcaError} | lab: a rank, a penalty, a matrix or a spectrum that makes no sense |
 * | `simulation` | {@link LdpPcaError} | lab: a population that does not exist |
 * | `method` | {@link LdpPcaError} | lab: a method that cannot be compared in this way, or not on these records |
 * | `cancelled` | {@link LdpPcaError} | lab: `onProgress` asked to stop before there was a result |
 */
export type LdpPcaErrorCode =
  | InitError["code"]
  | ArgumentError["code"]
  | TaskError["code"]
  | RecordError["code"]
  | EntropyError["code"]
  | ReportError["code"]
  | SubmitError["code"]
  | LedgerError["code"]
  | "components"
  | "aggregate"
  | "recovery"
  | "simulation"
  | "method"
  | "cancelled";

/**
 * The only error that this package throws on purpose, except for the reason of an aborted `AbortSignal`. Its message
 * has what was wrong, and the remedy. No part of it contains a value of a record, or a name that its task does not
 * have: errors may be logged and sent.
 */
export class LdpPcaError extends Error {
  /** What was wrong, for programs. */
  readonly code: LdpPcaErrorCode;
  constructor(code: LdpPcaErrorCode, message: string, options?: { cause?: unknown });
}

/** The WebAssembly module. */
export class InitError extends LdpPcaError {
  readonly code: "init";
}

/** The call itself. */
export class ArgumentError extends LdpPcaError {
  readonly code: "argument";
}

/** The task: its source, its content, its demands. */
export class TaskError extends LdpPcaError {
  readonly code:
    | "task"
    | "fetch"
    | "digest"
    | "max-epsilon"
    | "max-delta"
    | "max-report-bytes"
    | "max-draws";
  /** For code `fetch`: the status of the answer, if there was one. */
  readonly status?: number;
}

/**
 * What is wrong with a record.
 *
 * | reason | code | what was wrong |
 * |---|---|---|
 * | `missing` | `schema` | the record does not have `column` (a question that was skipped is `null`) |
 * | `type` | `schema` | the value in `column` is of another type than the column's, or reading it throws |
 * | `unknown` | `schema` | the record has columns that the task does not have |
 * | `length` | `schema` | the record came by position, and its number of values is not the task's number of columns |
 * | `shape` | `record` | it is not a record: `null`, a text, a `Map`, a promise |
 */
export type RecordReason = "missing" | "type" | "unknown" | "length" | "shape";

/** The record. The error never contains a value, or a name that the task does not have. */
export class RecordError extends LdpPcaError {
  readonly code: "schema" | "record";
  readonly reason: RecordReason;
  /** The task's name of the column, where there is one. */
  readonly column: string | undefined;
}

/** The source of randomness. */
export class EntropyError extends LdpPcaError {
  readonly code: "entropy";
}

/** The bytes of a report. */
export class ReportError extends LdpPcaError {
  readonly code: "report";
}

/**
 * The delivery. A refusal is final if it has a `type`, which shows that it is the aggregator's own, and is not a
 * temporary one (`task-not-started`, and all of code `rate-limit` and `unavailable`). After any other error the same
 * report may be sent again later: no answer, or an answer from something in between, says nothing about the report.
 */
export class SubmitError extends LdpPcaError {
  readonly code:
    | "network"
    | "rate-limit"
    | "unavailable"
    | "answer"
    | "not-found"
    | "too-large"
    | "media-type"
    | "rejected"
    | "refused";
  /** The status of the answer, if there was one. */
  readonly status?: number;
  /**
   * The aggregator's name for it: the last part of the `type` of its problem, for instance `task-refined`
   * (the first wave is over, and others answer the second), `task-expired`, `task-not-started`, `quota` (the task is
   * full), `unknown-task`, or for a report that is not one of the task `report-not-issued`, `report-checksum`.
   */
  readonly type?: string;
  /** The seconds until the server accepts the next request, or until the task starts, if it said so. */
  readonly retryAfter?: number;
}

/** The ledger. */
export class LedgerError extends LdpPcaError {
  readonly code: "storage" | "budget" | "spent" | "destination";
  /** For `spent`: whether the report was withdrawn. Otherwise it was sent. */
  readonly withdrawn?: boolean;
}
