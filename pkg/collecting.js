// The client in one call: the task, the consent, and the one report of this device.

import { columnsOf } from "./boundary.js";
import { complete, consent } from "./consent.js";
import { failure } from "./errors.js";
import { en } from "./sentences.js";
import { absolute } from "./submit.js";

/** The calls over the parts of an entry. */
export function collecting({ init, issuedId, PrivacyLedger, Randomizer, Task }) {
  async function collect(options, record) {
    const { url, digest, maxEpsilon, maxDelta, consent: ask, ledger: limits, signal, ...wording } = options;
    const { collector, purpose, sentences = en } = wording;
    if (!collector || !purpose) throw failure("argument", "say who asks, and what for: give collector and purpose");
    if (ask && ask !== "given" && !ask.call) {
      throw failure("argument", "consent is a function that asks, or 'given' where your page has asked");
    }
    complete(sentences, en);
    const place = absolute(url);
    place.pathname = place.pathname.replace(/\/*$/, `/tasks/${digest}`);
    await init();
    const task = await Task.fetch(place, { digest, signal });
    const randomizer = new Randomizer(task, { maxEpsilon, maxDelta });
    const ledger = await PrivacyLedger.open({ maxEpsilon, maxDelta, ...limits });
    try {
      const { reports } = await ledger.status();
      const isOwn = ({ taskDigest, origin }) =>
        taskDigest === (task.campaign ?? task.digest) && origin === place.origin;
      const sending = { url, signal };
      // Who has a report agreed to it, and there will be no other.
      if (!reports.some((report) => isOwn(report) && report.state !== "booked")) {
        // It comes while the visitor reads.
        sending.id = issuedId(task, sending);
        const statement = consent(task, wording);
        const agreed = ask === "given" || (await (ask ?? shown)(statement));
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
    const ledger = await PrivacyLedger.open({ maxEpsilon: Infinity, onStorageDenied: () => true, ...limits });
    return ledger.flush({ signal }).finally(() => ledger.close());
  }

  return { collect, resume };
}

/** Asks with the dialog of the page, or with one of its own. */
async function shown(statement) {
  if (!globalThis.document) throw failure("argument", "there is no page to ask in: give consent");
  const { ConsentDialog } = await import("./consent-dialog.js").catch((cause) => {
    throw failure("init", `the dialog did not load: ${cause.message}`, { cause });
  });
  const own = document.querySelector("ldp-pca-consent");
  const dialog = own ?? document.body.appendChild(new ConsentDialog());
  try {
    return await dialog.ask(statement);
  } finally {
    if (!own) dialog.remove();
  }
}

function isForm(record) {
  return [globalThis.FormData, globalThis.HTMLFormElement].some((type) => type && record instanceof type);
}

export function formRecord(task, form) {
  const { elements = [] } = form;
  const data = form.getAll ? form : new FormData(form);
  const columns = columnsOf(task).filter(({ type }) => type !== "ignored");
  // Of entries, so that a column may have any name.
  const entries = columns.map(({ name, type: column }) => {
    const [box, other] = [...elements].filter((field) => field.name === name && field.type === "checkbox");
    // One that stands for no text of its own is an answer when it is empty, too.
    if (box && !other && !box.hasAttribute("value") && !box.matches(":disabled")) {
      return [name, column === "numeric" ? Number(box.checked) : box.checked];
    }
    const given = data.getAll(name);
    // Several fit no column.
    return [name, given.length > 1 ? given : given[0]];
  });
  return Object.fromEntries(entries);
}
