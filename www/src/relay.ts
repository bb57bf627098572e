// Leaves reports with a relay, by the ledger, which only visitors of a demo with a relay load.

import { PrivacyLedger, type Report } from "ldp-pca/lab";

let opened: Promise<PrivacyLedger> | undefined;

/** The relay gets one report from this device, and always the same sealed bytes. Says what became of this one. */
export async function leave(report: Report, relay: string): Promise<string> {
  // What a task asks for is shown before anything is sent; your own page should set a limit.
  opened ??= PrivacyLedger.open({ maxEpsilon: Infinity, maxDelta: 1, onStorageDenied: () => true });
  const { taskDigest, guarantee } = report;
  const made = { taskDigest, guarantee, randomize: () => report };
  const { id, error } = await (await opened).send(made, undefined, { relay, retries: 2 });
  if (error) throw error;
  if (id !== report.id) return "Not sent: the relay has this device's one report already";
  return "Left with the relay: it counts when its batch is full";
}
