// What a page can tell its visitor before anything leaves the device. Plain data: how it is shown is up to the page.

export function consent(task) {
  const { detection, digest, featureNames, guarantee, reportBytes } = task;
  const columns = task
    .toJSON()
    .schema.columns.filter(({ type }) => type !== "ignored")
    .map(({ name }) => name);
  // Never less than it is.
  const rounded = { maximumSignificantDigits: 3, roundingMode: "ceil" };
  const percent = (share) => `${(100 * share).toLocaleString("en", rounded)} %`;
  const others = percent(detection.falseAlarms);
  const statement = {
    leaves: `One report of ${reportBytes} bytes leaves this device. It is randomized here from: ${columns.join(", ")}.`,
    stays: "The values themselves stay on this device.",
    promise:
      "Anyone who sees the report, its receiver included, can test it for certain values. A test that falsely " +
      `accuses ${others} of those who have others finds at most ${percent(detection.power)} of those who have them; ` +
      `without the report, ${others}.`,
    scope: "This holds for one report. What several reports reveal adds up.",
  };
  return {
    text: Object.values(statement).join(" "),
    ...statement,
    columns,
    features: featureNames,
    reportBytes,
    guarantee,
    detection,
    taskDigest: digest,
  };
}
