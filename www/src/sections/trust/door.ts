// Asking for every method: what is in the page before somebody does. The rest, in every.ts, comes with the module.

import { type Context, element } from "../../context.js";
import { newest } from "../../newest.js";
import type { Asked } from "./methods.js";

/** Ties the controls of the table of every method. `asked` is what is to be compared, and at which epsilon. */
export function everyMethod(
  { pool, announce }: Context,
  asked: () => { readonly records: Asked; readonly epsilon: number; readonly setting: string },
): void {
  const run = element<HTMLButtonElement>("trust-every-run");
  const cancel = element<HTMLButtonElement>("trust-every-cancel");
  const bar = element<HTMLProgressElement>("trust-every-progress");
  const status = element("trust-every-status");
  let stop = new AbortController();

  const ask = newest(element("trust-every-failure"), async (signal) => {
    stop = new AbortController();
    const { records, epsilon, setting } = asked();
    running(true);
    status.textContent = "Loading the methods …";
    try {
      const { compareEvery, Table } = await import("./every.js");
      const table = new Table(element("trust-every"), setting);
      await compareEvery(pool, { ...records, epsilon }, AbortSignal.any([signal, stop.signal]), (part) => {
        bar.value = part.done / part.total;
        status.textContent = `${part.done} of ${part.total} estimates done.`;
        table.show(part);
      });
      status.textContent = "Done.";
      announce("Every method is compared.");
    } catch (error) {
      if (signal.aborted) throw error;
      status.textContent = stop.signal.aborted ? `Cancelled. ${status.textContent}` : "";
      if (!stop.signal.aborted) throw error;
    } finally {
      if (!signal.aborted) running(false);
    }
  });

  function running(active: boolean): void {
    const focused = document.activeElement === (active ? run : cancel);
    cancel.hidden = !active;
    run.hidden = active;
    bar.hidden = !active;
    bar.value = 0;
    // The button that takes the place of another takes the keyboard too.
    if (focused) (active ? cancel : run).focus();
  }

  run.addEventListener("click", () => void ask());
  cancel.addEventListener("click", () => stop.abort());
  element<HTMLFormElement>("trust-every-form").addEventListener("submit", () => void ask());
}
