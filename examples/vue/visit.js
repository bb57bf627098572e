// Starts one visit per page, with the work in a worker, so that the page stays responsive.

import { consent, init, PrivacyLedger, Randomizer, Task } from "ldp-pca/worker";

const url = import.meta.env.VITE_AGGREGATOR;
const digest = import.meta.env.VITE_TASK;

const WORDS = {
  accepted: "Counted. Thank you!",
  duplicate: "You took part already. Thank you!",
  pending: "Your report is kept, and sent when you come back.",
  refused: "The collection is closed.",
};

/**
 * Resolves to `text`, the consent; `told`, the message to show at once, if any; and `agree(record)`, which resolves to
 * the message to show next.
 */
export const visit = start();

async function start() {
  await init();
  const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
  const randomizer = new Randomizer(task, { maxEpsilon: 2 });
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  void ledger.flush(); // in the background: reports that an earlier visit could not send
  const { reports } = await ledger.status();
  const before = reports.some(({ state, taskDigest }) => state === "sent" && taskDigest === digest);
  return {
    text: consent(task).text,
    told: before ? WORDS.duplicate : "",
    agree: async (record) => WORDS[(await ledger.send(randomizer, record, { url })).status],
  };
}
