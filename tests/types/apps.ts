// The types that apps use besides the client: everything in one call, the dialog, other languages, and the client for
// tests.

import { consent, type ConsentSentences, Task } from "ldp-pca";
import { collect, explain, formRecord, type Outcome, resume } from "ldp-pca/collect";
import { Components } from "ldp-pca/components";
import { ConsentDialog } from "ldp-pca/consent-dialog";
import { de, type Sentences } from "ldp-pca/sentences";
import * as testing from "ldp-pca/testing";

import { task as survey } from "./survey.js";
import imported from "./survey.json";

declare const task: Task;

const swiss = consent(task, { sentences: de, locale: "de-CH", labels: { height: "Grösse" } });
document.querySelector("ldp-pca-consent")?.ask(swiss) satisfies Promise<boolean> | undefined;
(await new ConsentDialog().ask(swiss)) satisfies boolean;

const { promise, ...less } = de;
// @ts-expect-error: a language says all.
less satisfies ConsentSentences;
// @ts-expect-error: it has a place for each number.
({ ...de, promise: "Höchstens {found} von 1000." }) satisfies ConsentSentences;
({ ...de, who: "{purpose}: {collector}" }) satisfies ConsentSentences;
({ ...de, leaves: promise as string as ConsentSentences["leaves"] }) satisfies Sentences;
const { offline, ...fewer } = de.errors;
// @ts-expect-error: a language has every error.
({ ...de, errors: fewer }) satisfies Sentences;
// @ts-expect-error: labels are texts.
consent(task, { labels: { height: 1 } });
consent(task, { collector: "a club", purpose: "a study" }).who satisfies string;

const components: Components = await Components.fetch("/components.json", { digest: task.digest });
components.scores({ height: 181, plan: "paid" }) satisfies number[];
components.describe()[0]?.share satisfies number | null | undefined;
Components.parse(await (await fetch("/components.json")).json()).rank satisfies number;
// @ts-expect-error: components are made by parse and fetch.
new Components("{}");
// @ts-expect-error: an undefined digest would be any.
await Components.fetch("/components.json", { digest: undefined });

const options = { url: "/", digest: task.digest, maxEpsilon: 2, collector: "a club", purpose: "a study" };
const outcome = await collect(options, { height: 181 });
if (outcome.status !== "declined") outcome satisfies Outcome;
explain(outcome, de) satisfies string;
await collect<typeof survey.schema>(options, { height: "181", 'plan "of" today': "paid", device: null });
// @ts-expect-error: a value that the column does not have.
await collect<typeof survey.schema>(options, { height: "181", 'plan "of" today': "gold", device: null });
for (const consent of ["given", () => true, async ({ who }: { who: string }) => who !== ""] as const) {
  await collect({ ...options, consent, ledger: { maxEpsilon: 4 } }, new FormData());
}
// @ts-expect-error: collect() closes its ledger.
await collect({ ...options, ledger: { flushOnline: true } }, new FormData());
// @ts-expect-error: a visitor is told who asks.
await collect({ ...options, collector: undefined }, new FormData());
// @ts-expect-error: the page asks, or says that it has asked.
await collect({ ...options, consent: true }, new FormData());
(await resume(options)) satisfies Outcome[];
formRecord(task, document.forms[0]!) satisfies object;

testing.reset({ seed: 7, tasks: [task.toJSON(), String(task), imported, survey] });
testing.collect satisfies typeof collect;
testing.answers("pending");
testing.sent[0]?.record satisfies object | undefined;
// The same classes, so that an app's own types fit.
new testing.Randomizer(testing.Task.parse(String(task)), { maxEpsilon: 2 });
// @ts-expect-error: there are four answers.
testing.answers("lost");
