// The kinds of values that controls hold: how each is read from text, checked, and written back.

/** An impossible value. The message says what to give instead. */
export class InvalidValue extends Error {}

export interface Field<T> {
  /** The initial value. */
  readonly initial: T;
  /** Throws {@link InvalidValue}. `read(write(value))` is `value`. */
  read(text: string): T;
  write(value: T): string;
}

// `any` allows a record of fields of many types to be inferred.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Fields = Readonly<Record<string, Field<any>>>;
export type Values<F extends Fields> = { readonly [N in keyof F]: F[N] extends Field<infer T> ? T : never };

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** A whole number. */
export function integer(initial: number, range: Range): Field<number> {
  return { ...decimal(initial, range, "whole number", Number.isSafeInteger), write: String };
}

/** A number. A stricter test than being finite is `fits`, and `kind` the name of what passes it. */
export function decimal(
  initial: number,
  { min, max }: Range,
  kind = "number",
  fits = Number.isFinite,
): Field<number> {
  return {
    initial,
    read: (text) => {
      const value = parseNumber(text);
      if (fits(value) && value >= min && value <= max) return value;
      throw new InvalidValue(`Give a ${kind} from ${shown(min)} to ${shown(max)}.`);
    },
    write: plain,
  };
}

/** A value that may be left out: nothing, or blanks. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return {
    initial: undefined,
    read: (text) => (text.trim() === "" ? undefined : field.read(text)),
    write: (value) => (value === undefined ? "" : field.write(value)),
  };
}

/** One of some words. */
export function choice<T extends string>(initial: T, options: readonly T[]): Field<T> {
  return {
    initial,
    read: (text) => {
      const found = options.find((option) => option === text);
      if (found === undefined) throw new InvalidValue(`Choose one of ${options.join(", ")}.`);
      return found;
    },
    write: (value) => value,
  };
}

/** Some of some words, in the order of `options`, and at least `min` of them. */
export function subset<T extends string>(
  initial: readonly T[],
  options: readonly T[],
  min = 1,
): Field<readonly T[]> {
  return {
    initial,
    read: (text) => {
      const words = text.split(/[\s,]+/).filter((word) => word !== "");
      const unknown = words.find((word) => !options.some((option) => option === word));
      if (unknown !== undefined)
        throw new InvalidValue(`Choose among ${options.join(", ")}: “${unknown}” is not among them.`);
      if (words.length < min) throw new InvalidValue(`Choose at least ${min === 1 ? "one" : min}.`);
      return options.filter((option) => words.includes(option));
    },
    write: (values) => values.join(","),
  };
}

/**
 * A list of numbers, as pasted from anywhere: separated by commas, semicolons, blanks or lines, and within brackets.
 */
export function numberList(
  initial: readonly number[],
  check: (values: readonly number[]) => void,
): Field<readonly number[]> {
  return {
    initial,
    read: (text) => {
      const words = text.split(/[\s,;[\]]+/).filter((word) => word !== "");
      const values = words.map((word) => {
        const value = Number(word);
        if (!Number.isFinite(value))
          throw new InvalidValue(`“${word}” is not a number: give numbers like 0.3, with commas between.`);
        return value;
      });
      check(values);
      return values;
    },
    write: (values) => values.map(plain).join(", "),
  };
}

/** A number as people write it: 1e5, 100000, 100,000 or 100 000; NaN for anything else. */
function parseNumber(text: string): number {
  const plain = text.trim().replace(/(?<=\d)[, _\u00a0\u202f](?=\d{3}(\D|$))/g, "");
  return plain === "" ? NaN : Number(plain);
}

/** A number as somebody would type it, which reads back as the same number: 0.05, 1e-6. */
export function plain(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
}

function shown(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3
    ? plain(value)
    : value.toLocaleString("en", { maximumSignificantDigits: 10 });
}
