// Finds the faults in the client's JavaScript that the tests in Node would not notice.
//
//     node scripts/mutants.js [--json] [--list] [FILE...]        (files of pkg/, by name; those of FILES by default)
//     node scripts/mutants.js --faults FILE.json                 (for mutants/: those of faults.toml that are in pkg/)
//
// Every fault ("mutant") is written into one copy of pkg/, in target/mutants/javascript, each behind a switch that an
// environment variable turns: nothing is built per mutant. A first run of every file of tests shows which switches it
// reaches. Then each mutant runs the files that reach it, the fastest first, until a test fails or hangs. What changes
// nothing that a test could see is listed in tests/mutants/javascript.json, with the reason. Ends with 1 if a mutant
// survives that is not listed, or one is listed that no longer exists or is caught. --list shows the mutants and runs
// nothing.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

import { parseAst } from "vite";

import { binary } from "../tests/browser/aggregator.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COPY = join(ROOT, "target/mutants/javascript");
const LISTED = join(ROOT, "tests/mutants/javascript.json");

const FILES = [
  "boundary.js",
  "ledger.js",
  "submit.js",
  "worker.js",
  "worker-thread.js",
  "reach.js",
  "report.js",
  "checks.js",
  "errors.js",
];
/** Files of tests that need nothing but Node and are over in seconds. */
const TESTS = [
  "api",
  "checks",
  "every-record",
  "fetch",
  "ledger",
  "ledger-budget",
  "ledger-relay",
  "ledger-send",
  "ledger-storage",
  "reach",
  "refinement",
  "relay",
  "relay-schedules",
  "secrets",
  "submit",
  "submit-steps",
  "testing",
  "vectors",
  "worker",
];

const FLIPPED = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "==": ["!="],
  "!=": ["=="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "**": ["*"],
  "%": ["*"],
  "<<": [">>"],
  ">>": ["<<"],
  ">>>": ["<<"],
  "&": ["|"],
  "|": ["&"],
  "^": ["&"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "*=": ["/="],
  "^=": ["&="],
  "??=": ["="],
  "||=": ["="],
  "&&=": ["="],
};
const COMPARING = new Set(["<", "<=", ">", ">=", "===", "!==", "==", "!="]);
const COUNTING = new Set(["+", "-", "*", "/", "**", "%"]);

/** The switches: the active one by the environment, and a note of those that were reached. */
const SWITCH = `
const { env } = process;
const active = Number(env.LDP_PCA_MUTANT);
const note = env.LDP_PCA_REACHED && process.getBuiltinModule("node:fs").appendFileSync;
const reached = new Set();
export function $on(number) {
  if (note && !reached.has(number)) note(env.LDP_PCA_REACHED, number + "\\n");
  reached.add(number);
  return number === active;
}
`;

/** The text of a file with its mutants behind switches; `add` notes one and gives its number. */
function instrumented(source, add) {
  const line = (node) => source.slice(source.lastIndexOf("\n", node.start - 1) + 1).split("\n")[0].trim();
  const raw = (node) => source.slice(node.start, node.end);
  const short = (text) => text.replace(/\s+/g, " ");
  const place = (node) => source.slice(0, node.start).split("\n").length;
  const noted = (node, from, to) =>
    add({ line: line(node), place: place(node), mutation: `${short(from)} → ${short(to)}` });

  /** The replacements of an expression, each a mutant. */
  function alternatives(node, parent, key) {
    const { left, operator, right, type, value } = node;
    const found = [];
    if (type === "BinaryExpression" || type === "LogicalExpression") {
      for (const other of FLIPPED[operator] ?? []) found.push(`${raw(left)} ${other} ${raw(right)}`);
      if (operator === "??") found.push(raw(left), raw(right));
      if (operator === "instanceof" || operator === "in") found.push(`!(${raw(node)})`);
    } else if (type === "AssignmentExpression") {
      for (const other of FLIPPED[operator] ?? []) found.push(`${raw(left)} ${other} ${raw(right)}`);
    } else if (type === "UnaryExpression" && (operator === "!" || operator === "-" || operator === "~")) {
      found.push(raw(node.argument));
    } else if (type === "UpdateExpression") {
      found.push(raw(node).replace(operator, operator === "++" ? "--" : "++"));
    } else if (type === "TemplateLiteral" && parent.type !== "TaggedTemplateExpression") {
      found.push('""');
    } else if (type === "Literal" && typeof value === "number") {
      found.push(`${value + 1}`, `${value - 1}`);
    } else if (type === "Literal" && typeof value === "string") {
      found.push(value === "" ? '"x"' : '""');
    } else if (type === "Literal" && typeof value === "boolean") {
      found.push(`${!value}`);
    }
    const tested =
      key === "test" &&
      ["IfStatement", "ConditionalExpression", "WhileStatement", "DoWhileStatement", "ForStatement"].includes(
        parent.type,
      );
    if (tested && !COMPARING.has(operator) && operator !== "!" && operator !== "instanceof" && operator !== "in")
      found.push(`!(${raw(node)})`);
    const given =
      (parent.type === "ReturnStatement" && key === "argument") ||
      (parent.type === "ArrowFunctionExpression" && key === "body" && type !== "BlockStatement");
    if (given) {
      if (raw(node) !== "undefined") found.push("undefined");
      if (type === "LogicalExpression" && operator !== "??") found.push(`!(${raw(node)})`);
      if (type === "BinaryExpression" && COUNTING.has(operator)) found.push(`(${raw(node)}) + 1`, `(${raw(node)}) - 1`);
    }
    return [...new Set(found)].filter((text) => text !== raw(node));
  }

  /** Whether a node is an expression that can stand in parentheses. */
  function isReplaceable(node, parent, key) {
    if (/^(Import|Export)/.test(parent.type) || key === "id" || key === "callee" || key === "tag" || key === "quasi")
      return false;
    if (key === "key" && !parent.computed) return false;
    return !(parent.type === "ExpressionStatement" && parent.directive);
  }

  const DROPPED = new Set([
    "CallExpression",
    "AwaitExpression",
    "AssignmentExpression",
    "UpdateExpression",
    "ChainExpression",
  ]);

  /** Whether a statement may be left out. */
  function isDroppable({ type, expression, argument }) {
    if (type === "ThrowStatement" || type === "ContinueStatement" || type === "BreakStatement") return true;
    if (type === "ReturnStatement") return argument === null;
    if (type !== "ExpressionStatement" || expression.callee?.type === "Super") return false;
    return DROPPED.has(expression.type) || (expression.type === "UnaryExpression" && expression.operator === "void");
  }

  /** A branch of an `if`, which can be left out as a whole. */
  function branch(node, text) {
    return `{ if (!$on(${noted(node, raw(node), "{}")})) ${text} }`;
  }

  function emit(node, parent, key) {
    let text = "";
    let end = node.start;
    for (const [name, child] of childrenOf(node)) {
      text += source.slice(end, child.start) + emit(child, node, name);
      end = child.end;
    }
    text += source.slice(end, node.end);
    if (node.type === "ExpressionStatement" && node.expression.type === "AwaitExpression") {
      const { argument } = node.expression;
      text = `if ($on(${noted(node, raw(node), `${raw(argument)};`)})) { ${raw(argument)}; } else ${text}`;
    }
    if (
      parent?.type === "IfStatement" &&
      (key === "consequent" || (key === "alternate" && node.type !== "IfStatement"))
    )
      return branch(node, text);
    if (isDroppable(node)) return `{ if (!$on(${noted(node, raw(node), ";")})) { ${text} } }`;
    if (!parent || !isReplaceable(node, parent, key)) return text;
    // Only one is active at a time: what replaces a node has no switches within.
    return alternatives(node, parent, key).reduceRight(
      (otherwise, other) => `($on(${noted(node, raw(node), other)}) ? (${other}) : ${otherwise})`,
      alternatives(node, parent, key).length > 0 ? `(${text})` : text,
    );
  }

  return `import { $on } from "./$switch.js";\n${emit(parseAst(source))}`;
}

/** The nodes within a node, in their order, each with the name it has there. */
function childrenOf(node) {
  const found = [];
  for (const [name, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child?.type === "string") found.push([name, child]);
  }
  found.sort(([, left], [, right]) => left.start - right.start || left.end - right.end);
  // Of nodes that start at the same place, as in `{ name }`, the longer one counts.
  return found.filter(([, { start }], index) => start !== found[index + 1]?.[1].start);
}

/** The copy of the package and of its tests; gives the mutants. */
function prepare(files) {
  rmSync(COPY, { recursive: true, force: true });
  mkdirSync(COPY, { recursive: true });
  for (const folder of ["pkg", "tests", "scripts"]) cpSync(join(ROOT, folder), join(COPY, folder), { recursive: true });
  for (const name of ["package.json", "Cargo.toml", "README.md", "examples/task.json"]) {
    cpSync(join(ROOT, name), join(COPY, name));
  }
  symlinkSync(join(ROOT, "node_modules"), join(COPY, "node_modules"));
  writeFileSync(join(COPY, "pkg/$switch.js"), SWITCH);
  const mutants = [];
  for (const file of files) {
    const add = (mutant) => mutants.push({ number: mutants.length + 1, file, ...mutant });
    writeFileSync(join(COPY, "pkg", file), instrumented(readFileSync(join(ROOT, "pkg", file), "utf8"), add));
  }
  return mutants;
}

/** Runs a file of tests, to its first failure: `undefined` if there is none. */
function run(test, environment, limit) {
  return new Promise((resolve) => {
    const words = ["--test-reporter=tap", join(COPY, "tests/js", `${test}.test.js`)];
    const child = spawn(process.execPath, words, {
      cwd: COPY,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let found;
    const over = (why) => {
      found ??= why;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(over, limit, "it hangs");
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const failed = text.match(/^\s*not ok \d+ - (.*)$/m);
      if (failed) over(failed[1]);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve(found ?? (code === 0 ? undefined : `it ends with ${code}`));
    });
  });
}

/** `work(one)` for all, so many at a time. */
async function inParallel(all, work) {
  const queue = [...all];
  const lanes = Array.from({ length: availableParallelism() }, async () => {
    for (let one; (one = queue.shift()) !== undefined; ) await work(one);
  });
  await Promise.all(lanes);
}

/** Applies each fault to a copy of its own, and gives the test that notices it, if there is one, by its name. */
async function judgeFaults(faults, environment) {
  const found = {};
  prepare([]);
  for (const { name, file, before = "", old, new: other } of faults) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const parts = text.split(before + old);
    if (parts.length !== 2) throw new Error(`${name}: ${parts.length - 1} places in ${file} have its text`);
    writeFileSync(join(COPY, file), parts.join(before + other));
    found[name] = null;
    // The file's own first.
    const isOther = (test) => !test.startsWith(basename(file, ".js"));
    for (const test of TESTS.toSorted((one, other) => isOther(one) - isOther(other))) {
      const failure = await run(test, environment, 120_000);
      if (!failure) continue;
      found[name] = `${test}.test.js: ${failure}`;
      break;
    }
    writeFileSync(join(COPY, file), text);
  }
  return found;
}

function listed() {
  return existsSync(LISTED) ? JSON.parse(readFileSync(LISTED, "utf8")) : [];
}

async function main(words) {
  if (words[0] === "--faults") {
    const faults = JSON.parse(readFileSync(words[1], "utf8"));
    const found = await judgeFaults(faults, { LDP_PCA_BIN: process.env.LDP_PCA_BIN ?? binary() });
    console.log(JSON.stringify(found));
    return 0;
  }
  const json = words.includes("--json");
  const names = words.filter((word) => !word.startsWith("--")).map((word) => word.replace(/^.*\//, ""));
  const files = names.length > 0 ? names : FILES;
  const mutants = prepare(files);
  if (words.includes("--list")) {
    for (const { number, file, place, mutation } of mutants) console.log(`${number} ${file}:${place} ${mutation}`);
    return 0;
  }
  const environment = { LDP_PCA_BIN: process.env.LDP_PCA_BIN ?? binary() };

  const tests = [];
  await inParallel(TESTS.filter((name) => existsSync(join(ROOT, `tests/js/${name}.test.js`))), async (name) => {
    const reached = join(COPY, `${name}.reached`);
    writeFileSync(reached, "");
    const start = performance.now();
    const failure = await run(name, { ...environment, LDP_PCA_REACHED: reached }, 600_000);
    if (failure) throw new Error(`without a mutant, ${name}.test.js fails: ${failure}`);
    const numbers = new Set(readFileSync(reached, "utf8").split("\n").map(Number));
    tests.push({ name, numbers, time: performance.now() - start });
  });
  tests.sort((left, right) => left.time - right.time);

  let done = 0;
  await inParallel(mutants, async (mutant) => {
    for (const { name, numbers, time } of tests.filter(({ numbers }) => numbers.has(mutant.number))) {
      const failure = await run(name, { ...environment, LDP_PCA_MUTANT: `${mutant.number}` }, 4 * time + 5000);
      if (!failure) continue;
      mutant.caught = `${name}.test.js: ${failure}`;
      break;
    }
    done += 1;
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${mutants.length}`);
  });
  if (process.stderr.isTTY) process.stderr.write("\r");

  const known = listed().filter(({ file }) => files.includes(file));
  const isSame = (one, other) => one.file === other.file && one.line === other.line && one.mutation === other.mutation;
  for (const mutant of mutants) mutant.equivalent = known.find((one) => isSame(one, mutant))?.reason;
  const survivors = mutants.filter(({ caught, equivalent }) => !caught && !equivalent);
  const stale = known.filter((one) => !mutants.some((mutant) => isSame(one, mutant) && !mutant.caught));
  const table = files.map((file) => {
    const of = (holds) => mutants.filter((mutant) => mutant.file === file && holds(mutant)).length;
    return {
      file,
      mutants: of(() => true),
      caught: of(({ caught }) => caught),
      equivalent: of(({ caught, equivalent }) => !caught && equivalent),
      survived: of((mutant) => survivors.includes(mutant)),
    };
  });
  if (json) {
    console.log(JSON.stringify({ table, survivors, stale, mutants }, null, 2));
  } else {
    const row = (cells) =>
      console.log(cells.map((cell, index) => (index ? `${cell}`.padStart(12) : cell.padEnd(18))).join(""));
    row(Object.keys(table[0]));
    for (const one of table) row(Object.values(one));
    for (const { file, place, line, mutation } of survivors)
      console.log(`\nsurvived: pkg/${file}:${place}\n    ${line}\n    ${mutation}`);
    for (const { file, line, mutation } of stale)
      console.log(`\nlisted, but caught or gone: pkg/${file}\n    ${line}\n    ${mutation}`);
  }
  return survivors.length + stale.length > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
