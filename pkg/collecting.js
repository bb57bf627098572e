// The client in one call: the task, the consent, and the one report of this device.

import { columnsOf } from "./boundary.js";
import { complete, consent } from "./consent.js";
import { failure } from "./errors.js";
import { aborted } from "./ledger.js";
import { en } from "./sentences.js";
import { absolute } from "./submit.js";

/** The calls over the parts of an entry. */
export function collecting({ init, issuedId, PrivacyLedger, Randomizer, Task }) {
  async function collect(options, record) {
    const { url, digest, maxEpsilon, maxDelta, consent: ask = shown, ledger: limits, signal, ...wording } = options;
    const { collector, purpose, sentences = en } = wording;
    if (!collector || !purpose) throw failure("argument", "say who asks, and what for: give collector and purpose");
    if (ask !== "given" && !ask.call) {
      throw failure("argument", "consent is a function that asks, or 'given' where your page has asked");
    }
    complete(sentences, en);
    const place = absolute(url);
    place.pathname = place.pathname.replace(/\/*$/, `/tasks/${digest}`);
    await init();
    const task = await Task.fetch(place, { digest, signal });
    const randomizer = new Randomizer(task, { maxEpsilon, maxDelta });
    const budget = { maxEpsilon, maxDelta, ...limits };
    const ledger = await PrivacyLedger.open({ ...budget, flushOnline: false });
    try {
      const sending = { url, signal };
      // Who has a report agreed to it, and there will be no other.
      if (await ledger.needsConsent(randomizer, sending)) {
        // It comes while the visitor reads.
        sending.id = issuedId(task, sending);
        const repeated = budget.maxEpsilonPerPeriod === undefined ? undefined : budget;
        const statement = consent(task, { ...wording, limits: repeated });
        const agreed = ask === "given" || (await Promise.race([ask(statement, { signal }), aborted(signal)]));
        if (agreed !== true) return { status: /** @type {const} */ ("declined") };
      }
      return await ledger.send(randomizer, isForm(record) ? formRecord(task, record) : record, sending);
    } finally {
      ledger.close();
      randomizer.free();
      task.free();
    }
  }

  async function resume({ ledger: limits, signal } = {}) {
    // Without a storage nothing waits.
    const own = { maxEpsilon: Infinity, ...limits, onStorageDenied: () => true, flushOnline: false };
    const ledger = await PrivacyLedger.open(own);
    return ledger.flush({ signal }).finally(() => ledger.close());
  }

  return { collect, resume };
}

/** The dialog that was made for questions, and how many of them are open. */
let made;
let asking = 0;

/** Asks with the dialog of the page, or with one of its own. */
async function shown(statement, options) {
  if (!globalThis.document) throw failure("argument", "there is no page to ask in: give consent");
  const { ConsentDialog } = await import("./consent-dialog.js").catch((cause) => {
    throw failure("init", `the dialog did not load: ${cause.message}`, { cause });
  });
  const dialog = document.querySelector("ldp-pca-consent") ?? document.body.appendChild((made = new ConsentDialog()));
  asking += 1;
  try {
    return await dialog.ask(statement, options);
  } finally {
    asking -= 1;
    if (asking === 0) made?.remove();
  }
}

function isForm(record) {
  return [globalThis.FormData, globalThis.HTMLFormElement].some((type) => type && record instanceof type);
}

/** A form's fields, whatever their names. */
const elementsOf = (form) => Reflect.get(HTMLFormElement.prototype, "elements", form);

export function formRecord(task, form) {
  // Fields of a form may have any names, of its properties too.
  const isData = form instanceof FormData;
  const data = isData ? form : new FormData(form);
  const elements = isData ? [] : elementsOf(form);
  const columns = columnsOf(task).filter(({ type }) => type !== "ignored");
  // Of entries, so that a column may have any name.
  const entries = columns.map(({ name, type: column, values }) => {
    const [box, other] = [...elements].filter((field) => field.name === name && field.type === "checkbox");
    if (box && !other && !box.hasAttribute("value")) {
      // Whatever is answered: a form may disable a box for what another field has.
      if (values?.every((value) => !/^true$/i.test(value))) {
        throw failure("argument", `column ${name}: a checkbox is none of its values: use a select`);
      }
      // One that stands for no text of its own is an answer when it is empty, too.
      if (!box.matches(":disabled")) return [name, column === "numeric" ? Number(box.checked) : box.checked];
    }
    const given = data.getAll(name);
    // Several fit no column.
    return [name, given.length > 1 ? given : given[0]];
  });
  return Object.fromEntries(entries);
}
