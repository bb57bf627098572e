// What every entry of the lab exports, beside its own `init`.

export * from "./common.js";
export {
  Aggregate,
  debiasedContribution,
  encode,
  penaltyPath,
  plan,
  predict,
  Randomizer,
  recommendedMechanism,
  recover,
  simulate,
  solve,
  Task,
  version,
} from "./lab-api.js";
