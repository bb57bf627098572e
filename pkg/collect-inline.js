// `ldp-pca/collect` with the module within: for Node, and for pages that load it as one file.

import { Randomizer, Task } from "./api.js";
import { collecting } from "./collecting.js";
import { init } from "./inline.js";
import { PrivacyLedger } from "./ledger.js";
import { issuedId } from "./submit.js";

export { formRecord } from "./collecting.js";
export * from "./sentences.js";

export const { collect, resume } = collecting({ init, issuedId, PrivacyLedger, Randomizer, Task });
