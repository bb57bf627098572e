// The kinds of values that controls hold: how each is read from text, checked, and written back.

/** A value that there cannot be. The message tells a person what to give instead. */
export class Refused extends Error {}

export interface Field<T> {
  /** What it is until somebody says otherwise. */
  readonly fallback: T;
  /** Throws {@link Refused}. `read(write(value))` is `value`. */
  read(text: string): T;
  write(value: T): string;
}

// Any is what lets a record of fields of many types be inferred.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Fields = Readonly<Record<string, Field<any>>>;
export type Values<F extends Fields> = { readonly [N in keyof F]: F[N] extends Field<infer T> ? T : never };

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** A whole number. */
export function whole(fallback: number, { least, most }: Range): Field<number> {
  return {
    fallback,
    read: (text) => {
      const value = parsed(text);
      if (!Number.isSafeInteger(value) || value < least || value > most) {
        throw new Refused(`Give a whole number from ${shown(least)} to ${shown(most)}.`);
      }
      return value;
    },
    write: String,
  };
}

/** A number. */
export function real(fallback: number, { least, most }: Range): Field<number> {
  return {
    fallback,
    read: (text) => {
      const value = parsed(text);
      if (!(value >= least && value <= most)) {
        throw new Refused(`Give a number from ${shown(least)} to ${shown(most)}.`);
      }
      return value;
    },
    write: plain,
  };
}

/** A value that may be left out: nothing, or blanks. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return {
    fallback: undefined,
    read: (text) => (text.trim() === "" ? undefined : field.read(text)),
    write: (value) => (value === undefined ? "" : field.write(value)),
  };
}

/** One of some words. */
export function choice<T extends string>(fallback: T, options: readonly T[]): Field<T> {
  return {
    fallback,
    read: (text) => {
      const found = options.find((option) => option === text);
      if (found === undefined) throw new Refused(`Choose one of ${options.join(", ")}.`);
      return found;
    },
    write: (value) => value,
  };
}

/** Some of some words, in the order of `options`, and at least `least` of them. */
export function subset<T extends string>(
  fallback: readonly T[],
  options: readonly T[],
  least = 1,
): Field<readonly T[]> {
  return {
    fallback,
    read: (text) => {
      const words = text.split(/[\s,]+/).filter((word) => word !== "");
      const unknown = words.find((word) => !options.some((option) => option === word));
      if (unknown !== undefined) throw new Refused(`Choose among ${options.join(", ")}: “${unknown}” is none of them.`);
      if (words.length < least) throw new Refused(`Choose at least ${least === 1 ? "one" : least}.`);
      return options.filter((option) => words.includes(option));
    },
    write: (values) => values.join(","),
  };
}

/** A list of numbers, as pasted from wherever: between commas, semicolons, blanks or lines, and within brackets. */
export function list(
  fallback: readonly number[],
  check: (values: readonly number[]) => void,
): Field<readonly number[]> {
  return {
    fallback,
    read: (text) => {
      const words = text.split(/[\s,;[\]]+/).filter((word) => word !== "");
      const values = words.map((word) => {
        const value = Number(word);
        if (!Number.isFinite(value))
          throw new Refused(`“${word}” is not a number: give numbers like 0.3, with commas between.`);
        return value;
      });
      check(values);
      return values;
    },
    write: (values) => values.map(plain).join(", "),
  };
}

/** A number as people write it: 1e5, 100000, 100,000 or 100 000; NaN for what is none. */
export function parsed(text: string): number {
  const plain = text.trim().replace(/(?<=\d)[, _\u00a0\u202f](?=\d{3}(\D|$))/g, "");
  return plain === "" ? NaN : Number(plain);
}

/** A number as somebody would type it, which is read back as the same: 0.05, 1e-6. */
export function plain(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
}

function shown(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3
    ? plain(value)
    : value.toLocaleString("en", { maximumSignificantDigits: 10 });
}
