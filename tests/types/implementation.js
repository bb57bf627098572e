// Whether the JavaScript of the package has what its declarations say: every value of every entry, every method, and
// the members of what they return. The JavaScript is copied, since beside its declarations TypeScript would read those.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGE = join(ROOT, "pkg");
const TYPES = join(ROOT, "tests/types");

// The classes of the two sides are not each other's, so of what functions return only plain data is compared. Of what a
// constant's texts must have within, the JavaScript knows nothing.
const SHAPE = `
type Callable = (...given: any) => unknown;
type Plain<R> = { [K in keyof R]: Exclude<R[K], Callable> };
type Result<R> = R extends Promise<infer P> ? Promise<Result<P>> : R extends Plain<R> ? R : object;
type Returning<F> = F extends (...given: infer G) => infer R ? (...given: G) => Result<R> : never;
type Methods<T> = { [K in keyof T as K extends string ? (T[K] extends Callable ? K : never) : never]: Returning<T[K]> };
type Class<V, I> = Methods<V> & { prototype: Methods<I> };
type Written<V> = V extends string ? string : V extends object ? { [K in keyof V]: Written<V[K]> } : V;
type Value<V> = V extends Callable ? Returning<V> : V extends { prototype: infer I } ? Class<V, I> : Written<V>;
export type Shape<M> = { [K in keyof M]: Value<M[K]> };
`;
// The files that the builds for WebAssembly make.
const GENERATED = ["ldp_pca.js", "ldp_pca_bg.wasm.js", "ldp_pca_bg.wasm"];

const folder = mkdtempSync(join(tmpdir(), "ldp-pca-implementation-"));
try {
  const { exports } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  cpSync(PACKAGE, join(folder, "pkg"), { recursive: true, filter: (file) => !/\.d\.ts$|\bwasm$/.test(file) });
  writeFileSync(join(folder, "shape.ts"), SHAPE);
  writeFileSync(join(folder, "generated.d.ts"), GENERATED.map((name) => `declare module "*/${name}";\n`).join(""));
  for (const { types, ...entries } of Object.values(exports)) {
    if (!types) continue;
    for (const entry of Object.values(entries)) {
      const program = `
import * as implementation from "./pkg/${entry}";
import * as declared from ${JSON.stringify(join(PACKAGE, types.replace(".d.ts", ".js")))};
import type { Shape } from "./shape.js";
implementation satisfies Shape<typeof declared>;
declared satisfies Record<keyof typeof implementation, unknown>;
`;
      writeFileSync(join(folder, entry.replace(/\.js$/, ".ts")), program);
    }
  }
  const { compilerOptions } = JSON.parse(readFileSync(join(TYPES, "tsconfig.json"), "utf8"));
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, allowJs: true, paths: {} }, include: ["*.ts"] }),
  );
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  process.exitCode = spawnSync(process.execPath, [compiler, "--project", folder], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
