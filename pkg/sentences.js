// What visitors read, by language: the sentences of `consent`, and those of `explain`. The client has the English
// consent; pages load the others.

import { complete, en as consent } from "./consent.js";

export const en = {
  ...consent,
  outcomes: {
    accepted: "Counted. Thank you!",
    duplicate: "You took part already. Thank you!",
    relayed: "Your report is on its way. Thank you!",
    pending: "Your report could not be sent yet. It is kept on this device, and sent when you come back.",
    declined: "You did not agree, and none of your answers was sent.",
  },
  errors: {
    offline: "You are offline. Please try again when you are connected.",
    unreachable: "This cannot be reached at the moment. Please try again later.",
    early: "This has not begun yet. Please come back later.",
    gone: "This is over.",
    over: "This is over. Your report was not counted.",
    full: "Enough people have taken part. Your report was not counted.",
    refused: "Your report was not accepted, and was not counted.",
    withdrawn: "You have withdrawn. Nothing more is sent.",
    budget: "You have taken part on this site as often as is allowed, to protect you.",
    storage:
      "This browser stores nothing for this site, so your part would be counted again and again. Allow the site to " +
      "store data, or try another browser.",
    changed: "What this page asks for has changed, so nothing was sent. Please tell those who run it.",
    browser: "This does not work in this browser. Load the page again, or try a newer browser.",
    page: "This page has a mistake. Please tell those who run it.",
  },
};

export const de = {
  locale: "de",
  title: "Möchten Sie teilnehmen?",
  who: "Wer fragt: {collector}. Wozu: {purpose}.",
  leaves:
    "Dieses Gerät sendet einen einzigen Bericht von {bytes} Byte. Er entsteht hier, mit zufälligen Änderungen, aus " +
    "diesen Angaben: {columns}. Die Nummer des Berichts hat die Seite vielleicht schon angefordert, ohne " +
    "irgendwelche Angaben.",
  stays: "Die Angaben selbst bleiben auf diesem Gerät.",
  promise:
    "Wer den Bericht sieht, auch sein Empfänger, kann damit raten, ob etwas auf Sie zutrifft. Angenommen, dabei " +
    "werden {others} von 1000 Menschen, auf die es nicht zutrifft, falsch eingeschätzt. Dann werden im Mittel " +
    "höchstens {found} von 1000 Menschen, auf die es zutrifft, erkannt; ohne den Bericht {others}.",
  scope: "Das gilt für einen Bericht. Was mehrere Berichte verraten, summiert sich.",
  repeated:
    "Diese Seite fragt wieder. Aus allen Berichten eines Zeitraums zusammen werden höchstens {inPeriod} " +
    "erkannt, aus allen, die dieser Browser erzeugt, solange er die Daten der Seite behält, höchstens {inAll}. " +
    "Das ist die Zahl für Angaben, die gleich bleiben.",
  agree: "Zustimmen",
  decline: "Ablehnen",
  outcomes: {
    accepted: "Gezählt. Vielen Dank!",
    duplicate: "Sie haben schon teilgenommen. Vielen Dank!",
    relayed: "Ihr Bericht ist unterwegs. Vielen Dank!",
    pending: "Ihr Bericht konnte noch nicht gesendet werden. Dieses Gerät sendet ihn, wenn Sie wiederkommen.",
    declined: "Sie haben nicht zugestimmt. Keine Ihrer Angaben wurde gesendet.",
  },
  errors: {
    offline: "Sie sind offline. Bitte versuchen Sie es noch einmal, sobald Sie verbunden sind.",
    unreachable: "Das ist zurzeit nicht erreichbar. Bitte versuchen Sie es später noch einmal.",
    early: "Das hat noch nicht begonnen. Bitte kommen Sie später wieder.",
    gone: "Das ist vorbei.",
    over: "Das ist vorbei. Ihr Bericht wurde nicht gezählt.",
    full: "Es haben schon genug Menschen teilgenommen. Ihr Bericht wurde nicht gezählt.",
    refused: "Ihr Bericht wurde nicht angenommen und nicht gezählt.",
    withdrawn: "Sie haben Ihre Zustimmung widerrufen. Es wird nichts mehr gesendet.",
    budget: "Sie haben hier so oft teilgenommen, wie es zu Ihrem Schutz erlaubt ist.",
    storage:
      "Dieser Browser speichert nichts für diese Website; Ihre Teilnahme würde mehrmals gezählt. Erlauben Sie der " +
      "Website, Daten zu speichern, oder nehmen Sie einen anderen Browser.",
    changed: "Was diese Seite fragt, hat sich geändert. Es wurde nichts gesendet. Bitte sagen Sie es dem Betreiber.",
    browser: "Das geht in diesem Browser nicht. Laden Sie die Seite neu, oder nehmen Sie einen neueren Browser.",
    page: "Diese Seite hat einen Fehler. Bitte sagen Sie es dem Betreiber.",
  },
};

/** The sentence for each type of an aggregator's refusal, and for each code. The others are the page's own mistake. */
const ERRORS = {
  fetch: "unreachable",
  network: "unreachable",
  "rate-limit": "unreachable",
  unavailable: "unreachable",
  answer: "unreachable",
  "task-not-started": "early",
  "task-expired": "over",
  "task-refined": "over",
  "not-found": "over",
  "unknown-path": "page",
  quota: "full",
  refused: "refused",
  rejected: "refused",
  "too-large": "refused",
  "media-type": "refused",
  spent: "withdrawn",
  budget: "budget",
  storage: "storage",
  digest: "changed",
  init: "browser",
  entropy: "browser",
};

export function explain(told, sentences = en) {
  complete(sentences, en);
  const { outcomes, errors } = sentences;
  const { status, error = told } = told ?? {};
  if (Object.hasOwn(outcomes, status)) return outcomes[status];
  const { code, status: answer, type, withdrawn } = error ?? {};
  // The report was sent before.
  if (code === "spent" && !withdrawn) return outcomes.duplicate;
  // A task that is not there was deleted; what the visitor sent before may count.
  const name = code === "fetch" && answer === 404 ? "gone" : (ERRORS[type] ?? ERRORS[code] ?? "page");
  // Visitors can do little about these. Those who run the page can, and the message says what. An unforeseen error may
  // have words of a record in its message.
  if (["gone", "changed", "browser", "page"].includes(name)) {
    console.error(typeof code === "string" ? error : error?.name);
  }
  const isOffline = name === "unreachable" && globalThis.navigator?.onLine === false;
  return errors[isOffline ? "offline" : name] ?? errors.page;
}
