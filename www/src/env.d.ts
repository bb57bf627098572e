/** The address of the worker's module: see vite.config.ts. */
declare module "worker-url" {
  const url: string;
  export default url;
}

/** The half of the package that starts modules: `pkg/instantiate.js`. */
declare module "ldp-pca/instantiate" {
  export function loading<W>(wasm: W): {
    load(source: () => WebAssembly.Module): Promise<void>;
    call<T>(work: (wasm: W) => T): T;
  };
}

/** What `crates/lab/src/records.rs` exports. */
declare module "ldp-pca/records-module" {
  export const imports: object;
  export class RecordsReader {
    constructor(options: object, length: number, read: (from: number, to: number) => Uint8Array);
    step(rows: number): number;
    facts(): import("./engine/protocol.js").RecordsFacts & { secondMoment: number[] };
  }
  export function estimateLike(secondMoment: Float64Array, options: object): [estimate: number[], noise: number];
  export function trialLike(secondMoment: Float64Array, options: object): import("./engine/protocol.js").LikeTrial;
}

/** What `crates/lab/src/waves.rs` exports. */
declare module "ldp-pca/waves-module" {
  export const imports: object;
  export function twoWaves(
    dimension: number,
    rank: number,
    signals: Float64Array,
    bulk: number,
    epsilon: number,
    records: number,
  ): import("./engine/protocol.js").TwoWaves;
}

/** Of workers alone. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
