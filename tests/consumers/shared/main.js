import { init, Randomizer, submit, Task } from "ldp-pca";
import * as lab from "ldp-pca/lab";
import * as worker from "ldp-pca/worker";

import { participateInPage } from "./participate.js";

participateInPage({ init, Randomizer, submit, Task }, worker, lab);
