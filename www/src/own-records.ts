// The visitor's own records, which the charts can show in place of made-up ones.

/** The facts about the records that the charts use; none is about a single record. */
export interface OwnRecords {
  /** The file's name. */
  readonly name: string;
  readonly rows: number;
  readonly dimension: number;
  /** Their names. */
  readonly features: readonly string[];
  /** Eigenvalues of the second moments, descending. */
  readonly eigenvalues: readonly number[];
  /** The mean of `x x^T` over the records, d × d numbers. */
  readonly secondMoment: Float64Array;
  /** The module that draws estimates from the second moments. */
  readonly module: WebAssembly.Module;
}

/** Settings of made-up records: the features that carry components are all of them by default. */
export interface MadeUp {
  readonly dimension: number;
  readonly rank: number;
  readonly sparsity?: number | undefined;
}

/** The settings for records of the visitor's own, if there are any: they have other features, and components on all. */
export function inPlace<S extends MadeUp>(settings: S, own: OwnRecords | undefined): S {
  const { dimension } = own ?? settings;
  return own ? { ...settings, dimension, sparsity: dimension } : settings;
}

/**
 * The settings for records of the visitor's own, if there are any, with no more components than there can be: they were
 * perhaps chosen for the other kind of records.
 */
export function about<S extends MadeUp>(
  settings: S,
  own: OwnRecords | undefined,
): S & { readonly own?: OwnRecords | undefined } {
  const found = inPlace(settings, own);
  const { dimension, rank, sparsity = dimension } = found;
  return { ...found, own, rank: Math.min(rank, dimension - 1, sparsity) };
}

/** The visitor's records, while the charts are about them. */
export class RecordsInUse {
  #current: OwnRecords | undefined;
  readonly #onChange: (() => void)[] = [];

  get current(): OwnRecords | undefined {
    return this.#current;
  }

  /** `undefined` returns to made-up records. */
  use(records: OwnRecords | undefined): void {
    if (records === this.#current) return;
    this.#current = records;
    // style.css shows and hides the parts that are for one kind of records only.
    document.body.classList.toggle("own-records", records !== undefined);
    for (const listener of this.#onChange) listener();
  }

  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }
}
