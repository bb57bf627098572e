import type { Task } from "./api.js";
import type { Detection, Guarantee } from "./task.js";

/**
 * What leaves the device, to be shown before it does. The sentences are English text, not markup: names in them come
 * from whoever wrote the task.
 */
export interface ConsentStatement {
  /** All sentences, in this order: `leaves`, `stays`, `promise`, `scope`. */
  readonly text: string;
  /** What leaves: the report, its size, and the columns that it is made from. */
  readonly leaves: string;
  /** What does not. */
  readonly stays: string;
  /** The guarantee in words: {@link Task.detection}, with its power rounded up to three digits. */
  readonly promise: string;
  /** What the guarantee covers. */
  readonly scope: string;
  /** The names of the columns that are asked for. */
  readonly columns: string[];
  /** The names of the features that they become. */
  readonly features: string[];
  readonly reportBytes: number;
  readonly guarantee: Guarantee;
  readonly detection: Detection;
  readonly taskDigest: string;
}

/** What a task asks for, in words and in numbers. Throws what the task's properties throw, when it was freed. */
export function consent(
  task: Pick<Task, "detection" | "digest" | "featureNames" | "guarantee" | "reportBytes" | "toJSON">,
): ConsentStatement;
