// The page's requests to the aggregator that serves it.

/** The answer to a request for components. */
export interface Recovery {
  readonly records: number;
  readonly rank: number;
  /** `rank` numbers, descending. */
  readonly eigenvalues: readonly number[];
  /** `rank` variances without the bias of the noise, null for one that is not above the noise; none of two waves. */
  readonly variances?: readonly (number | null)[];
  /** `rank` arrays of d numbers. */
  readonly components: readonly (readonly number[])[];
  readonly feature_names: readonly string[];
  readonly noise_deviation: number;
  /** The eigenvalue that noise alone would give to the first component. */
  readonly noise_edge: number;
}

/** Events about a collection, one for each change. */
export interface Listener {
  status(status: { readonly records: number }): void;
  recovery(recovery: Recovery): void;
  /** Why there are no components yet: a problem document (RFC 9457). */
  problem(problem: { readonly detail: string }): void;
  /** The aggregator went away. Requests are repeated, and events resume when it answers. */
  unreachable(): void;
}

/** The aggregator does not answer. */
export class Unreachable extends Error {}

/** The server of this page is not an aggregator. */
export class NoAggregator extends Error {}

/** The longest wait for an answer. */
export const TIMEOUT_MS = 15_000;
/** The delay after a refusal before the next request; lost connections come back by themselves, and sooner. */
const RECONNECT_MS = 3000;

/**
 * Asks the aggregator what it has: the digests of its collections, and in a demo the address of its relay. Throws
 * {@link Unreachable} or {@link NoAggregator}.
 */
export async function listTasks(): Promise<{ ids: string[]; relay: string | undefined }> {
  let response: Response;
  try {
    response = await fetch("tasks", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Unreachable("there is no answer");
  }
  if (response.status >= 500) throw new Unreachable(`the answer is ${response.status} ${response.statusText}`);
  // A host of static files may well answer with a page.
  const { tasks, relay }: { tasks?: unknown; relay?: string } = Object(await response.json().catch(() => undefined));
  if (!response.ok || !Array.isArray(tasks)) throw new NoAggregator("there is no list of collections at this address");
  return { ids: tasks.map(String), relay };
}

/**
 * Reports on the collection `id` and its leading components until the returned function is called. It pauses while
 * nobody sees the page: browsers allow few connections to one host, over all tabs.
 */
export function follow(id: string, rank: number, listener: Listener): () => void {
  let source: EventSource | undefined;
  let reconnecting: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    close();
    if (document.visibilityState === "hidden") return;
    const opened = new EventSource(`tasks/${id}/events?rank=${rank}`);
    source = opened;
    for (const kind of ["status", "recovery", "problem"] as const) {
      opened.addEventListener(kind, ({ data }: MessageEvent<string>) => listener[kind](JSON.parse(data)));
    }
    opened.addEventListener("error", () => {
      listener.unreachable();
      // Refusals close it, lost connections do not.
      if (opened.readyState === EventSource.CLOSED) reconnecting = setTimeout(open, RECONNECT_MS);
    });
  }

  function close(): void {
    clearTimeout(reconnecting);
    source?.close();
    source = undefined;
  }

  open();
  document.addEventListener("visibilitychange", open);
  return () => {
    document.removeEventListener("visibilitychange", open);
    close();
  };
}
