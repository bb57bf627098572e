// The parts of the lab that the page itself uses, beside its workers. An explicit list keeps the download small.

export {
  Aggregate,
  consent,
  debiasedContribution,
  encode,
  init,
  issuedId,
  LdpPcaError,
  Randomizer,
  recommendedMechanism,
  submit,
  Task,
  version,
} from "ldp-pca/lab";
