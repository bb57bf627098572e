// The error against epsilon and against the number of users: simulated while the visitor watches, and predicted.

import { Chart } from "../charts/chart.js";
import { type ChartData, KNOWING_NOTHING, roundedRange, type Series } from "../charts/model.js";
import { counted, number } from "../format.js";
import { type Context, element } from "../context.js";
import { bindControls } from "../controls.js";
import { plain } from "../fields.js";
import { NAMES, STYLES } from "../mechanisms.js";
import { RunControls } from "../run-controls.js";
import { type Curves, predictCurves } from "./error/prediction.js";
import { run } from "./error/run.js";
import { asked, type ChartSettings, chartsOf, describePopulation, EPSILONS, RECORDS } from "./error/settings.js";
import { type Axis, TrialErrors } from "./error/trials.js";

const AXES = ["epsilon", "records"] as const;
const NOT_PRIVATE = "Not private";

export function start(_root: HTMLElement, context: Context): void {
  const section = chartsOf(context);
  const charts: Record<Axis, Chart> = {
    epsilon: new Chart(element("error-epsilon-chart"), "error-against-epsilon"),
    records: new Chart(element("error-records-chart"), "error-against-users"),
  };
  const controls = new RunControls("error");
  const status = element("error-status");
  const failure = element("error-failure");
  /** The charts that have had predictions. */
  const shown = new Set<Axis>();
  let current: AbortController | undefined;

  async function restart(): Promise<void> {
    current?.abort();
    const own = new AbortController();
    current = own;
    const settings = asked(context);
    const results = new TrialErrors();
    const curves: Partial<Record<Axis, Curves>> = {};
    const draw = (axis: Axis, mark?: string) => {
      charts[axis].show(chartData(axis, settings, results, curves[axis]), mark);
      if (curves[axis]) shown.add(axis);
    };
    for (const axis of AXES) element(`error-${axis}-caption`).textContent = caption(axis, settings);
    failure.hidden = true;
    controls.running = true;
    controls.bar.value = 0;
    status.textContent = "Starting…";
    try {
      await Promise.all([
        ...AXES.map(async (axis) => {
          curves[axis] = await predictCurves(context.pool, settings, axis, own.signal);
          draw(axis);
        }),
        run(context.pool, settings, results, own.signal, (axis, progress) => {
          controls.bar.value = progress.done / progress.total;
          status.textContent = progress.text;
          // Until there is a prediction, the chart of the previous settings stays, if there is one.
          if (!curves[axis] && shown.has(axis)) return;
          // Marks for measuring how long it takes, as benches/page.js does.
          const mark = progress.complete
            ? `error: all of ${axis}`
            : progress.done === 1
              ? "error: first point"
              : undefined;
          draw(axis, mark);
        }),
      ]);
      const { trials, seed } = settings;
      status.textContent = `Done: ${trials} ${trials === 1 ? "trial" : "trials"} with seed ${seed}.`;
      context.announce("The simulation is done.");
      controls.running = false;
    } catch (error) {
      if (own !== current) return;
      if (own.signal.aborted) {
        status.textContent = `Cancelled. ${status.textContent}`;
      } else {
        own.abort();
        status.textContent = "";
        const { message } = error as Error;
        failure.textContent = `The simulation stopped: ${message}. The chart shows what was done before.`;
        failure.hidden = false;
      }
      controls.running = false;
    }
  }

  controls.cancel.addEventListener("click", () => current?.abort());
  controls.run.addEventListener("click", () => void restart());
  bindControls(element<HTMLFormElement>("error-form"), section, () => void restart());
  context.records.onChange(() => void restart());
  void restart();
}

function chartData(axis: Axis, settings: ChartSettings, results: TrialErrors, curves: Curves | undefined): ChartData {
  const series: Series[] = settings.mechanisms.map((name) => ({
    name: NAMES[name],
    style: STYLES[name],
    measured: results.measured(axis, name),
    predicted: curves?.byMechanism.get(name)?.points ?? [],
  }));
  series.push({ name: NOT_PRIVATE, style: "grey", measured: results.measured(axis, "not private"), predicted: [] });
  const limits = settings.mechanisms.flatMap((name) => curves?.byMechanism.get(name)?.limit ?? []);
  const heights = series.flatMap(({ measured, predicted }) => [
    ...measured.flatMap(({ low, high }) => [low, high]),
    ...predicted.map(({ y }) => y),
  ]);
  // With room for the words above the highest line.
  const [lowest, highest] = roundedRange([...heights, 1.4 * (curves?.uninformed ?? NaN)]);
  const places = axis === "epsilon" ? EPSILONS : RECORDS;
  const range = [places[0]!, places.at(-1)!] as const;
  return {
    title: axis === "epsilon" ? "Error against ε" : "Error against the number of users",
    x:
      axis === "epsilon"
        ? { label: "ε of one report", symbol: "ε", log: true, range }
        : { label: "users n", symbol: "n", log: true, range },
    y: { label: "error ‖sin Θ‖²", symbol: "error", log: true, range: [lowest, highest] as const },
    series,
    limits,
    levels: curves ? [{ name: KNOWING_NOTHING, y: curves.uninformed }] : [],
    setting: caption(axis, settings),
  };
}

function caption(axis: Axis, settings: ChartSettings): string {
  const { records, epsilon, delta, seed } = settings;
  const fixed = axis === "epsilon" ? counted(records, "user") : `ε = ${number(epsilon)}`;
  return `${describePopulation(settings)}; ${fixed}; δ = ${plain(delta)} for Gaussian noise; seed ${seed}.`;
}
