// What the page asks of the aggregator that serves it.

/** The answer to a request for components. */
export interface Recovery {
  readonly records: number;
  readonly rank: number;
  /** `rank` numbers, descending. */
  readonly eigenvalues: readonly number[];
  /** `rank` arrays of d numbers. */
  readonly components: readonly (readonly number[])[];
  readonly feature_names: readonly string[];
  readonly noise_deviation: number;
  /** The eigenvalue that noise alone would give to the first component. */
  readonly noise_edge: number;
}

/** An answer that is not what was asked for, or no answer at all (then without a status). */
export class AggregatorError extends Error {
  constructor(
    message: string,
    readonly status?: number,
    readonly records?: number,
  ) {
    super(message);
  }
}

/** The longest wait for an answer. */
export const PATIENCE_MS = 15_000;

export async function listTasks(): Promise<string[]> {
  const { tasks } = (await (await request("tasks")).json()) as { tasks: string[] };
  return tasks;
}

export async function readRecovery(id: string, rank: number): Promise<Recovery> {
  return (await request(`tasks/${id}/recovery?rank=${rank}`)).json() as Promise<Recovery>;
}

async function request(path: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch {
    throw new AggregatorError("the aggregator does not answer");
  }
  if (response.ok) return response;
  // Refusals are problem documents (RFC 9457); whatever else is in the way may answer in other forms.
  const problem: { detail?: string; records?: number } = await response.json().catch(() => ({}));
  throw new AggregatorError(
    problem.detail ?? `the aggregator answers ${response.status} ${response.statusText}`,
    response.status,
    problem.records,
  );
}
