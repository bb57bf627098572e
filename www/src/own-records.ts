// Records of the visitor's own, which the charts can be about in place of made-up ones.

/** What the charts take of them: nothing of a single record. */
export interface OwnRecords {
  /** Of the file. */
  readonly name: string;
  readonly rows: number;
  readonly dimension: number;
  /** Eigenvalues of the second moments, descending. */
  readonly eigenvalues: readonly number[];
  /** The mean of `x x^T` over the records, d × d numbers. */
  readonly secondMoment: Float64Array;
  /** The module that draws from them. */
  readonly module: WebAssembly.Module;
}

/** The records that the charts are about, if they are the visitor's. */
export class RecordsInUse {
  #current: OwnRecords | undefined;
  readonly #onChange: (() => void)[] = [];

  get current(): OwnRecords | undefined {
    return this.#current;
  }

  /** `undefined` for made-up ones. */
  use(records: OwnRecords | undefined): void {
    if (records === this.#current) return;
    this.#current = records;
    // What a section has for one kind of records alone: style.css.
    document.body.classList.toggle("own-records", records !== undefined);
    for (const listener of this.#onChange) listener();
  }

  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }
}
