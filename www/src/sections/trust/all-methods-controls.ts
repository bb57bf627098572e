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
  const input = element("trust-epsilon");

  async function ask(): Promise<void> {
    // The field does not hold the last valid epsilon.
    if (input.ariaInvalid === "true") return input.focus();
    const { records, epsilon, setting } = asked();
    await controls.start({
      begins: "Loading the methods …",
      async work(signal, progress) {
        const compared = import("./all-methods.js").then(({ compareAllMethods }) =>
          compareAllMethods(pool, { ...records, epsilon }, setting, signal, ({ done, total }) =>
            progress(done / total, `${done} of ${total} estimates done.`),
          ),
        );
        await unlessAborted(signal, compared);
        announce("Every method is compared.");
        return "Done.";
      },
      failed: (message) => `No answer: ${message}.`,
    });
  }

  controls.run.addEventListener("click", () => void ask());
  controls.run.hidden = false;
  element<HTMLFormElement>("trust-every-form").addEventListener("submit", () => void ask());
}
