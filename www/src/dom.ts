// Elements that scripts make.

/** A new element with these properties and this content. */
export function make<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  properties: Partial<HTMLElementTagNameMap[T]> = {},
  ...content: readonly (Node | string)[]
): HTMLElementTagNameMap[T] {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  made.append(...content);
  return made;
}

/** Fills `table` with a row of headings and rows of cells; the first cell of each row names it. */
export function fillTable(table: HTMLElement, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  // Without words it is no heading.
  const head = heads.map((text) => (text === "" ? make("td") : make("th", { scope: "col" }, text)));
  const body = rows.map(([name = "", ...texts]) =>
    make("tr", {}, make("th", { scope: "row" }, name), ...texts.map((text) => make("td", {}, text))),
  );
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}
