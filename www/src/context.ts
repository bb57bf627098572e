// The services that every section of the page gets.

import type { Pool } from "./engine/pool.js";
import type { RecordsInUse } from "./own-records.js";
import type { State } from "./state.js";
import type { Survey } from "./survey.js";

export interface Context {
  /** Workers that compute: `pool.run("simulate", options, { signal })`. */
  readonly pool: Pool;
  /** What controls hold, in the address: `state.section("planner", fields, check)`. */
  readonly state: State;
  /** The made-up survey, as far as somebody asked for it. */
  readonly survey: Survey;
  /** The visitor's own records, where the charts are about them. */
  readonly records: RecordsInUse;
  /**
   * Announces to people who hear the page instead of seeing it. Not for what a live region of the section already says.
   */
  announce(text: string): void;
  /** The lab on this thread, for what takes microseconds: tasks, records, reports. The module is the workers' own. */
  lab(): Promise<typeof import("./engine/main-thread-lab.js")>;
}

/** How a section begins its work; its markup is in the page already. */
export type Start = (root: HTMLElement, context: Context) => void | Promise<void>;

/** The element of this id, which the markup has. */
export function element<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as E;
}
