// Starts one visit per page, with the work in a worker, so that the page stays responsive.

import { explain } from "ldp-pca/sentences";
import { consent, init, PrivacyLedger, Randomizer, Task } from "ldp-pca/worker";

const url = import.meta.env.VITE_AGGREGATOR;
const digest = import.meta.env.VITE_TASK;

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
    text: consent(task, { collector: "Example Club", purpose: "to learn which activities go together" }).text,
    told: before ? explain({ status: "duplicate" }) : "",
    agree: async (record) => explain(await ledger.send(randomizer, record, { url })),
  };
}
