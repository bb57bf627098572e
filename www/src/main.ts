// The page: starts its sections, and moves between them.

import { type Context, element, type Start } from "./context.js";
import { make } from "./dom.js";
import { compile, start as startLab } from "./engine/lab.js";
import { Pool } from "./engine/pool.js";
import { RecordsInUse } from "./own-records.js";
import { start as startError } from "./sections/error.js";
import { start as startOneReport } from "./sections/one-report.js";
import { start as startOwn } from "./sections/own.js";
import { start as startPlanner } from "./sections/planner.js";
import { start as startSparse } from "./sections/sparse.js";
import { start as startTakePart } from "./sections/take-part.js";
import { start as startTrust } from "./sections/trust.js";
import { State } from "./state.js";
import { afterPaint, domReady, yieldToMain } from "./scheduling.js";

const SECTIONS: Readonly<Record<string, Start>> = {
  "one-report": startOneReport,
  own: startOwn,
  error: startError,
  sparse: startSparse,
  planner: startPlanner,
  "take-part": startTakePart,
  trust: startTrust,
};

async function main(): Promise<void> {
  await domReady();
  const state = new State();
  navigate(state);
  // The text comes first: compiling and the work of the sections would compete with it for the processors.
  await afterPaint();
  const module = compile();
  const context = makeContext(module, state);
  module
    .then(() => context.lab())
    .then((lab) => (element("version").textContent = lab.version()))
    .catch(cannotRun);
  await beginAll(context);
}

/** Each section in its own turn, so that the page stays responsive between them. */
async function beginAll(context: Context): Promise<void> {
  for (const [id, start] of Object.entries(SECTIONS)) {
    await yieldToMain();
    void begin(id, start, context);
  }
  // The started sections may have moved the requested one.
  if (context.state.place in SECTIONS) show(context.state.place);
}

function makeContext(module: Promise<WebAssembly.Module>, state: State): Context {
  const spoken = element("announcements");
  let lab: ReturnType<Context["lab"]> | undefined;
  return {
    pool: new Pool(module),
    state,
    records: new RecordsInUse(),
    announce: (text) => (spoken.textContent = text),
    lab: () => (lab ??= startLab(module)),
  };
}

/** A section that fails says so in its place, and the others go on. */
async function begin(id: string, start: Start, context: Context): Promise<void> {
  const root = element(id);
  try {
    await start(root, context);
  } catch (error) {
    console.error(error);
    const text = `This part of the page does not work here: ${(error as Error).message}.`;
    root.querySelector("h2")!.after(make("p", { className: "message" }, text));
  }
}

function cannotRun(error: unknown): void {
  const message = element("cannot-run");
  message.hidden = false;
  message.textContent = `This browser cannot run the computations of the page: ${(error as Error).message}.`;
}

/** Links of the navigation keep the state that is in the address, and take the keyboard with them. */
function navigate(state: State): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("#contents a")) {
    const place = link.hash.slice(1);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      state.go(place);
      show(place);
    });
  }
  document.querySelector(".skip")!.addEventListener("click", (event) => {
    event.preventDefault();
    element("main").focus();
  });
  addEventListener("popstate", () => show(state.place));
  if (state.place in SECTIONS) show(state.place);
}

function show(place: string): void {
  const heading = document.getElementById(place)?.querySelector("h2");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.closest("section")!.scrollIntoView();
}

void main();
