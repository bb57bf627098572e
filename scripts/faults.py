#!/usr/bin/env python3
"""Applies the faults of tests/faults.toml one by one, and names the test that notices each, and the ring it runs in.

    python3 scripts/faults.py [NAME]...     (all without names)

Works in a copy of the checkout, target/faults/tree. Faults in Rust that are expressions or statements are built once,
all of them, each behind a switch; one of kind "text" takes a build of its own, and in JavaScript none. With a fault
runs the test that it names, or, where it names none, all unit tests of its crate or all of tests/js, until one fails.

Exit codes: 0 every fault is noticed, 1 one is not, or a test fails without a fault, 2 wrong usage.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from subprocess import PIPE, STDOUT

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "faults"
TREE = WORK / "tree"
SWITCH = b"""//! Which fault is on: the number in FAULT.
#[inline]
pub fn on(number: usize) -> bool {
    static ACTIVE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ACTIVE.get_or_init(|| std::env::var("FAULT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)) == number
}
"""
# The rings, with the unit tests that each runs, as nextest's filters (scripts/test.sh).
RINGS = {"make test": "default()", "make check": "not default()"}
NEXTEST = "cargo nextest run --lib --profile without-laws --ignore-default-filter --fail-fast --color never".split()
# A fault may make a test hang. (A profile that inherits without-laws would not inherit its default filter.)
LIMIT = b"""
[[profile.without-laws.overrides]]
filter = "all()"
slow-timeout = { period = "60s", terminate-after = 2 }
"""
FAILED = re.compile(r"^ *(?:FAIL|TIMEOUT|SIG|ABORT|LEAK-FAIL)[^\[]*\[.*\] .*?(\S+)$", re.MULTILINE)


def main(names):
    faults = tomllib.loads((ROOT / "tests/faults.toml").read_text())["fault"]
    if unknown := set(names) - {fault["name"] for fault in faults}:
        print(f"no fault is named {', '.join(sorted(unknown))}\n\n{__doc__}", file=sys.stderr)
        return 2
    os.environ["PATH"] = f"{ROOT / '.tools/bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["CARGO_TARGET_DIR"] = str(WORK / "build")
    tree = checkout()
    alone = plant(tree, faults)
    write(tree)
    chosen = [(number, fault) for number, fault in enumerate(faults, 1) if not names or fault["name"] in names]
    for folder in sorted({folder_of(fault) for _, fault in chosen}):
        if folder == "pkg/":
            # The tests of pkg/ start programs, which they would build within their own time limit.
            for program in ("ldp-pca-cli", "ldp-pca-research"):
                run(["cargo", "build", "--package", program], TREE)
        tests = [fault.get("test") for _, fault in chosen if folder_of(fault) == folder]
        if failed := first_failure(folder, [] if None in tests else sorted(set(tests))):
            raise SystemExit(f"without a fault, {failed[0]} fails")
    found = {}
    for number, fault in sorted(chosen, key=lambda one: one[1]["name"] in alone):
        name, file = fault["name"], fault["file"]
        write(tree | {file: alone.get(name, tree[file])})
        found[name] = first_failure(folder_of(fault), [fault["test"]] if "test" in fault else [], number)
        test, ring = found[name] or (f"NOT NOTICED by {fault.get('test', 'any test')}: {fault['promise']}", "")
        print(f"{name:48} {ring:10}  {test}", flush=True)
    rings = [one[1] for one in found.values() if one]
    print(f"{len(rings)} of {len(found)} faults are noticed, {rings.count('make test')} of them by `make test`")
    return 0 if len(rings) == len(found) else 1


def folder_of(fault):
    """Of its crate; pkg/ for JavaScript."""
    return "pkg/" if fault["file"].startswith("pkg/") else fault["file"].split("src/")[0]


def checkout():
    """By name what git knows or would add, and the modules that the tests of pkg/ load."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, stdout=PIPE, check=True, text=True).stdout.split("\0")
    names += [str(path.relative_to(ROOT)) for path in (ROOT / "pkg/wasm").rglob("*")]
    tree = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    tree[".config/nextest.toml"] += LIMIT
    return tree


def plant(tree, faults):
    """Puts each fault behind a switch. Of those that have none, by name: the file with this fault alone."""
    alone = {}
    for number, fault in enumerate(faults, 1):
        file, before, old, new = fault["file"], fault.get("before", ""), fault["old"], fault["new"]
        original, text = (ROOT / file).read_text(), tree[file].decode()
        if original.count(before + old) != 1:
            raise SystemExit(f"{fault['name']}: {original.count(before + old)} places in {file} have its text")
        # Text that another fault has changed needs a build of its own, too.
        if fault["kind"] == "text" or text.count(before + old) != 1:
            alone[fault["name"]] = original.replace(before + old, before + new).encode()
            continue
        both = f"if crate::fault_switch::on({number}) {{ {new} }} else {{ {old} }}"
        both = f"({both})" if fault["kind"] == "expression" else both
        tree[file] = text.replace(before + old, before + both).encode()
        if (switch := f"{folder_of(fault)}src/fault_switch.rs") not in tree:
            tree[switch] = SWITCH
            tree[f"{folder_of(fault)}src/lib.rs"] += b"\nmod fault_switch;\n"
    return alone


def write(tree):
    """What is the same stays as it is, so that it need not be built again; a module that is gone must not stay."""
    for name, content in tree.items():
        path = TREE / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in TREE.rglob("*.rs"):
        if str(path.relative_to(TREE)) not in tree:
            path.unlink()
    if not (TREE / "node_modules").is_symlink():
        (TREE / "node_modules").symlink_to(ROOT / "node_modules")


def first_failure(folder, tests, number=0):
    """With a fault on, the first of a crate's `tests` that fails (of all without any), and its ring."""
    if folder == "pkg/":
        for test in tests or sorted(path.name for path in (TREE / "tests/js").glob("*.test.js")):
            if run(["node", "--test", "--test-timeout=300000", f"tests/js/{test}"], TREE)[0] != 0:
                return test, "make test"
        return None
    wanted = " + ".join(f"test(={test})" for test in tests) or "all()"
    for ring, of_ring in RINGS.items():
        code, output = run([*NEXTEST, "-E", f"({wanted}) & {of_ring}"], TREE / folder, FAULT=str(number))
        if code == 100 and (failed := FAILED.search(output)):
            return failed[1], ring
        # 4: this ring has none of them.
        if code not in (0, 4):
            raise SystemExit(output)
    return None


def run(command, folder, **environment):
    environment = os.environ | environment
    done = subprocess.run(command, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, errors="replace")
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
