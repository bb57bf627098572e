// The buttons and the progress bar of work that can be cancelled and run again.

import { element } from "./context.js";

/** The button that starts the work, the one that cancels it in the same place, and the bar of its progress. */
export class RunControls {
  readonly run: HTMLButtonElement;
  readonly cancel: HTMLButtonElement;
  readonly bar: HTMLProgressElement;

  /** @param prefix - The ids are `prefix-run`, `prefix-cancel` and `prefix-progress`. */
  constructor(prefix: string) {
    this.run = element(`${prefix}-run`);
    this.cancel = element(`${prefix}-cancel`);
    this.bar = element(`${prefix}-progress`);
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
