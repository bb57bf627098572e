// The numbers of a chart as a table.

import { type ChartData, kinds, places, xValues } from "./model.js";
import { cells } from "./series.js";
import { fillTable } from "../dom.js";
import { number } from "../format.js";

/** One row for each place and series. The last kind of numbers has its columns before there are any. */
export function chartTable(table: HTMLElement, data: ChartData): void {
  const shown = kinds(data).filter((kind, index, all) => places(kind).length > 0 || !all[index + 1]);
  const rows = xValues(data).flatMap((x) =>
    data.series.map(({ name }, index) => [number(x), name, ...shown.flatMap((kind) => cells(kind[index]!, x))]),
  );
  fillTable(table, [data.x.label, "series", ...shown.flatMap(([part]) => Object.keys(part!.columns))], rows);
}
