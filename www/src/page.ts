// A page: starts its sections, and moves between them and to the other page.

import { type Context, element, type Start } from "./context.js";
import { make } from "./dom.js";
import { compile, start as startLab } from "./engine/lab.js";
import { Pool } from "./engine/pool.js";
import { RecordsInUse } from "./own-records.js";
import { State } from "./state.js";
import { afterPaint, domReady, yieldToMain } from "./scheduling.js";
import { Survey } from "./survey.js";

/** Runs a page of these sections, by their ids. */
export async function run(sections: Readonly<Record<string, Start>>): Promise<void> {
  await domReady();
  const state = new State();
  navigate(state, sections);
  // The text comes first: compiling and the work of the sections would compete with it for the processors.
  await afterPaint();
  const module = compile();
  const pool = new Pool(module);
  const spoken = element("announcements");
  let lab: ReturnType<Context["lab"]> | undefined;
  const context: Context = {
    pool,
    state,
    survey: new Survey(pool),
    records: new RecordsInUse(),
    announce: (text) => (spoken.textContent = text),
    lab: () => (lab ??= startLab(module)),
  };
  module
    .then(() => context.lab())
    .then((lab) => (element("version").textContent = lab.version()))
    .catch((error: Error) => {
      const message = element("cannot-run");
      message.hidden = false;
      message.textContent = `This browser cannot run the computations of the page: ${error.message}.`;
    });
  // Each section in its own turn, so that the page stays responsive between them.
  for (const [id, start] of Object.entries(sections)) {
    await yieldToMain();
    void begin(id, start, context);
  }
  // The started sections may have moved the requested one.
  if (state.place in sections) show(state.place);
}

/** A section that fails says so in its place, and the others go on. */
async function begin(id: string, start: Start, context: Context): Promise<void> {
  const root = element(id);
  try {
    await start(root, context);
  } catch (error) {
    console.error(error);
    const text = `This part of the page does not work here: ${(error as Error).message}.`;
    root.querySelector("h1, h2")!.after(make("p", { className: "message" }, text));
  }
}

/** Links of the navigation keep the state that is in the address, and take the keyboard with them. */
function navigate(state: State, sections: Readonly<Record<string, Start>>): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]:not(.skip)')) {
    const place = link.hash.slice(1);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      state.go(place);
      show(place);
    });
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="./"]')) {
    const place = link.hash.slice(1);
    link.addEventListener("click", () => (link.hash = state.link(place)));
  }
  document.querySelector(".skip")!.addEventListener("click", (event) => {
    event.preventDefault();
    element("main").focus();
  });
  addEventListener("popstate", () => show(state.place));
  if (state.place in sections) show(state.place);
}

function show(place: string): void {
  const heading = document.getElementById(place)?.querySelector<HTMLElement>("h1, h2");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.closest("section")!.scrollIntoView();
}
