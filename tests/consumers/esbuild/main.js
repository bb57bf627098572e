import { init, Randomizer, submit, Task } from "ldp-pca/inline";

import { participateInPage } from "./participate.js";

participateInPage({ init, Randomizer, submit, Task });
