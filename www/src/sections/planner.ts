// The planner: how many people a goal takes, and what a number of people gives.

import type { Plan } from "ldp-pca/lab";

import { roundedRange } from "../charts/axis.js";
import { Chart } from "../charts/chart.js";
import type { ChartData } from "../charts/model.js";
import { about, counted, number } from "../format.js";
import { type Context, element } from "../context.js";
import { restartable } from "../concurrency.js";
import { bindControls } from "../controls.js";
import { fillTable, make, stale } from "../dom.js";
import { plain } from "../fields.js";
import { height, upright } from "../measure.js";
import { LOOKS, mechanism } from "../mechanisms.js";
import { nearViewport } from "../viewport.js";
import { type Population, populationOfCharts } from "./error/population.js";
import { asked as askedOfCharts, chartsOf } from "./error/settings.js";
import { COMPONENT_HEADS, componentRows, sentences } from "./planner/answer.js";
import { check, FIELDS, ownPopulation, type Settings } from "./planner/settings.js";

const POINTS = 49;

/** What belongs to the present answer. */
const SHOWN = ["planner-answer", "planner-chart", "planner-components"];

export async function start(root: HTMLElement, context: Context): Promise<void> {
  const { pool, state, records: own } = context;
  const section = state.section("planner", FIELDS, check);
  const charts = chartsOf(context);
  const chart = new Chart(element("planner-chart"), "planned-users");
  const answer = element("planner-answer");
  const ask = restartable(element("planner-failure"), (signal) => answerAll(section.values, signal));
  let seen = false;

  async function renew(): Promise<void> {
    for (const field of root.querySelectorAll<HTMLElement>(".own")) field.hidden = section.values.source !== "own";
    for (const name of SHOWN) stale(element(name), true);
    if (seen) await ask();
  }

  async function answerAll(settings: Settings, signal: AbortSignal): Promise<void> {
    const options = { signal, urgent: true };
    const population =
      settings.source === "own"
        ? ownPopulation(settings)
        : await populationOfCharts(pool, askedOfCharts(context), options);
    const asked = { ...population, mechanism: mechanism(settings.mechanism, settings.epsilon, settings.delta) };
    const { share, records, delta, batch } = settings;
    const predict = (count: number) => pool.run("predict", { ...asked, records: count }, options);
    const { recordsForShare } = await pool.run("plan", { ...asked, share: share / 100 }, options);
    // The library plans for batches and for an epsilon by the error: by that of so many people.
    const target = recordsForShare == null ? undefined : (await predict(recordsForShare)).sinThetaSquared;
    // Fewer reports than one batch are not released.
    const shuffled = (records ?? batch) < batch ? undefined : { honestReports: batch, delta };
    const plan = await pool.run("plan", { ...asked, target, records, shuffled }, options);
    const shown = records ?? plan.recordsForTarget ?? undefined;
    const at =
      records === undefined && shown !== undefined
        ? await pool.run("plan", { ...asked, records: shown }, options)
        : plan;
    const along = counts(plan, shown);
    const predictions = await Promise.all(along.map(predict));
    answer.replaceChildren(...sentences(settings, plan).map((text) => make("p", {}, text)));
    element("planner-caption").textContent = setting(settings, population);
    const heads =
      shown === undefined ? COMPONENT_HEADS : COMPONENT_HEADS.with(-1, `missed by ${about(shown, 3)} people`);
    fillTable(element("planner-components"), heads, componentRows(plan, shown === undefined ? undefined : at));
    const curve = predictions.map((predicted, index) => {
      return { x: along[index]!, y: height("share", predicted, population) };
    });
    chart.show(chartData(settings, population, plan, curve));
    for (const name of SHOWN) stale(element(name), false);
  }

  bindControls(element<HTMLFormElement>("planner-form"), section, () => void renew());
  const follow = () => section.values.source === "charts" && void renew();
  charts.onChange(follow);
  own.onChange(follow);
  await renew();
  await nearViewport(root);
  seen = true;
  await renew();
}

/** The range of people in the chart: from below the threshold to well above the numbers asked about. */
function counts({ thresholdRecords, recordsForTarget }: Plan, shown: number | undefined): number[] {
  const known = [thresholdRecords, recordsForTarget, shown].filter((count) => count != null);
  const [from, to] = roundedRange(known.length > 0 ? [Math.min(...known) / 2, Math.max(...known) * 3] : [1000, 1e6]);
  return Array.from({ length: POINTS }, (_, index) => Math.round(from * (to / from) ** (index / (POINTS - 1))));
}

function chartData(
  settings: Settings,
  population: Population,
  plan: Plan,
  curve: { x: number; y: number }[],
): ChartData {
  const { mechanism, share } = settings;
  const series = [{ ...LOOKS[mechanism], measured: [], predicted: curve }];
  return {
    title: "Predicted structure found against the number of people",
    x: { label: "people n", symbol: "n", scale: "log", range: [curve[0]!.x, curve.at(-1)!.x] },
    ...upright("share", series, population),
    series,
    limits: [{ ...LOOKS[mechanism], x: plan.thresholdRecords ?? Infinity }],
    levels: [{ name: "the goal", y: share }],
    setting: setting(settings, population),
  };
}

function setting({ mechanism, epsilon, delta }: Settings, { dimension, rank, signals }: Population): string {
  const shares = signals.slice(0, 6).map((signal) => number(signal));
  const promise = mechanism === "double-cap" ? `ε = ${number(epsilon)}` : `ε = ${number(epsilon)}, δ = ${plain(delta)}`;
  const listed = `${shares.join(", ")}${signals.length > shares.length ? ", …" : ""}`;
  return `${dimension} features, ${counted(rank, "component")}, shares of variance ${listed}; ${promise}.`;
}
