// Answers to the newest question: it ends the work for those before, and an answer stays until there is another.

/** A function that does `work` anew, and ends what it still does. Why there is no answer is said in `failure`. */
export function newest(failure: HTMLElement, work: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
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
      failure.textContent = `No answer: ${(error as Error).message}. What you see is the answer before.`;
      failure.hidden = false;
    }
  };
}
