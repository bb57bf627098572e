// The numbers of a chart as a table.

import { fillTable } from "../tables.js";
import { type ChartData, xValues } from "./model.js";
import { REFUSED } from "./series.js";
import { number } from "../format.js";

/** One row for each place and series. */
export function chartTable(table: HTMLElement, data: ChartData): void {
  const simulated = data.series.some(({ measured }) => measured.length > 0);
  const heads = [data.x.label, "series", ...(simulated ? ["median", "quartiles", "trials"] : []), "predicted"];
  const rows = xValues(data, simulated).flatMap((x) =>
    data.series.map(({ name, measured, predicted, refused }) => {
      const point = measured.find((point) => point.x === x);
      const curve = predicted.find((point) => point.x === x);
      const own = point
        ? [number(point.median), `${number(point.low)} to ${number(point.high)}`, String(point.trials)]
        : ["", "", ""];
      const prediction = curve ? number(curve.y) : refused?.includes(x) ? REFUSED : "";
      return [number(x), name, ...(simulated ? own : []), prediction];
    }),
  );
  fillTable(table, heads, rows);
}
