import type { Task } from "./api.js";
import type { Guarantee } from "./task.js";

/** A report for display, as `JSON.stringify` writes it. */
export interface ReportDocument {
  readonly taskDigest: string;
  readonly guarantee: Guarantee;
  /** Two hexadecimal digits a byte. */
  readonly bytes: string;
}

/** A randomized record, which leaves the device. It can be stored and sent without WebAssembly. */
export class Report {
  private constructor();

  /**
   * The report with these bytes, to send it again.
   *
   * @param bytes - The bytes of {@link Report.bytes}; they are copied.
   * @throws {@link ReportError} with code `report` for bytes that are not a report of this task, or were altered.
   */
  static fromBytes(bytes: Uint8Array, task: Pick<Task, "digest" | "guarantee" | "reportBytes">): Report;

  /** The report's id, 32 hexadecimal digits, by which an aggregator identifies it. */
  readonly id: string;
  /** A copy of the bytes; {@link Task.reportBytes} of them. */
  readonly bytes: ReturnType<Uint8Array["slice"]>;
  /** The digest of the task that it answers. */
  readonly taskDigest: string;
  /** Its guarantee. */
  readonly guarantee: Guarantee;

  /** For display. */
  toJSON(): ReportDocument;
}
