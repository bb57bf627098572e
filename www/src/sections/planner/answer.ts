// The planner's answers in sentences and tables.

import type { Plan } from "ldp-pca/lab";

import { plain } from "../../fields.js";
import { about, atMost, counted, number, percent } from "../../format.js";
import { type Quality, shareFound } from "../../measure.js";
import { LOOKS } from "../../mechanisms.js";
import type { Settings } from "./settings.js";

/** The answer, the most important sentence first. */
export function sentences(settings: Settings, plan: Plan): string[] {
  const { epsilon, delta, share, mechanism, batch } = settings;
  const promise = `${LOOKS[mechanism].name} at ε = ${number(epsilon)}`;
  const goal = `${number(share)} % of the structure`;
  const { recordsForTarget, thresholdRecords, shuffled } = plan;
  const relayed = shuffled?.recordsForTarget;
  const local = shuffled?.localEpsilon;
  const first =
    recordsForTarget == null
      ? `No number of people finds ${goal} with ${promise}: some component does not stand out from the rest.`
      : `${people(recordsForTarget)} find ${goal} with ${promise}.`;
  const threshold =
    thresholdRecords === null
      ? "With any number of people noise drowns the components."
      : `With fewer than ${about(thresholdRecords, 3)} noise drowns the components.`;
  const mixed =
    relayed == null || local == null
      ? ""
      : `${people(relayed)} find it through a relay that does not work together with the aggregator. There ` +
        `ε = ${number(epsilon)} is a promise about each batch of ${counted(batch, "honest report")}, for any two ` +
        `records of one person in it, with δ = ${plain(delta)}; each report by itself has ε = ${atMost(local)}.`;
  const all = [first, threshold, ...withRecords(settings, plan), mixed].filter((sentence) => sentence !== "");
  // An equation must not break across lines.
  return all.map((sentence) => sentence.replaceAll(" = ", "\u00a0=\u00a0"));
}

/** The sentences about the available people. */
function withRecords({ records, share, batch }: Settings, plan: Plan): string[] {
  const { predicted, epsilonForTarget, shuffled } = plan;
  if (records === undefined || !predicted) return [];
  const found = (prediction: Quality) =>
    `${percent(shareFound(prediction, plan))} of the structure (‖sin Θ‖² = ${number(prediction.sinThetaSquared)})`;
  const reached = `From ${counted(records, "person", "people")} expect ${found(predicted)}.`;
  const needed =
    epsilonForTarget == null
      ? `No ε up to 16 lets them find ${number(share)} %.`
      : `To find ${number(share)} % they need ε = ${number(epsilonForTarget)}.`;
  const mixed = !shuffled
    ? `They fill no batch of ${counted(batch, "honest report")}, so a relay would release nothing.`
    : shuffled.predicted
      ? `Through a relay, ${found(shuffled.predicted)}.`
      : "";
  return [reached, needed, mixed];
}

export const COMPONENT_HEADS = ["component", "share of variance", "recoverable from", "missed"];

/** One row for each component. `at` is the plan for the number of users that the last column is about. */
export function componentRows(plan: Plan, at: Plan | undefined): string[][] {
  const { signals, bulk, thresholdRecordsPerComponent } = plan;
  return thresholdRecordsPerComponent.map((least, index) => {
    const missed = at?.predicted?.perComponent[index];
    return [
      String(index + 1),
      number(signals[index] ?? bulk),
      least === null ? "no number of people" : people(least),
      missed === undefined ? "" : at?.predicted?.recoverable[index] ? percentage(missed) : "all: below the threshold",
    ];
  });
}

/** A rounded number of people. */
function people(count: number): string {
  return `${about(count, 3)} ${count === 1 ? "person" : "people"}`;
}

function percentage(share: number): string {
  return share.toLocaleString("en", { style: "percent", maximumSignificantDigits: 2 });
}
