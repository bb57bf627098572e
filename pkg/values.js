// What a column reads of a record's value, in the client and beside published components.

/** What `read` gives. A record's own getters may throw, which is no reason to have no report. */
export function tried(read, otherwise) {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** What a numeric column reads of a text, as a form has it: its decimal number, or NaN if it is empty. */
export function numberIn(text) {
  if (!/\S/.test(text)) return NaN;
  const number = /^[-+.\de\s]{1,999}$/i.test(text) ? Number(text) : NaN;
  // Another text fits no numeric column.
  return Number.isNaN(number) ? text : number;
}

/** The text of a value as a category among the listed ones, without blanks around it; null for what is none. */
export function textOf(value, listed) {
  // More than 64 bits and a sign are no category, and may take minutes to write.
  if (typeof value === "bigint" && BigInt.asIntN(65, value) !== value) return null;
  const blanks = /^\p{White_Space}+|(?<!\p{White_Space})\p{White_Space}+$/gu;
  // No column lists half of a surrogate pair. Of a text that is longer than all that the column lists, and zeros after
  // a number, the beginning is enough: the whole may be too long for the module, or even to be written.
  const written = () => `${value}`.replace(blanks, "").slice(0, `${listed}`.length + 99).replace(/\p{Cs}/gu, "\ufffd");
  return tried(written, null);
}
