import { init, Randomizer, Task } from "ldp-pca/inline";

import { participateInPage } from "./participate.js";

participateInPage({ init, Randomizer, Task });
