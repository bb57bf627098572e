// The visitor's own records: a file that is dropped or chosen, or pasted text. The code that reads it, own/records.ts
// and its module, is loaded with the first file.

import { restartable, unlessAborted } from "../concurrency.js";
import { type Context, element } from "../context.js";
import { bindControls } from "../controls.js";
import { download, stale } from "../dom.js";
import { SCALINGS, SEPARATORS } from "../engine/protocol.js";
import { choice, decimal, integer, optional, subset } from "../fields.js";
import { RunControls } from "../run-controls.js";
import { checkRank } from "./error/settings.js";
import type { Found } from "./own/records.js";

const FIELDS = {
  /** Nothing where the file shows it. */
  separator: optional(choice("comma", SEPARATORS)),
  numbers: subset([], ["decimal-comma"], 0),
  scaling: choice("robust", SCALINGS),
};
const TASK_FIELDS = {
  mechanism: choice("double-cap", ["double-cap", "gaussian"]),
  epsilon: decimal(2, { min: 0.05, max: 16 }),
  delta: decimal(1e-6, { min: 1e-15, max: 0.1 }),
};

const PATTERNS_FIELDS = {
  people: integer(20_000, { min: 100, max: 1_000_000_000 }),
  /** The epsilon of a report. The task has one of its own. */
  loss: decimal(2, { min: 0.05, max: 16 }),
  rank: integer(3, { min: 1, max: 10 }),
};

export function start(root: HTMLElement, { announce, lab, pool, records, state }: Context): void {
  const section = state.section("own", FIELDS);
  const task = state.section("own-task", TASK_FIELDS);
  const patterns = state.section("own-patterns", PATTERNS_FIELDS, ({ rank }) => {
    return checkRank({ rank, dimension: records.current?.dimension ?? Infinity });
  });
  const controls = new RunControls("own");
  const drop = element("own-drop");
  const [chosen, text] = [element<HTMLInputElement>("own-file"), element<HTMLTextAreaElement>("own-text")];
  let file: File | undefined;
  let found: Found | undefined;

  /** Reads the file again, with the current choices. */
  async function read(): Promise<void> {
    if (!file) return;
    const given = file;
    const { separator, numbers, scaling } = section.values;
    const decimalComma = numbers.includes("decimal-comma");
    const [ignore, categorical] = [listed("own-ignore"), listed("own-categorical")];
    const inference = { separator, decimalComma, scaling, ignore, categorical };
    await controls.start({
      begins: `Reading ${given.name}…`,
      async work(signal, progress) {
        const known = import("./own/records.js").then(async ({ readRecords, showRecords }) => {
          const read = await readRecords(pool, given, inference, signal, progress);
          signal.throwIfAborted();
          showRecords(read);
          return read;
        });
        found = await unlessAborted(signal, known);
        element("own-found").hidden = false;
        records.use(found.records);
        void showPatterns();
        return `The charts of this page are about ${given.name}.`;
      },
      kept,
      failed: (message) => `${given.name} could not be read: ${message}. ${kept()}`,
    });
  }

  function kept(): string {
    return records.current ? `The charts are about ${records.current.name} as before.` : "";
  }

  function take(given: File | undefined): void {
    if (!given) return;
    file = given;
    void read();
  }

  chosen.addEventListener("change", () => take(chosen.files?.[0]));
  // A file that was chosen before this section started.
  take(chosen.files?.[0]);
  element("own-paste").addEventListener("click", () => take(new File([text.value], "the pasted text")));
  // Files may be dropped anywhere on the page. Text that is dragged into an input is left alone.
  for (const name of ["dragover", "dragleave", "drop"] as const) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name !== "drop") return;
      root.scrollIntoView({ block: "nearest" });
      take(event.dataTransfer.files[0]);
    });
  }
  for (const id of ["own-ignore", "own-categorical"]) element(id).addEventListener("change", () => void read());
  bindControls(element<HTMLFormElement>("own-form"), section, () => void read());
  controls.run.addEventListener("click", () => void read());

  element("own-back").addEventListener("click", () => {
    controls.stop();
    records.use(undefined);
    file = undefined;
    chosen.value = "";
    element("own-found").hidden = true;
    controls.run.hidden = true;
    controls.failure.hidden = true;
    controls.status.textContent = "The charts of this page are about made-up records.";
    announce(controls.status.textContent);
    chosen.focus();
  });

  const showPatterns = restartable(element("own-patterns-failure"), async (signal) => {
    const own = records.current;
    if (!own) return;
    stale(element("own-patterns"), true);
    const { showPatterns } = await import("./own/patterns.js");
    await showPatterns(pool, own, patterns.values, signal);
    stale(element("own-patterns"), false);
  });
  bindControls(element<HTMLFormElement>("own-patterns-form"), patterns, () => void showPatterns());
  bindControls(element<HTMLFormElement>("own-task-form"), task, () => undefined);
  element("own-schema").addEventListener("click", () => save("schema.json", found!.facts.schema));
  element("own-task").addEventListener("click", async () => {
    const { taskOf } = await import("./own/records.js");
    save("task.json", taskOf(await lab(), found!.facts.schema, task.values));
  });
}

function save(name: string, text: string): void {
  download(name, new Blob([text], { type: "application/json" }));
}

/** The names in an input, separated by commas. */
function listed(id: string): string[] {
  const names = element<HTMLInputElement>(id).value.split(",").map((name) => name.trim());
  return names.filter((name) => name !== "");
}
