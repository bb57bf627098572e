// Controls and the values that they stand for: each input whose name is a field's holds it. What cannot be explains
// itself beside its input, and the last good values stay.

import { make } from "./dom.js";
import { type Fields, InvalidValue, type Values } from "./fields.js";
import type { Problem, SectionState } from "./state.js";

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** While somebody types, values are taken after this pause. */
const PAUSE_MS = 400;

/**
 * Ties a form's inputs to the fields of the same names. Checkboxes of one name hold a subset. `changed` is called with
 * the new values when they are possible, and when they came from a new address.
 */
export function bindControls<F extends Fields>(
  form: HTMLFormElement,
  section: SectionState<F>,
  changed: (values: Values<F>) => void,
): void {
  const inputs = (name: string): Input[] => {
    const found = form.elements.namedItem(name);
    if (found === null) return [];
    return (found instanceof RadioNodeList ? [...found] : [found]) as Input[];
  };
  let pause: ReturnType<typeof setTimeout> | undefined;

  function fill(): void {
    for (const name of Object.keys(section.fields)) {
      write(inputs(name), section.fields[name]!.write(section.values[name]));
    }
    explain(section.problems);
  }

  function take(): void {
    clearTimeout(pause);
    const values: Record<string, unknown> = {};
    const problems: Problem<keyof F>[] = [];
    for (const name of Object.keys(section.fields)) {
      const own = inputs(name);
      if (own.length === 0) continue;
      try {
        values[name] = section.fields[name]!.read(read(own));
      } catch (error) {
        if (!(error instanceof InvalidValue)) throw error;
        problems.push({ name, message: error.message });
      }
    }
    const before = JSON.stringify(section.values);
    if (problems.length === 0) problems.push(...section.update(values as Partial<Values<F>>));
    explain(problems);
    if (problems.length === 0 && JSON.stringify(section.values) !== before) changed(section.values);
  }

  function explain(problems: readonly Problem<keyof F>[]): void {
    for (const name of Object.keys(section.fields)) {
      const own = inputs(name);
      if (own.length === 0) continue;
      mark(own, problems.find((problem) => problem.name === name)?.message);
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take();
  });
  form.addEventListener("change", take);
  form.addEventListener("input", ({ target }) => {
    clearTimeout(pause);
    // A slider is never half typed.
    if (target instanceof HTMLInputElement && target.type === "range") take();
    else pause = setTimeout(take, PAUSE_MS);
  });
  section.onLoad(() => {
    fill();
    changed(section.values);
  });
  // On a slow line somebody types before the page answers.
  const early = typed(form);
  fill();
  for (const [input, text] of early) {
    input.value = text;
    pause = setTimeout(take, PAUSE_MS);
  }
}

/** The texts that are not those that the form came with. */
function typed(form: HTMLFormElement): [HTMLInputElement, string][] {
  return ([...form.elements] as HTMLInputElement[])
    .filter(({ type, value, defaultValue }) => type.startsWith("text") && value !== defaultValue)
    .map((input) => [input, input.value]);
}

function read(inputs: readonly Input[]): string {
  // What a number field cannot read it gives as nothing; the field's own words are then the explanation.
  if (inputs[0]!.type !== "checkbox") return inputs[0]!.value;
  const chosen = inputs.filter((input) => (input as HTMLInputElement).checked);
  return chosen.map(({ value }) => value).join(",");
}

function write(inputs: readonly Input[], text: string): void {
  const words = text.split(",");
  for (const input of inputs) {
    if (input.type === "checkbox") (input as HTMLInputElement).checked = words.includes(input.value);
    else input.value = text;
  }
}

/** Shows `message` beside the inputs, and to those who hear it; takes an earlier one away. */
function mark(inputs: readonly Input[], message: string | undefined): void {
  const first = inputs[0]!;
  const id = `${first.form!.id}-${first.name}-problem`;
  let shown = document.getElementById(id);
  if (!shown) {
    if (message === undefined) return;
    shown = make("p", { id, className: "problem", ariaLive: "polite" });
    (first.closest(".field, fieldset") ?? first).append(shown);
  }
  if (shown.textContent !== (message ?? "")) shown.textContent = message ?? "";
  shown.hidden = message === undefined;
  for (const input of inputs) {
    const others = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((other) => other && other !== id);
    input.setAttribute("aria-invalid", String(message !== undefined));
    input.setAttribute("aria-describedby", [...others, ...(message === undefined ? [] : [id])].join(" "));
  }
}
