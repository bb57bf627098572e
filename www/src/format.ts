// Numbers in words and digits, the same everywhere.

// Made once, and only when there is a number: a format takes far longer to make than to use.
let threeDigits: Intl.NumberFormat | undefined;
let allDigits: Intl.NumberFormat | undefined;

/** Three digits, with a real minus sign: 0.0123, 12,300, 1.23 × 10⁻⁶. */
export function number(value: number): string {
  if (value !== 0 && Math.abs(value) < 1e-4) {
    const [digits, exponent] = Number(value.toPrecision(3)).toExponential().split("e-");
    return `${digits!.replace("-", "−")} × 10⁻${exponent!.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]!)}`;
  }
  threeDigits ??= new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  return threeDigits.format(value).replace("-", "−");
}

/** Three digits of a number from 0.001 on, rounded down: of an epsilon that is still allowed. */
export function atMost(value: number): string {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return number(Math.floor(value / unit) * unit);
}

/** A share: 93 %. */
export function percent(share: number): string {
  return `${number(Math.round(1000 * share) / 10)} %`;
}

/** A rounded number: 12,000, 1.2 million. */
export function about(value: number, digits = 2): string {
  const short = Number(value.toPrecision(digits));
  return short < 1e6 ? number(short) : short.toLocaleString("en", { notation: "compact", compactDisplay: "long" });
}

/** "1 report", "2,000 reports". */
export function counted(count: number, one: string, many = `${one}s`): string {
  allDigits ??= new Intl.NumberFormat("en");
  return `${allDigits.format(count)} ${count === 1 ? one : many}`;
}

/** Two hexadecimal digits a byte. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
