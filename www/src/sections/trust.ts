// Trust models on one chart: what the same promise costs, by the party that keeps it. Models without a trusted party
// are predicted; methods that see the records are simulated while the visitor watches, who starts that.

import "./trust.css";

import type { Plan } from "ldp-pca/lab";

import { Chart } from "../charts/chart.js";
import type { ChartData } from "../charts/model.js";
import type { Series } from "../charts/series.js";
import { atMost, counted } from "../format.js";
import { type Context, element } from "../context.js";
import { unlessAborted } from "../concurrency.js";
import { bindControls } from "../controls.js";
import { stale, withRoles } from "../dom.js";
import { choice, decimal, integer, plain, type Values } from "../fields.js";
import { BATCH } from "../guarantee.js";
import { height, type Quality, TITLES, upright } from "../measure.js";
import { LOOKS, mechanism } from "../mechanisms.js";
import { RunControls } from "../run-controls.js";
import { nearViewport } from "../viewport.js";
import { populationOfCharts } from "./error/population.js";
import { asked as askedOfCharts, type ChartSettings, chartsOf, describePopulation } from "./error/settings.js";
import { CentralSimulation, type ChartRecords, METHODS } from "./trust/central-methods.js";

const FIELDS = {
  mechanism: choice("double-cap", ["double-cap", "gaussian"]),
  records: integer(20_000, { min: 100, max: 1_000_000_000 }),
  delta: decimal(1e-6, { min: 1e-15, max: 0.1 }),
  /** The table of every method. */
  epsilon: decimal(1, { min: 0.05, max: 16 }),
};
type Settings = Values<typeof FIELDS>;

const EPSILONS = [0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4];
/** The promise that the table gives as an example. */
const EXAMPLE = 1;

/** Models without a trusted party that sees records: every report keeps the promise, or shuffled batches do. */
const MODELS = [
  { name: "Local", style: "blue", found: ({ predicted }: Plan) => predicted },
  { name: "Shuffled", style: "orange", found: ({ shuffled }: Plan) => shuffled?.predicted },
] as const;

/** The honest reports in each batch of a collection: of a small one, there is one. */
const honestReportsOf = (records: number) => Math.min(records, BATCH);

export async function start(root: HTMLElement, context: Context): Promise<void> {
  const { pool, state, announce } = context;
  const section = state.section("trust", FIELDS);
  const charts = chartsOf(context);
  const asked = () => askedOfCharts(context);
  const chart = new Chart(element("trust-chart"), "trust-models");
  const controls = new RunControls("trust");
  const every = new RunControls("trust-every");
  const everyEpsilon = element("trust-epsilon");
  withRoles(root.querySelector<HTMLTableElement>("table.models")!);
  let seen = false;
  let simulated: CentralSimulation | undefined;
  let simulating = false;

  async function renew(): Promise<void> {
    stale(element("trust-chart"), true);
    if (!seen) return;
    await controls.start({
      begins: controls.status.textContent,
      work: (signal, progress) => show(section.values, signal, progress),
      failed: (message) => `No answer: ${message}. What you see is the previous answer.`,
    });
  }

  /** Predicts the models, and simulates the central methods if somebody has asked for that. Says what was done. */
  async function show(
    settings: Settings,
    signal: AbortSignal,
    progress: (share: number, words: string) => void,
  ): Promise<string> {
    // Predictions are not cancelled.
    controls.running = false;
    const options = { signal, urgent: true };
    const { records, delta } = settings;
    const population = await populationOfCharts(pool, asked(), options);
    const shuffled = { honestReports: honestReportsOf(records), delta };
    const plans = await Promise.all(
      EPSILONS.map((epsilon) => {
        const promise = mechanism(settings.mechanism, epsilon, delta);
        return pool.run("plan", { ...population, records, mechanism: promise, shuffled }, options);
      }),
    );
    const { name } = LOOKS[settings.mechanism];
    const setting = `${describePopulation(asked())}; ${counted(records, "user")}; ${name}; δ = ${plain(delta)}.`;
    element("trust-caption").textContent = setting;
    element("trust-local").textContent = example(plans, records);
    const wanted = recordsOf(settings);
    if (!simulated?.isOf(wanted)) simulated = new CentralSimulation(wanted);
    const kept = simulated;
    const settled = asked();
    const title = `${TITLES[settled.measure]} against the ε of what the outside sees`;
    element("trust-chart").querySelector("h3")!.textContent = title;
    const draw = () => chart.show({ title, ...chartData(plans, kept, settled, setting) });
    draw();
    stale(element("trust-chart"), false);
    if (!simulating) return "Predicted. Central methods are simulated on request.";
    controls.status.textContent = "";
    controls.running = true;
    await kept.run(pool, signal, ({ done, total }) => {
      progress(done / total, `${done} of ${total} simulations done.`);
      draw();
    });
    announce("The simulation is done.");
    const refusals = [...kept.refusals].map(([method, reason]) => `${method} refuses: ${reason}.`);
    return ["Done.", ...refusals].join(" ");
  }

  /** Which records the methods get. */
  function recordsOf({ records: count, delta }: Settings): ChartRecords {
    const { own, dimension, rank, sparsity, signal, seed } = asked();
    const all = { dimension, rank, seed, count, delta };
    return own ? { ...all, secondMoment: own.secondMoment } : { ...all, sparsity, signal };
  }

  /** Compares every method in a table. The code for it, all-methods.ts and its module, is loaded with the first. */
  async function compareAll(): Promise<void> {
    // The field does not hold the last valid epsilon.
    if (everyEpsilon.ariaInvalid === "true") return everyEpsilon.focus();
    const { records, delta, epsilon } = section.values;
    const setting =
      `${describePopulation(asked())}; ${counted(records, "user")}; ε = ${plain(epsilon)}, δ = ${plain(delta)}.`;
    const options = { ...recordsOf(section.values), epsilon };
    await every.start({
      begins: "Loading the methods …",
      async work(signal, progress) {
        const compared = import("./trust/all-methods.js").then(({ compareAllMethods }) =>
          compareAllMethods(pool, options, setting, signal, ({ done, total }) =>
            progress(done / total, `${done} of ${total} estimates done.`),
          ),
        );
        await unlessAborted(signal, compared);
        announce("Every method is compared.");
        return "Done.";
      },
      failed: (message) => `No answer: ${message}.`,
    });
  }

  controls.cancel.addEventListener("click", () => (simulating = false));
  controls.run.addEventListener("click", () => {
    simulating = true;
    void renew();
  });
  bindControls(element<HTMLFormElement>("trust-form"), section, () => void renew());
  // Nothing is compared until somebody asks.
  const form = element<HTMLFormElement>("trust-every-form");
  bindControls(form, section, () => undefined);
  form.addEventListener("submit", () => void compareAll());
  every.run.addEventListener("click", () => void compareAll());
  every.run.hidden = false;
  charts.onChange(() => void renew());
  context.records.onChange(() => void renew());
  await nearViewport(root);
  seen = true;
  await renew();
}

function chartData(
  plans: readonly Plan[],
  simulated: CentralSimulation,
  settings: ChartSettings,
  setting: string,
): Omit<ChartData, "title"> {
  const tall = (quality: Quality) => height(settings.measure, quality, settings);
  const predicted = MODELS.map(({ name, style, found }): Series => {
    const predicted = plans.flatMap((plan, place) => {
      const quality = found(plan);
      return quality ? { x: EPSILONS[place]!, y: tall(quality) } : [];
    });
    return { name, style, measured: [], predicted };
  });
  const measured = METHODS.map(({ key, name, style }): Series => {
    return { name, style, measured: simulated.measured(key, tall), predicted: [] };
  });
  // Those that nobody has asked for yet are not in the legend either.
  const series = [...predicted, ...measured.filter(({ measured }) => measured.length > 0)];
  return {
    x: { label: "ε of what the outside sees", symbol: "ε", scale: "log", range: [EPSILONS[0]!, EPSILONS.at(-1)!] },
    ...upright(settings.measure, series, settings),
    series,
    limits: [],
    setting,
  };
}

/** An example of shuffling, at one place of the chart. */
function example(plans: readonly Plan[], records: number): string {
  const local = plans[EPSILONS.indexOf(EXAMPLE)]?.shuffled?.localEpsilon;
  if (local == null) return "";
  const batch = `each batch of ${counted(honestReportsOf(records), "honest report")}`;
  return `Reports of ε = ${atMost(local)} give ${batch} ε = ${EXAMPLE}.`;
}
