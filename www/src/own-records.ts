// The visitor's own records, which the charts can show in place of made-up ones.

/** The facts about the records that the charts use; none is about a single record. */
export interface OwnRecords {
  /** The file's name. */
  readonly name: string;
  readonly rows: number;
  readonly dimension: number;
  /** Eigenvalues of the second moments, descending. */
  readonly eigenvalues: readonly number[];
  /** The mean of `x x^T` over the records, d × d numbers. */
  readonly secondMoment: Float64Array;
  /** The module that draws estimates from the second moments. */
  readonly module: WebAssembly.Module;
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
