// In a worker: the made-up survey, whose answers are randomized one by one as on people's devices.

import { Aggregate, Randomizer, recommendedMechanism, recover, solve, Task } from "ldp-pca/lab";

import { ACTIVITIES, EPSILON, LIKING, NAMES, PEOPLE, STOPS, taskDocument } from "../survey.js";
import type { Frame, OpenedSurvey } from "./protocol.js";
import { ABOVE_EDGE, columns, inner, shareFound } from "./share.js";

const RANK = 2;
/** How far answers are from 0 by each pattern, and by anything else. */
const STRENGTHS = [2.3, 1.8] as const;
const OTHER = 2.5;
/** A step of the work is about this long, so that the picture moves meanwhile. */
const STEP_MS = 60;
/** Reports are added so many at a time. */
const CHUNK = 250;
/** A loading counts that is so many deviations of the noise from 0. */
const DEVIATIONS = 3.5;

export function openSurvey(): OpenedSurvey {
  const task = Task.parse(taskDocument(recommendedMechanism({ type: "double-cap", epsilon: EPSILON })));
  const randomizer = new Randomizer(task, { maxEpsilon: EPSILON });
  const sum = new Aggregate(task);
  const answers = madeUp();
  const truth = moments(answers);
  const own = solve(truth, NAMES.length, { rank: RANK });
  const loadings = columns(own);

  function randomizeSome(until: number): void {
    const some = answers.slice(sum.records, Math.min(until, sum.records + CHUNK));
    sum.add(new Uint8Array(some.flatMap((record) => [...randomizer.randomize(record).bytes])));
  }

  function frame(): Frame {
    const found = recover(sum, { rank: RANK });
    const { eigenvalues, noiseDeviation, noiseEdge, totalVariance } = found;
    const dimension = NAMES.length;
    const rest = eigenvalues.reduce((left, value) => left - value, totalVariance) / (dimension - RANK);
    const components = columns(found, loadings);
    const variances = eigenvalues.map((value) => {
      if (value < ABOVE_EDGE * noiseEdge) return null;
      const above = value - rest;
      return rest + (above + Math.sqrt(Math.max(0, above ** 2 - 4 * dimension * noiseDeviation ** 2))) / 2;
    });
    const noise = variances.map((variance) =>
      variance === null ? Infinity : (DEVIATIONS * noiseDeviation) / (variance - rest),
    );
    const share = shareFound(truth, components, own);
    return { people: sum.records, share, components, variances, noise, noiseEdge };
  }

  return {
    grow(until) {
      const end = performance.now() + STEP_MS;
      const frames = [];
      for (const people of STOPS.filter((stop) => stop > sum.records && stop <= until)) {
        while (sum.records < people && performance.now() < end) randomizeSome(people);
        if (sum.records < people) break;
        frames.push(frame());
      }
      return frames;
    },
  };
}

/** The answers of all people: the same ones on every visit. Their reports are random as always. */
function madeUp(): number[][] {
  let state = 1;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return Array.from({ length: PEOPLE }, () => {
    const [outdoors, culture] = STRENGTHS.map((strength) => strength * normal()) as [number, number];
    return ACTIVITIES.map(([, first, second]) => {
      const liking = Math.round(first * outdoors + second * culture + OTHER * normal());
      return Math.max(-LIKING, Math.min(LIKING, liking));
    });
  });
}

/** The mean of `x x^T` over the records, brought to length one. */
function moments(records: readonly number[][]): Float64Array {
  const size = NAMES.length;
  const mean = new Float64Array(size * size);
  for (const record of records) {
    const weight = 1 / (records.length * (inner(record, record) || 1));
    record.forEach((left, row) => record.forEach((right, at) => (mean[row * size + at]! += weight * left * right)));
  }
  return mean;
}
