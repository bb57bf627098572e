// What the page itself, beside its workers, uses of the lab. A list, so that it downloads no more than that.

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
