// Policies for calls that come while an earlier one is still at work.

/**
 * Does one call at a time. Of the calls that come meanwhile, only the latest is done. For work that follows a slider.
 */
export function keepLatest<T>(work: (input: T) => Promise<void>): (input: T) => void {
  let busy = false;
  let next: { readonly input: T } | undefined;

  async function run(): Promise<void> {
    busy = true;
    while (next) {
      const { input } = next;
      next = undefined;
      await work(input);
    }
    busy = false;
  }

  return (input) => {
    next = { input };
    if (!busy) void run();
  };
}

/** `work`, or the signal's reason as soon as it is aborted. A started download continues, for the next request. */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return Promise.race([work, new Promise<never>((_, reject) => (signal.onabort = () => reject(signal.reason)))]);
}

/**
 * Every call aborts the previous one and starts `work` again. The last result stays until there is another; `failure`
 * says why there is none.
 */
export function restartable(failure: HTMLElement, work: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
  let current: AbortController | undefined;
  return async () => {
    current?.abort();
    const own = new AbortController();
    current = own;
    try {
      await work(own.signal);
      failure.hidden = true;
    } catch (error) {
      if (own.signal.aborted) return;
      failure.textContent = `No answer: ${(error as Error).message}. What you see is the previous answer.`;
      failure.hidden = false;
    }
  };
}
