// The form of a record, made from the columns of the task.

import type { Column, RecordInput } from "ldp-pca/lab";

import { element } from "./context.js";
import { make } from "./dom.js";
import { counted } from "./format.js";

type Input = HTMLInputElement | HTMLSelectElement;
type AskedColumn = Exclude<Column, { type: "ignored" }>;

const FIRST_SHOWN = 12;

export class RecordForm {
  readonly #inputs = new Map<AskedColumn, Input>();

  constructor(columns: readonly Column[]) {
    const asked = columns.filter((column) => column.type !== "ignored");
    const rows = asked.map((column, index) => this.#row(column, index));
    const more = element("take-part-more");
    element("take-part-fields").replaceChildren(...rows.slice(0, FIRST_SHOWN));
    element("take-part-more-fields").replaceChildren(...rows.slice(FIRST_SHOWN));
    more.hidden = rows.length <= FIRST_SHOWN;
    more.querySelector("summary")!.textContent = counted(rows.length - FIRST_SHOWN, "more column");
    this.fillWithExample();
  }

  /** The record as it is filled in, null for what was skipped or is no number. */
  read(): RecordInput {
    const record: [string, number | string | null][] = [];
    for (const [column, input] of this.#inputs) {
      const value = column.type === "numeric" ? (input as HTMLInputElement).valueAsNumber : input.value;
      record.push([column.name, value || value === 0 ? value : null]);
    }
    // From entries, so that a column's name cannot mean anything else.
    return Object.fromEntries(record);
  }

  /** What to tell the visitor of fields that hold something other than a number, if there are any. */
  note(): string {
    const skipped = [...this.#inputs].filter(([, input]) => input.validity.badInput).map(([{ name }]) => `“${name}”`);
    return skipped.length > 0 ? `No number, and so as if skipped: ${skipped.join(", ")}` : "";
  }

  fillWithExample(): void {
    for (const [column, input] of this.#inputs) {
      if (column.type === "numeric") {
        input.value = String(Number((column.offset + column.scale * (2 * Math.random() - 1)).toPrecision(2)));
        input.dispatchEvent(new Event("input"));
      } else {
        input.value = column.values[Math.floor(Math.random() * column.values.length)] ?? input.value;
      }
    }
  }

  #row(column: AskedColumn, index: number): HTMLElement {
    const id = `take-part-field-${index}`;
    const option = (value: string) => new Option(value, value);
    const input =
      column.type === "numeric"
        ? make("input", { id, type: "number", step: "any", inputMode: "decimal", autocomplete: "off" })
        : make("select", { id }, new Option("no answer", ""), ...column.values.map(option));
    this.#inputs.set(column, input);
    const label = make("label", { htmlFor: id }, column.label ?? column.name);
    if (column.type !== "numeric") return make("div", { className: "field" }, label, input);
    return make("div", { className: "field on-scale" }, label, slider(column, input), input);
  }
}

/** A slider over the column's scale for those who point. The number beside it takes the keyboard, and may be empty. */
function slider({ offset, scale }: { offset: number; scale: number }, input: HTMLElement): HTMLInputElement {
  const [min, max] = [offset - Math.abs(scale), offset + Math.abs(scale)].map(String) as [string, string];
  const step = String(Math.abs(scale) / 10);
  const made = make("input", { type: "range", min, max, step, tabIndex: -1, ariaHidden: "true" });
  const number = input as HTMLInputElement;
  made.addEventListener("input", () => (number.value = made.value));
  number.addEventListener("input", () => (made.value = number.value));
  return made;
}
