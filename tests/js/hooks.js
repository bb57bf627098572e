import { before } from "node:test";

let last = Promise.resolve();

/** A hook before all tests of a file, which begins when earlier ones have ended: Node starts its own all at once. */
export function inTurn(work) {
  before(() => (last = last.then(work)));
}
