// Tables made of texts.

/** Fills `table` with a row of headings and rows of cells; the first cell of each row names it. */
export function fillTable(table: HTMLElement, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const head = document.createElement("thead");
  head.append(row(heads.map((text) => cell("th", text, "col"))));
  const body = document.createElement("tbody");
  body.append(
    ...rows.map((cells) => row(cells.map((text, index) => (index === 0 ? cell("th", text, "row") : cell("td", text))))),
  );
  table.replaceChildren(head, body);
}

function row(cells: readonly HTMLElement[]): HTMLElement {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function cell(tag: "th" | "td", text: string, scope = ""): HTMLElement {
  const made = document.createElement(tag);
  if (scope !== "") made.setAttribute("scope", scope);
  made.textContent = text;
  return made;
}
