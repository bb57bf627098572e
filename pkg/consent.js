// What a page can tell its visitor before anything leaves the device. Plain data: how it is shown is up to the page.

export function consent(task) {
  const { digest, featureNames, guarantee, oddsFactor, reportBytes } = task;
  const columns = task
    .toJSON()
    .schema.columns.filter(({ type }) => type !== "ignored")
    .map(({ name }) => name);
  // Never less than it is.
  const factor = oddsFactor.toLocaleString("en", { maximumSignificantDigits: 3, roundingMode: "ceil" });
  const exception = guarantee.delta ? `, except with a probability of at most ${guarantee.delta}` : "";
  const statement = {
    leaves: `One report of ${reportBytes} bytes leaves this device. It is randomized here from: ${columns.join(", ")}.`,
    stays: "The values themselves stay on this device.",
    promise:
      "For anyone who sees the report, its receiver included, the odds of your values against any others change by a " +
      `factor of at most ${factor}${exception}.`,
    scope: "This holds for one report. What several reports reveal adds up.",
  };
  return {
    text: Object.values(statement).join(" "),
    ...statement,
    columns,
    features: featureNames,
    reportBytes,
    guarantee,
    oddsFactor,
    taskDigest: digest,
  };
}
