// The types that apps use besides the client: the dialog, other languages, and the client for tests.

import { consent, type ConsentSentences, Task } from "ldp-pca";
import { Components } from "ldp-pca/components";
import { ConsentDialog } from "ldp-pca/consent-dialog";
import { de } from "ldp-pca/sentences";
import * as testing from "ldp-pca/testing";

declare const task: Task;

const swiss = consent(task, { sentences: de, locale: "de-CH", labels: { height: "Grösse" } });
document.querySelector("ldp-pca-consent")?.ask(swiss) satisfies Promise<boolean> | undefined;
(await new ConsentDialog().ask(swiss)) satisfies boolean;

const { promise, ...less } = de;
// @ts-expect-error: a language says all.
less satisfies ConsentSentences;
// @ts-expect-error: labels are texts.
consent(task, { labels: { height: 1 } });

const components: Components = await Components.fetch("/components.json", { digest: task.digest });
components.scores({ height: 181, plan: "paid" }) satisfies number[];
components.describe()[0]?.share satisfies number | null | undefined;
Components.parse(await (await fetch("/components.json")).json()).rank satisfies number;
// @ts-expect-error: components are made by parse and fetch.
new Components("{}");
// @ts-expect-error: an undefined digest would be any.
await Components.fetch("/components.json", { digest: undefined });

testing.reset({ seed: 7, tasks: [task.toJSON(), String(task)] });
testing.answers("pending");
testing.sent[0]?.record satisfies object | undefined;
// The same classes, so that an app's own types fit.
new testing.Randomizer(testing.Task.parse(String(task)), { maxEpsilon: 2 });
// @ts-expect-error: there are four answers.
testing.answers("lost");
