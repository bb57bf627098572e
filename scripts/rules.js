// The repository rules. Fails where a crate depends upwards, where modules depend on each other in a circle, where
// a module of the library knows one that is not below it, where the library has more features than it needs or is more
// than an rlib, where a line is longer than .editorconfig allows, and where a planted fault has lost its place.
//
// usage: node scripts/rules.js

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The crates, from the bottom up. A crate may depend on those of lower floors alone, and no product on research. */
const FLOORS = [
  ["fantope"],
  ["ldp-pca", "ldp-pca-bindgen"],
  ["ldp-pca-dps", "ldp-pca-pictures", "ldp-pca-records", "ldp-pca-simulation"],
  ["ldp-pca-literature", "ldp-pca-page"],
  ["ldp-pca-lab", "ldp-pca-python", "ldp-pca-server"],
  ["ldp-pca-cli", "ldp-pca-studies"],
  ["ldp-pca-research"],
];

/**
 * The modules of the library, from the bottom up. A module knows those of lower floors alone. What tasks are made of
 * has the floor below theirs, in the folder of its subject.
 */
const MODULE_FLOORS = [
  ["bisection"],
  ["binomial", "decimal", "identity", "parallel", "sampling"],
  ["json", "privacy"],
  ["record", "schema"],
  ["centring"],
  ["mechanism"],
  ["law", "lengths::norm_cap", "waves::refinement", "waves::signed_cap"],
  ["task"],
  ["report"],
  ["aggregate", "js", "ledger"],
  ["family"],
  ["covariance"],
  ["prediction"],
  ["recovery"],
  ["components", "waves"],
  ["lengths"],
  ["error"],
  ["internal"],
];

/** The library's features. Each feature is one more way to build it, which needs tests. */
const FEATURES = ["client", "default", "js"];

/** Generated, or lists of texts. */
const LONG_LINES =
  /^(tests\/vectors\/|research\/docs\/results\/|crates\/server\/src\/routes\/openapi\.json|package-lock\.json|fuzz\/Cargo\.lock)/;
const TEXTS = /\.(rs|md|js|ts|py|pyi|sh|css|html)$|^Makefile$/;

const run = (command, ...rest) =>
  execFileSync(command, rest, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });

function dependencies(packages) {
  const floor = new Map(FLOORS.flatMap((names, floor) => names.map((name) => [name, floor])));
  const unknown = packages.filter(({ name }) => !floor.has(name));
  const found = unknown.map(({ name }) => `${name}: no floor is given for it here`);
  const isResearch = ({ manifest_path: path }) => relative(ROOT, path).startsWith("research");
  const research = new Set(packages.filter(isResearch).map(({ name }) => name));
  // The lab has the page's module with every method.
  for (const { name, dependencies } of packages.filter(({ name }) => !research.has(name) && name !== "ldp-pca-lab")) {
    const taken = dependencies.filter((other) => research.has(other.name));
    found.push(...taken.map((other) => `${name} depends on ${other.name}, which is research`));
  }
  for (const { name, dependencies } of packages) {
    for (const { name: other, kind } of dependencies) {
      if (kind === "dev" || !floor.has(other) || floor.get(other) < floor.get(name)) continue;
      found.push(`${name} depends on ${other}, which is not below it`);
    }
  }
  return found;
}

function features(packages) {
  const { features } = packages.find(({ name }) => name === "ldp-pca");
  const more = Object.keys(features).filter((name) => !FEATURES.includes(name));
  const found = more.map((name) => `ldp-pca has the feature ${name}: can the code be without it?`);
  if (features.default?.length) found.push(`ldp-pca has default features: ${features.default}`);
  return found;
}

/**
 * The library is an rlib alone. Where it is a cdylib too, its file has no hash in its name, and of two versions of it
 * in one build one overwrites the other.
 */
function libraryKinds(packages) {
  const { targets } = packages.find(({ name }) => name === "ldp-pca");
  const kinds = targets.filter(({ kind }) => kind.some((one) => /lib$/.test(one))).flatMap((one) => one.crate_types);
  return kinds.join() === "lib" ? [] : [`ldp-pca is built as ${kinds}: it is to be a lib alone`];
}

/** The modules of a crate by path (`store::folder`), each with its file and its code without tests. */
function modulesOf(entry) {
  const modules = new Map();
  const visit = (path, file) => {
    const text = production(readFileSync(file, "utf8"));
    modules.set(path.join("::"), { path, file, text });
    const folder = /(^|\/)(lib|main|mod)\.rs$/.test(file) ? dirname(file) : file.replace(/\.rs$/, "");
    for (const [, name] of text.matchAll(/^\s*(?:pub(?:\([a-z ]+\))? )?mod ([a-z_0-9]+);/gm)) {
      const places = [join(folder, `${name}.rs`), join(folder, name, "mod.rs")];
      const child = places.find((place) => existsSync(place));
      if (child) visit([...path, name], child);
    }
  };
  visit([], entry);
  return modules;
}

/** Without comments, texts and tests, which are the end of a file or a module of their own. */
function production(text) {
  const code = text
    .replace(/\/\/.*$/gm, "")
    .replace(/"(?:[^"\\]|\\.)*"/gs, '""')
    .replace(/#\[cfg\((?:all\()?test[^\n]*\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+;/g, "");
  const tests = code.search(/#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+ \{/);
  return tests < 0 ? code : code.slice(0, tests);
}

/** The paths that a `use` tree stands for: `a::{b, c::d}` is `a::b` and `a::c::d`. */
function pathsOf(tree) {
  const list = (text) => text.split(",").map((path) => path.trim()).filter(Boolean);
  const whole = (_, before, paths) => list(paths).map((path) => before + path).join();
  // The innermost braces come first.
  const flat = tree.replace(/([\w:]*)\{([^{}]*)\}/, whole);
  return flat === tree ? list(tree.replace(/\s+as\s+\w+/g, "")) : pathsOf(flat);
}

/** The modules that each module takes names from: module -> module -> names, each from where it is declared. */
function arrowsOf(modules) {
  const absolute = (from, path) => {
    const parts = path.split("::").map((part) => part.trim());
    if (parts[0] === "crate") return parts.slice(1);
    if (parts[0] === "self") return [...from.path, ...parts.slice(1)];
    const up = parts.findIndex((part) => part !== "super");
    if (up > 0) return [...from.path.slice(0, -up), ...parts.slice(up)];
    return modules.has([...from.path, parts[0]].join("::")) ? [...from.path, ...parts] : undefined;
  };
  const again = new Map();
  for (const [name, module] of modules) {
    const names = new Map();
    for (const [, tree] of module.text.matchAll(/\bpub(?:\([a-z ]+\))? use ([^;]+);/g)) {
      for (const path of pathsOf(tree)) {
        const target = absolute(module, path);
        if (target) names.set(target.at(-1), target);
      }
    }
    again.set(name, names);
  }
  const origin = (target, seen = 0) => {
    for (let length = target.length; length >= 0; length--) {
      const name = target.slice(0, length).join("::");
      if (!modules.has(name)) continue;
      const further = again.get(name).get(target[length]);
      const next = further && [...further, ...target.slice(length + 1)];
      return next && seen < 9 ? origin(next, seen + 1) : [name, target[length] ?? "*"];
    }
    return undefined;
  };
  const arrows = new Map();
  for (const [name, module] of modules) {
    const to = new Map();
    const all = [...module.text.matchAll(/(pub(?:\([a-z ]+\))? )?\buse ([^;]+);/g)];
    const uses = all.filter(([, isPublic]) => !isPublic);
    const inline = module.text.replace(/\buse [^;]+;/g, "").matchAll(/\b((?:crate|super)(?:::\w+)+)/g);
    for (const path of [...uses.flatMap(([, , tree]) => pathsOf(tree)), ...[...inline].map(([, path]) => path)]) {
      const target = absolute(module, path);
      const [found, item] = (target && origin(target)) ?? [];
      if (found === undefined || found === name || related(name, found)) continue;
      to.set(found, (to.get(found) ?? new Set()).add(item));
    }
    arrows.set(name, to);
  }
  return arrows;
}

/** A module and the ones inside it are one: they may know each other. */
const related = (left, right) =>
  left === "" || right === "" || left.startsWith(`${right}::`) || right.startsWith(`${left}::`);

/** The modules in circles, and those between two of them: what is left without the first and the last ones. */
function circleOf(arrows) {
  const left = new Set(arrows.keys());
  const isBetween = (name) => {
    const others = [...left].filter((other) => other !== name);
    return others.some((other) => arrows.get(name).has(other)) && others.some((other) => arrows.get(other).has(name));
  };
  for (let ends = [""]; ends.length > 0; ends.forEach((name) => left.delete(name))) {
    ends = [...left].filter((name) => !isBetween(name));
  }
  return left;
}

function circles(packages) {
  const entries = packages.flatMap(({ targets }) => targets).filter(({ kind }) => /lib|bin/.test(kind));
  return entries.flatMap(({ src_path: entry }) => {
    const modules = modulesOf(entry);
    const arrows = arrowsOf(modules);
    const circle = circleOf(arrows);
    const file = (name) => relative(ROOT, modules.get(name).file);
    return [...circle].flatMap((from) =>
      [...arrows.get(from)]
        .filter(([to]) => circle.has(to))
        .map(([to, items]) => `a circle of modules: ${file(from)} -> ${file(to)}: ${[...items].sort().join(", ")}`),
    );
  });
}

/** What modules of the library take from others that are not below them. */
function floors(packages) {
  const { targets } = packages.find(({ name }) => name === "ldp-pca");
  const modules = modulesOf(targets.find(({ kind }) => kind.includes("lib")).src_path);
  const floor = new Map(MODULE_FLOORS.flatMap((names, floor) => names.map((name) => [name, floor])));
  // A module without a floor of its own is on that of the module around it.
  const floorOf = (name) => floor.get(name) ?? (name.includes("::") ? floorOf(name.replace(/::\w+$/, "")) : undefined);
  const folderOf = (name) => name.split("::")[0];
  const arrows = [...arrowsOf(modules)].flatMap(([from, to]) => [...to].map(([to, items]) => ({ from, to, items })));
  const unknown = arrows.flatMap(({ from, to }) => [from, to]).filter((name) => floorOf(name) === undefined);
  if (unknown.length > 0) return [...new Set(unknown.map(folderOf))].map((name) => `src/${name}: it has no floor here`);
  const isBelow = ({ from, to }) =>
    floorOf(to) < floorOf(from) || (folderOf(from) === folderOf(to) && floorOf(to) === floorOf(from));
  const found = arrows.filter((arrow) => !isBelow(arrow));
  return found.map(({ from, to, items }) => `${from} is not above ${to}: it takes ${[...items].sort().join(", ")}`);
}

/** The lines that can be broken: not those between fences in Markdown, where commands are as people type them. */
function breakable(file, lines) {
  let fenced = false;
  return lines.map((line) => {
    const fence = file.endsWith(".md") && /^\s*(```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    // A row of a table, the title of a test, and JSON.
    const whole = /^\s*((\/\/[/!]|#|\*)? ?\||test\(["`]|\]\}|r#"\{|"mechanism": )/.test(line);
    // One word, as a link, has no place to be broken at.
    const word = !/\S\s+\S/.test(line.trim().replace(/^(\/\/[/!]?|#|[-*]|\[[^\]]*\]:) /, ""));
    return !fenced && !whole && !word;
  });
}

function longLines() {
  const limit = Number(/max_line_length = (\d+)/.exec(readFileSync(join(ROOT, ".editorconfig"), "utf8"))[1]);
  const files = run("git", "ls-files").split("\n").filter((file) => TEXTS.test(file) && !LONG_LINES.test(file));
  const found = [];
  for (const file of files) {
    const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
    const counts = breakable(file, lines);
    lines.forEach((line, at) => {
      if ([...line].length > limit && counts[at]) {
        found.push(`${file}:${at + 1}: ${[...line].length} characters, and ${limit} are the most`);
      }
    });
  }
  return found;
}

/** Faults that `make faults` could no longer plant. */
function staleFaults() {
  const faults = readFileSync(join(ROOT, "tests/faults.toml"), "utf8").split("[[fault]]").slice(1);
  return faults.flatMap((fault) => {
    const of = (key) => {
      const [, long, short] = new RegExp(`^${key} = (?:'''(.*?)'''|"(.*?)")$`, "ms").exec(fault) ?? [];
      return long ?? short ?? "";
    };
    const file = join(ROOT, of("file"));
    const places = existsSync(file) ? readFileSync(file, "utf8").split(of("before") + of("old")).length - 1 : 0;
    return places === 1 ? [] : [`tests/faults.toml: ${of("name")}: ${places} places in ${of("file")} have its text`];
  });
}

const { packages } = JSON.parse(run("cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"));
const checks = [dependencies, features, libraryKinds, circles, floors, longLines, staleFaults];
const problems = checks.flatMap((check) => check(packages));
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  console.log("the repository rules hold: nothing depends upwards, no circle of modules, no feature or line too many");
}
