import { init, issuedId, Randomizer, submit, Task } from "ldp-pca";
import * as lab from "ldp-pca/lab";
import * as worker from "ldp-pca/worker";

import { participateInPage } from "./participate.js";

participateInPage({ init, issuedId, Randomizer, submit, Task }, worker, lab);
