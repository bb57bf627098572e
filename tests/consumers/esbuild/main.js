import { init, issuedId, Randomizer, submit, Task } from "ldp-pca/inline";

import { participateInPage } from "./participate.js";

participateInPage({ init, issuedId, Randomizer, submit, Task });
