// The exports of every entry of the lab, besides its own `init` and `loadMethods`.

export * from "./common.js";
export {
  Aggregate,
  compare,
  debiasedContribution,
  drawCollection,
  encode,
  penaltyPath,
  plan,
  population,
  predict,
  Randomizer,
  recommendedMechanism,
  recover,
  simulate,
  SimulatedCollection,
  solve,
  Task,
  version,
} from "./lab-api.js";
