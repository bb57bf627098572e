// The parts of the lab that the page itself uses, beside its workers. An explicit list keeps the download small.

export {
  Aggregate,
  consent,
  debiasedContribution,
  encode,
  init,
  LdpPcaError,
  Randomizer,
  recommendedMechanism,
  Task,
  version,
} from "ldp-pca/lab";
