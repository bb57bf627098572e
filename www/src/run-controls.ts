// The buttons, the progress bar and the words of work that can be cancelled and run again.

import { element } from "./context.js";

/** What is done in a run, and what is said of it. */
export interface Run {
  /** At its beginning. */
  readonly begins: string;
  /** Resolves to what is said at its end. `progress` is told the share that is done, and words that stay if it ends. */
  work(signal: AbortSignal, progress: (share: number, words?: string) => void): Promise<string>;
  /** What stays when it is cancelled; by default the words of its progress. */
  kept?(): string;
  /** What went wrong. */
  failed(message: string): string;
}

/** The button that starts the work, the one that cancels it in the same place, its progress, and its failure. */
export class RunControls {
  readonly run: HTMLButtonElement;
  readonly cancel: HTMLButtonElement;
  readonly bar: HTMLProgressElement;
  readonly status: HTMLElement;
  readonly failure: HTMLElement;
  #stop = new AbortController();

  /** @param prefix - The ids are `prefix-run`, `-cancel`, `-progress`, `-status` and `-failure`. */
  constructor(prefix: string) {
    this.run = element(`${prefix}-run`);
    this.cancel = element(`${prefix}-cancel`);
    this.bar = element(`${prefix}-progress`);
    this.status = element(`${prefix}-status`);
    this.failure = element(`${prefix}-failure`);
    this.cancel.addEventListener("click", () => this.stop());
  }

  /** Cancels what is running. */
  stop(): void {
    this.#stop.abort();
  }

  /** Says what went wrong. */
  fail(words: string): void {
    this.failure.textContent = words;
    this.failure.hidden = false;
  }

  /** Does the work. An earlier run ends, and says nothing any more. */
  async start({ begins, work, kept, failed }: Run): Promise<void> {
    this.stop();
    const own = (this.#stop = new AbortController());
    let known = "";
    this.failure.hidden = true;
    this.running = true;
    this.bar.value = 0;
    this.status.textContent = begins;
    try {
      this.status.textContent = await work(own.signal, (share, words) => {
        this.bar.value = share;
        if (words !== undefined) this.status.textContent = known = words;
      });
    } catch (error) {
      if (own !== this.#stop) return;
      this.status.textContent = own.signal.aborted ? `Cancelled. ${kept?.() ?? known}`.trim() : known;
      if (!own.signal.aborted) {
        own.abort();
        this.fail(failed((error as Error).message));
      }
    }
    if (own !== this.#stop) return;
    this.running = false;
    // What it made lives on: nothing ends with a signal of a run that is over.
    this.#stop = new AbortController();
  }

  set running(active: boolean) {
    const focused = document.activeElement === (active ? this.run : this.cancel);
    this.cancel.hidden = !active;
    this.run.hidden = active;
    this.bar.hidden = !active;
    // The button that takes the place of another takes the keyboard too.
    if (focused) (active ? this.cancel : this.run).focus();
  }
}
