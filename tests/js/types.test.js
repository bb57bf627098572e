// TypeScript's errors for a wrong program, with the oldest version that is supported and with a new one. (That right
// programs compile and wrong ones do not, `npm run test:types` tells.)

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { scratchFolder } from "./folder.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TYPES = join(ROOT, "tests/types");

/** A line of a program, and what must be in the error about it. */
const LINES = {
  'randomizer.randomize({ height: 1, "plan \\"of\\" today": null });': /Property 'device' is missing in type/,
  'randomizer.randomize({ height: 1, device: "phone" });': /Property '"plan \\"of\\" today"' is missing in type/,
  'randomizer.randomize({ height: 1, "plan \\"of\\" today": null, device: null, width: 1 });':
    /'width' does not exist in type/,
  'randomizer.randomize({ ...record, "plan \\"of\\" today": "gold" });':
    /'"gold"' is not assignable to type '"free" \| "paid" \| null \| undefined'/,
  'await ledger.report(randomizer, { height: 1, device: "phone" }, { url: "/" });':
    /Property '"plan \\"of\\" today"' is missing in type/,
};

const PROGRAM = `import { PrivacyLedger, Randomizer, Task } from "ldp-pca";
import { task, type TaskRecord } from ${JSON.stringify(join(TYPES, "survey.js"))};
const randomizer = new Randomizer(Task.parse(task), { maxEpsilon: 2 });
const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
declare const record: TaskRecord;
`;

/** What a version of TypeScript says of these files, by name, as strict as the package is compiled. */
function compiled(t, version, files) {
  const folder = scratchFolder(t);
  const { compilerOptions } = JSON.parse(readFileSync(join(TYPES, "tsconfig.json"), "utf8"));
  for (const paths of Object.values(compilerOptions.paths)) paths[0] = join(TYPES, paths[0]);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const words = [join(ROOT, "node_modules", version, "bin/tsc"), "--project", folder, "--pretty", "false"];
  return spawnSync(process.execPath, words, { encoding: "utf8" }).stdout;
}

for (const version of ["typescript", "typescript-5.0"]) {
  test(`${version} names the column that is wrong`, (t) => {
    const said = compiled(t, version, { "program.ts": PROGRAM + Object.keys(LINES).join("\n") });
    const errors = said.split(/^(?=\S*program\.ts\()/m);
    const first = PROGRAM.split("\n").length;
    for (const [index, [line, part]] of Object.entries(LINES).entries()) {
      const error = errors.find((error) => error.includes(`program.ts(${first + index},`));
      assert.match(error ?? "no error", part, line);
    }
  });

  test(`the README's program compiles with ${version}, as strict as the package`, (t) => {
    const [, code] = readFileSync(join(ROOT, "pkg/README.md"), "utf8").match(/^```ts\n(.*?)^```/ms);
    // As `ldp-pca task types` writes them.
    const task = readFileSync(join(ROOT, "examples/app-task.json"), "utf8");
    const types = `export const task = ${task.trim()} as const;\nexport const digest = "f42c";\n`;
    const wrong = 'takePart({ running: 1, cycling: "", reading: null, plan: "gold" });';
    const right = wrong.replace("gold", "paid");
    const program = [code, right, "// @ts-expect-error: no such plan", wrong].join("\n");
    assert.equal(compiled(t, version, { "task.ts": types, "program.ts": program }), "");
  });
}

test("every code that is thrown is in the types, in the table, and in the type of its class", () => {
  const read = (file) => readFileSync(join(ROOT, file), "utf8");
  const texts = (folder, ending) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => file.endsWith(ending) && !file.startsWith("wasm")).map((file) => read(join(folder, file)));
  const found = (text, pattern) => [...text.matchAll(pattern)].map(([, code]) => code);
  const types = read("pkg/errors.d.ts");
  const classes = read("pkg/errors.js");
  // Those of the classes, and the others in the union.
  const lists = found(types, /(?:readonly code:|type LdpPcaErrorCode =)([^;]*);/g);
  const stated = lists.flatMap((list) => found(list, /(?<!\[)"(.+?)"/g));
  assert.deepEqual(found(types, /^ \* \| `([\w-]+)` \| \{@link \w+Error\}/gm).sort(), stated.toSorted());
  const thrown = [
    ...texts("pkg", ".js").flatMap((text) => found(text, /\b(?:failure|LdpPcaError)\(\s*"([a-z-]+)"/g)),
    ...texts("src/js", ".rs").flatMap((text) => found(text, /(?:=> |\bfailure\()"([a-z-]+)"/g)),
  ];
  const families = [...classes.matchAll(/family\(\s*"(\w+)",([^;]*)\);/g)].map(([, name, codes]) => [
    `${name}Error`,
    codes.match(/"(.+?)"/)[1].split(" "),
  ]);
  assert.ok(thrown.length > 50 && families.length > 7);
  for (const code of [...thrown, ...families.flatMap(([, codes]) => codes)]) assert.ok(stated.includes(code), code);
  for (const [name, codes] of families) {
    const [, declared] = types.match(new RegExp(`class ${name} [^}]*?readonly code:([^;]*);`));
    assert.deepEqual(found(declared, /"(.+?)"/g).sort(), codes.toSorted(), name);
  }
});
