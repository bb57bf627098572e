// The error against epsilon and against the number of users: simulated while the visitor watches, and predicted. Two
// waves of people are predicted on request.

import { roundedRange } from "../charts/axis.js";
import { Chart } from "../charts/chart.js";
import { type ChartData, KNOWING_NOTHING } from "../charts/model.js";
import { heights, type Series } from "../charts/series.js";
import { counted, number } from "../format.js";
import { type Context, element } from "../context.js";
import { unlessAborted } from "../concurrency.js";
import { bindControls } from "../controls.js";
import { plain } from "../fields.js";
import { NAMES, STYLES } from "../mechanisms.js";
import { RunControls } from "../run-controls.js";
import { type Curves, predictCurves } from "./error/prediction.js";
import { run } from "./error/run.js";
import { asked, type Axis, type ChartSettings, chartsOf, describePopulation, PLACES } from "./error/settings.js";
import { TrialErrors } from "./error/trials.js";
import { FIELDS as WAVES, type WavesCurve } from "./error/waves.js";

const AXES = ["epsilon", "records"] as const;
const NOT_PRIVATE = "Not private";

export function start(_root: HTMLElement, context: Context): void {
  const section = chartsOf(context);
  const waves = context.state.section("waves", WAVES);
  const charts: Record<Axis, Chart> = {
    epsilon: new Chart(element("error-epsilon-chart"), "error-against-epsilon"),
    records: new Chart(element("error-records-chart"), "error-against-users"),
  };
  const controls = new RunControls("error");
  /** The charts that have had predictions. */
  const shown = new Set<Axis>();
  const twoWaves: Partial<Record<Axis, WavesCurve | undefined>> = {};
  let stopWaves = new AbortController();
  let predictions: Promise<unknown>;
  let draw: (axis: Axis, mark?: string) => void;

  async function restart(): Promise<void> {
    const settings = asked(context);
    const results = new TrialErrors();
    const curves: Partial<Record<Axis, Curves>> = {};
    draw = (axis, mark) => {
      // Until there is a prediction, the chart of the previous settings stays, if there is one.
      if (!curves[axis] && shown.has(axis)) return;
      charts[axis].show(chartData(axis, settings, results, curves[axis], twoWaves[axis]), mark);
      if (curves[axis]) shown.add(axis);
    };
    for (const axis of AXES) element(`error-${axis}-caption`).textContent = caption(axis, settings);
    await controls.start({
      begins: "Starting…",
      async work(signal, progress) {
        predictions = Promise.all(
          AXES.map(async (axis) => {
            curves[axis] = await predictCurves(context.pool, settings, axis, signal);
            draw(axis);
          }),
        );
        void askWaves();
        const simulations = run(context.pool, settings, results, signal, (axis, { done, total, complete, text }) => {
          progress(done / total, text);
          // Marks for measuring how long it takes, as benches/page.js does.
          draw(axis, complete ? `error: all of ${axis}` : done === 1 ? "error: first point" : undefined);
        });
        await Promise.all([predictions, simulations]);
        context.announce("The simulation is done.");
        return `Done: ${counted(settings.trials, "trial")} with seed ${settings.seed}.`;
      },
      failed: (message) => `The simulation stopped: ${message}. The chart shows what was done before.`,
    });
  }

  /** Shows the curve of two waves, or the words in its place. Nothing where nobody asked for it. */
  function showWaves(axis: Axis, curve?: WavesCurve): void {
    twoWaves[axis] = curve;
    element(`error-${axis}-waves`).textContent = curve?.note ?? "";
    if (shown.has(axis)) draw(axis);
  }

  /** Predicts two waves for the settings of the charts, after the other predictions. */
  async function askWaves(): Promise<void> {
    stopWaves.abort();
    const own = (stopWaves = new AbortController());
    const wanted = waves.values.curve.length > 0;
    const say = (note: string) => AXES.forEach((axis) => showWaves(axis, { predicted: [], refused: [], note }));
    if (!wanted) return AXES.forEach((axis) => showWaves(axis));
    say("Two waves are being predicted …");
    const settings = asked(context);
    try {
      const found = import("./error/two-waves.js").then(async ({ predictTwoWaves }) => {
        await Promise.allSettled([predictions]);
        const show = async (axis: Axis) =>
          showWaves(axis, await predictTwoWaves(context.pool, settings, axis, own.signal));
        await Promise.all(AXES.map(show));
      });
      await unlessAborted(own.signal, found);
      context.announce("Two waves are predicted.");
    } catch (error) {
      if (own !== stopWaves) return;
      say(`Two waves are not predicted: ${own.signal.aborted ? "cancelled" : (error as Error).message}.`);
      own.abort();
    }
  }

  controls.cancel.addEventListener("click", () => stopWaves.abort());
  controls.run.addEventListener("click", () => void restart());
  bindControls(element<HTMLFormElement>("error-form"), section, () => void restart());
  bindControls(element<HTMLFormElement>("waves-form"), waves, () => void askWaves());
  context.records.onChange(() => void restart());
  void restart();
}

function chartData(
  axis: Axis,
  settings: ChartSettings,
  results: TrialErrors,
  curves: Curves | undefined,
  twoWaves: WavesCurve | undefined,
): ChartData {
  const series: Series[] = settings.mechanisms.map((name) => ({
    name: NAMES[name],
    style: STYLES[name],
    measured: results.measured(axis, name),
    predicted: curves?.byMechanism.get(name)?.points ?? [],
  }));
  if (twoWaves) series.push({ name: "Two waves", style: "green", measured: [], ...twoWaves });
  series.push({ name: NOT_PRIVATE, style: "grey", measured: results.measured(axis, "not private"), predicted: [] });
  const limits = settings.mechanisms.flatMap((name) => curves?.byMechanism.get(name)?.limit ?? []);
  // With room for the words above the highest line.
  const [lowest, highest] = roundedRange([...heights(series), 1.4 * (curves?.uninformed ?? NaN)]);
  const places = PLACES[axis];
  const range = [places[0]!, places.at(-1)!] as const;
  return {
    title: axis === "epsilon" ? "Error against ε" : "Error against the number of users",
    x:
      axis === "epsilon"
        ? { label: "ε of one report", symbol: "ε", scale: "log", range }
        : { label: "users n", symbol: "n", scale: "log", range },
    y: { label: "error ‖sin Θ‖²", symbol: "error", scale: "log", range: [lowest, highest] as const },
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
