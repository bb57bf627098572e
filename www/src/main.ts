// The first page.

import { run } from "./page.js";
import { start as startError } from "./sections/error.js";
import { start as startMap } from "./sections/map.js";
import { start as startOwn } from "./sections/own.js";
import { start as startPlanner } from "./sections/planner.js";
import { start as startTakePart } from "./sections/take-part.js";

void run({
  map: startMap,
  "take-part": startTakePart,
  error: startError,
  planner: startPlanner,
  own: startOwn,
});
