// The controls of the table of every method, which are in the page from the start. The rest, in all-methods.ts, is
// loaded with the module when somebody asks.

import { unlessAborted } from "../../concurrency.js";
import { type Context, element } from "../../context.js";
import { RunControls } from "../../run-controls.js";
import type { ChartRecords } from "./central-methods.js";

/** Connects the controls to the work. `asked` is what to compare, and at which epsilon. */
export function bindAllMethods(
  { pool, announce }: Context,
  asked: () => { readonly records: ChartRecords; readonly epsilon: number; readonly setting: string },
): void {
  const controls = new RunControls("trust-every");
  const status = element("trust-every-status");
  const failure = element("trust-every-failure");
  const input = element("trust-epsilon");
  let stop = new AbortController();

  async function ask(): Promise<void> {
    // The field does not hold the last valid epsilon.
    if (input.ariaInvalid === "true") return input.focus();
    stop.abort();
    const own = (stop = new AbortController());
    const { signal } = own;
    const { records, epsilon, setting } = asked();
    let known = "";
    failure.hidden = true;
    controls.running = true;
    controls.bar.value = 0;
    status.textContent = "Loading the methods …";
    try {
      const compared = import("./all-methods.js").then(({ compareAllMethods }) =>
        compareAllMethods(pool, { ...records, epsilon }, setting, signal, ({ done, total }) => {
          controls.bar.value = done / total;
          status.textContent = known = `${done} of ${total} estimates done.`;
        }),
      );
      await unlessAborted(signal, compared);
      status.textContent = "Done.";
      announce("Every method is compared.");
    } catch (error) {
      if (own !== stop) return;
      status.textContent = signal.aborted ? `Cancelled. ${known}`.trim() : known;
      if (!signal.aborted) {
        failure.textContent = `No answer: ${(error as Error).message}.`;
        failure.hidden = false;
      }
    }
    controls.running = false;
  }

  controls.run.addEventListener("click", () => void ask());
  controls.run.disabled = false;
  controls.cancel.addEventListener("click", () => stop.abort());
  element<HTMLFormElement>("trust-every-form").addEventListener("submit", () => void ask());
}
