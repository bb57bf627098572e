"""Writes the docstrings of the compiled part into its stub, where editors look for them.

usage: .tools/python/bin/python scripts/stub-docs.py [--check]   (with the wheel installed; --check writes nothing)
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import ldp_pca._native as native

STUB = Path(__file__).parents[1] / "python/ldp_pca/_native.pyi"


def document(nodes: list[ast.stmt], owner: object, indent: str) -> None:
    """Give every class, function and property of these the docstring that it has at run time."""
    seen = set()
    for node in nodes:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        known = getattr(owner, node.name)
        body = [part for part in node.body if not is_text(part) and not is_nothing(part)]
        # Of overloads the first has it.
        text = None if node.name in seen else inspect.getdoc(known)
        seen.add(node.name)
        lines = [] if text is None else text.splitlines()
        inner = indent + "    "
        if len(lines) > 1:
            lines = [lines[0], *(inner + line if line else "" for line in lines[1:]), inner]
        docs = [ast.Expr(ast.Constant("\n".join(lines)))] if lines else []
        node.body = [*docs, *body] or [ast.Expr(ast.Constant(...))]
        if isinstance(node, ast.ClassDef):
            document(node.body, known, inner)


def is_text(node: ast.stmt) -> bool:
    """Whether this is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_nothing(node: ast.stmt) -> bool:
    """Whether this is the body of a stub without a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def ruff(text: str, *arguments: str) -> str:
    """Return the stub as ruff has it."""
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write, or compare."""
    before = STUB.read_text(encoding="utf-8")
    tree = ast.parse(before)
    document(tree.body, native, "")
    after = ruff(ruff(ast.unparse(tree), "check", "--fix", "--select", "I"), "format")
    if "--check" not in sys.argv:
        STUB.write_text(after, encoding="utf-8")
    elif after != before:
        print(f"{STUB.name} has other docstrings than the compiled part: run scripts/stub-docs.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
