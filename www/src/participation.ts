// The visitor's one report for a collection: the dialog asks, and the ledger books, keeps and sends it. Only visitors
// of an aggregator load it.

import "ldp-pca/consent-dialog";

import { type ConsentStatement, type Outcome, PrivacyLedger, type Randomizer, type RecordInput } from "ldp-pca/lab";

/** Where a report goes. */
export type Destination = { readonly url: string; readonly id?: undefined } | { readonly relay: string };

let opened: Promise<PrivacyLedger> | undefined;

function ledger(): Promise<PrivacyLedger> {
  // The dialog shows what a task asks for, and this page sets no limit; your own page should.
  return (opened ??= PrivacyLedger.open({ maxEpsilon: Infinity, maxDelta: 1, onStorageDenied: () => true }));
}

/** What became of this device's report for a task on an earlier visit, or earlier on this one. */
export async function stateOf(taskDigest: string): Promise<string | undefined> {
  const { reports } = await (await ledger()).status();
  return reports.find((report) => report.taskDigest === taskDigest)?.state;
}

/** Asks the visitor. */
export function agrees(statement: ConsentStatement): Promise<boolean> {
  return document.querySelector("ldp-pca-consent")!.ask(statement);
}

/** Sends this device's one report, which is made from the record unless there is one. */
export async function send(randomizer: Randomizer, record: RecordInput, to: Destination): Promise<Outcome> {
  return (await ledger()).send(randomizer, record, { ...to, retries: 2 });
}
