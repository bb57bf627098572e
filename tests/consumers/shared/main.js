import { init, Randomizer, Task } from "ldp-pca";

import { participateInPage } from "./participate.js";

participateInPage({ init, Randomizer, Task });
