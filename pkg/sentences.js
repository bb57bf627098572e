// The sentences of `consent`, by language. English is in every client; pages load the others.

export { en } from "./consent.js";

export const de = {
  locale: "de",
  title: "Möchten Sie teilnehmen?",
  leaves:
    "Dieses Gerät sendet einen einzigen Bericht von {bytes} Byte. Er wird hier aus den folgenden Angaben erzeugt und " +
    "dabei zufällig verändert: {columns}. Die Nummer des Berichts hat die Seite vielleicht schon angefordert, ohne " +
    "irgendwelche Angaben.",
  stays: "Die Angaben selbst bleiben auf diesem Gerät.",
  promise:
    "Wer den Bericht sieht, auch sein Empfänger, kann prüfen, ob er zu bestimmten Angaben passt. Eine solche " +
    "Prüfung, die {others}\u00a0% der Menschen mit anderen Angaben fälschlich verdächtigt, erkennt höchstens " +
    "{found}\u00a0% derer, auf die sie zutreffen; ohne den Bericht wären es {others}\u00a0%.",
  scope: "Das gilt für einen Bericht. Was mehrere Berichte verraten, summiert sich.",
  repeated:
    "Diese Seite fragt wieder. Aus allen Berichten eines Zeitraums erkennt eine solche Prüfung höchstens " +
    "{inPeriod}\u00a0%, aus allen, die die Seite je erzeugt, höchstens {inAll}\u00a0%. Das ist die Zahl für Angaben, " +
    "die gleich bleiben.",
  agree: "Zustimmen",
  decline: "Ablehnen",
};
