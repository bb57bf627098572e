// What privacy costs, against epsilon and against the number of users: predicted, and simulated while the visitor
// watches who asks for it. Two waves of people are predicted on request.

import { Chart } from "../charts/chart.js";
import type { ChartData } from "../charts/model.js";
import type { Series } from "../charts/series.js";
import { counted, number } from "../format.js";
import { type Context, element } from "../context.js";
import { unlessAborted } from "../concurrency.js";
import { bindControls } from "../controls.js";
import { stale } from "../dom.js";
import { plain, subset } from "../fields.js";
import { height, TITLES, upright } from "../measure.js";
import { LOOKS } from "../mechanisms.js";
import { RunControls } from "../run-controls.js";
import { type Curves, type Place, predictCurves } from "./error/prediction.js";
import { run } from "./error/run.js";
import { asked, type Axis, type ChartSettings, chartsOf, describePopulation, PLACES, WORDS } from "./error/settings.js";
import { TrialResults } from "./error/trials.js";
import type { WavesCurve } from "./error/two-waves.js";

const AXES = ["epsilon", "records"] as const;
/** Whether the charts show the curve of two waves: a choice of its own, which starts no simulation again. */
const WAVES = { curve: subset([], ["two"], 0) };

export function start(_root: HTMLElement, context: Context): void {
  const section = chartsOf(context);
  const waves = context.state.section("waves", WAVES);
  const charts: Record<Axis, Chart> = {
    epsilon: new Chart(element("error-epsilon-chart"), "error-against-epsilon"),
    records: new Chart(element("error-records-chart"), "error-against-users"),
  };
  const controls = new RunControls("error");
  // The first page has none.
  const form = document.querySelector<HTMLFormElement>("#waves-form");
  const twoWaves: Partial<Record<Axis, WavesCurve | undefined>> = {};
  let stopWaves = new AbortController();
  let predictions: Promise<unknown>;
  let draw: (axis: Axis, mark?: string) => void;
  /** The predictions, and the settings that they are for. */
  let curves: Partial<Record<Axis, Curves>> = {};
  let present: ChartSettings | undefined;
  let simulating = false;

  function settingsOf(): ChartSettings {
    const settings = asked(context);
    // The first page has no choice of mechanisms.
    const chosen = element<HTMLFormElement>("error-form").elements.namedItem("mechanisms");
    return chosen ? settings : { ...settings, mechanisms: ["double-cap"] };
  }

  async function restart(): Promise<void> {
    const settings = settingsOf();
    if (!present || !alikeBesideMeasure(settings, present)) curves = {};
    present = settings;
    const known = curves;
    const results = new TrialResults();
    draw = (axis, mark) => {
      // Until there is a prediction, the chart of the previous settings stays, if there is one.
      const own = known[axis];
      if (!own) return;
      const { measure } = section.values;
      const title = `${TITLES[measure]} against ${WORDS[axis].against}`;
      element(`error-${axis}-chart`).querySelector("h3")!.textContent = title;
      stale(element(`error-${axis}-chart`), false);
      element(`error-${axis}-caption`).textContent = caption(axis, settings);
      const shown = { ...settings, measure };
      charts[axis].show({ title, ...chartData(axis, shown, results, own, twoWaves[axis]) }, mark);
    };
    for (const axis of AXES) {
      stale(element(`error-${axis}-chart`), true);
      draw(axis);
    }
    await controls.start({
      begins: simulating ? "Starting…" : "",
      async work(signal, progress) {
        controls.running = simulating;
        predictions = Promise.all(
          AXES.map(async (axis) => {
            known[axis] ??= await predictCurves(context.pool, settings, axis, signal);
            draw(axis, `error: ${axis} predicted`);
          }),
        );
        void askWaves();
        if (!simulating) {
          await predictions;
          return "Predicted. A simulation shows how well.";
        }
        const simulations = run(context.pool, settings, results, signal, (axis, { done, total, complete, text }) => {
          progress(done / total, text);
          // Marks for measuring how long it takes, as benches/page.js does.
          draw(axis, complete ? `error: all of ${axis}` : done === 1 ? "error: first point" : undefined);
        });
        await Promise.all([predictions, simulations]);
        context.announce("The simulation is done.");
        return `Done: ${counted(settings.trials, "trial")} with seed ${settings.seed}.`;
      },
      failed: (message) => `No answer: ${message}. The charts show what was done before.`,
    });
  }

  /** Another measure is another look at the same numbers. */
  function change(): void {
    if (present && alikeBesideMeasure(settingsOf(), present)) AXES.forEach((axis) => draw(axis));
    else void restart();
  }

  /** Shows the curve of two waves, or the words in its place. Nothing where nobody asked for it. */
  function showWaves(axis: Axis, curve?: WavesCurve): void {
    twoWaves[axis] = curve;
    element(`error-${axis}-waves`).textContent = curve?.note ?? "";
    draw(axis);
  }

  /** Predicts two waves for the settings of the charts, after the other predictions. */
  async function askWaves(): Promise<void> {
    stopWaves.abort();
    const own = (stopWaves = new AbortController());
    const say = (note: string) => AXES.forEach((axis) => showWaves(axis, { predicted: [], refused: [], note }));
    if (!form || waves.values.curve.length === 0) return AXES.forEach((axis) => showWaves(axis));
    say("Two waves are being predicted …");
    const settings = settingsOf();
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

  controls.cancel.addEventListener("click", () => {
    simulating = false;
    stopWaves.abort();
  });
  controls.run.addEventListener("click", () => {
    simulating = true;
    void restart();
  });
  bindControls(element<HTMLFormElement>("error-form"), section, change);
  if (form) bindControls(form, waves, () => void askWaves());
  context.records.onChange(() => void restart());
  void restart();
}

/** Whether these are the same settings, however they are measured. */
function alikeBesideMeasure(left: ChartSettings, right: ChartSettings): boolean {
  const text = ({ own: _, ...settings }: ChartSettings) => JSON.stringify({ ...settings, measure: "" });
  // There is one object of the visitor's records for each file.
  return left.own === right.own && text(left) === text(right);
}

function chartData(
  axis: Axis,
  settings: ChartSettings,
  results: TrialResults,
  curves: Curves,
  twoWaves: WavesCurve | undefined,
): Omit<ChartData, "title"> {
  const { measure } = settings;
  const points = (all: readonly Place[]) => all.map((point) => ({ x: point.x, y: height(measure, point, settings) }));
  const measured = (series: string) =>
    results.measured(axis, series, (quality) => height(measure, quality, settings));
  const series: Series[] = settings.mechanisms.map((name) => ({
    ...LOOKS[name],
    measured: measured(name),
    predicted: points(curves.get(name)?.points ?? []),
  }));
  if (twoWaves) {
    const predicted = points(twoWaves.predicted);
    series.push({ ...twoWaves, name: "Two waves", style: "green", measured: [], predicted });
  }
  const floor = measured("not private");
  if (floor.length > 0) series.push({ name: "Not private", style: "grey", measured: floor, predicted: [] });
  const limits = settings.mechanisms.flatMap((name) => curves.get(name)?.limit ?? []);
  const places = PLACES[axis];
  return {
    x: { ...WORDS[axis], scale: "log", range: [places[0]!, places.at(-1)!] },
    ...upright(measure, series, settings),
    series,
    limits,
    setting: caption(axis, settings),
  };
}

function caption(axis: Axis, settings: ChartSettings): string {
  const { records, epsilon, delta, mechanisms, seed } = settings;
  const fixed = axis === "epsilon" ? counted(records, "user") : `ε = ${number(epsilon)}`;
  const noise = mechanisms.every((name) => name === "double-cap") ? "" : `δ = ${plain(delta)} for Gaussian noise; `;
  return `${describePopulation(settings)}; ${fixed}; ${noise}seed ${seed}.`;
}
