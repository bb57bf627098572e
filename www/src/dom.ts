// Elements that scripts make, and files by them.

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

/** Gives the visitor a file to keep. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Marks what is shown as an answer to earlier settings, until there is another. At first there is none. */
export function stale(shown: HTMLElement, isStale: boolean): void {
  shown.ariaBusy = String(isStale);
  if (!isStale) shown.classList.add("answered");
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

/**
 * Keeps the roles of a table whose rows are laid out as blocks on narrow screens, and gives each cell the heading of
 * its column.
 */
export function withRoles(table: HTMLTableElement): void {
  const heads = table.tHead!.rows[0]!.cells;
  table.role = "table";
  for (const group of [table.tHead!, ...table.tBodies]) group.role = "rowgroup";
  for (const row of table.rows) {
    row.role = "row";
    for (const cell of row.cells) {
      if (cell.tagName === "TH") {
        cell.role = cell.scope === "col" ? "columnheader" : "rowheader";
      } else {
        cell.role = "cell";
        cell.dataset["head"] ??= heads[cell.cellIndex]!.textContent;
      }
    }
  }
}
