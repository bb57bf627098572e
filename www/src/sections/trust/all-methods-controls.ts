// The controls of the table of every method, which are in the page from the start. The rest, in all-methods.ts, is
// loaded with the module when somebody asks.

import { type Context, element } from "../../context.js";
import type { ComparedRecords } from "./central-methods.js";

/** Ties the controls to the work. `asked` is what is to be compared, and at which epsilon. */
export function bindAllMethods(
  { pool, announce }: Context,
  asked: () => { readonly records: ComparedRecords; readonly epsilon: number; readonly setting: string },
): void {
  const cancel = element<HTMLButtonElement>("trust-every-cancel");
  const run = element<HTMLButtonElement>("trust-every-run");
  const bar = element<HTMLProgressElement>("trust-every-progress");
  const status = element("trust-every-status");
  const failure = element("trust-every-failure");
  const input = element("trust-epsilon");
  let stop = new AbortController();

  async function ask(): Promise<void> {
    // The last good epsilon is not the one in the field.
    if (input.ariaInvalid === "true") return input.focus();
    stop.abort();
    const own = (stop = new AbortController());
    const { signal } = own;
    const { records, epsilon, setting } = asked();
    let known = "";
    failure.hidden = true;
    running(true);
    status.textContent = "Loading the methods …";
    try {
      await Promise.race([
        // What loads goes on loading, for the next who asks.
        new Promise<never>((_, reject) => (signal.onabort = () => reject(signal.reason))),
        import("./all-methods.js").then(({ compareAllMethods }) =>
          compareAllMethods(pool, { ...records, epsilon }, setting, signal, ({ done, total }) => {
            bar.value = done / total;
            status.textContent = known = `${done} of ${total} estimates done.`;
          }),
        ),
      ]);
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
    running(false);
  }

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
  run.disabled = false;
  cancel.addEventListener("click", () => stop.abort());
  element<HTMLFormElement>("trust-every-form").addEventListener("submit", () => void ask());
}
