// `ldp-pca/collect` for browsers and bundlers: the client in one call, and the sentences that visitors read.

import { Randomizer, Task } from "./api.js";
import { collecting } from "./collecting.js";
import { init } from "./index.js";
import { PrivacyLedger } from "./ledger.js";
import { issuedId } from "./submit.js";

export { formRecord } from "./collecting.js";
export * from "./sentences.js";

export const { collect, resume } = collecting({ init, issuedId, PrivacyLedger, Randomizer, Task });
