"""The guide, the notebook and the READMEs, run as they are written."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ldp_pca.estimators

ROOT = Path(__file__).parents[2]


def run(path: Path) -> dict[str, Any]:
    """Run the blocks of Python in a document one after the other, in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path):
        exec(compile(block, str(path), "exec"), names)  # noqa: S102 (what the test is for)
    return names


def blocks(path: Path) -> list[str]:
    """The blocks of Python in a document, each in its own lines: so that a traceback has the line of the document."""
    text = path.read_text(encoding="utf-8")
    found = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert found, f"{path} has no code"
    return ["\n" * text.count("\n", 0, block.start(1)) + block.group(1) for block in found]


def checked(*command: object) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_guide_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(ROOT / "docs" / "start" / "python.md")
    assert (tmp_path / "components.png").stat().st_size > 10_000
    recovery, activities = names["recovery"], names["activities"]
    # It draws and prints the components that the records were made with.
    assert {*activities[:5], *activities[6:10]} <= set(names["sparse"].support)
    assert recovery.confidence.upper < 0.1
    assert names["missed"] < 0.1
    assert all(names["prediction"].recoverable)


@pytest.mark.parametrize("document", ["README.md", "python/README.md"])
def test_the_readme_does_what_it_says(document: str) -> None:
    recovery = run(ROOT / document)["recovery"]
    assert recovery.components.shape == (2, 5)
    assert recovery.predicted.sin_theta_squared < 0.1


def test_examples_in_docstrings_give_what_they_say() -> None:
    outcome = doctest.testmod(ldp_pca.estimators)
    assert (outcome.failed, outcome.attempted > 0) == (0, True)


def test_the_notebook_shows_what_it_computes() -> None:
    checked(sys.executable, ROOT / "scripts" / "notebook.py", "--check")


def test_what_documents_show_is_strictly_typed(tmp_path: Path) -> None:
    for document in ("docs/start/python.md", "README.md", "python/README.md"):
        name = document.replace("/", "_").replace(".md", ".py").lower()
        (tmp_path / name).write_text("".join(blocks(ROOT / document)), encoding="utf-8")
    cells = json.loads((ROOT / "docs" / "start" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (tmp_path / "notebook.py").write_text("\n".join(code), encoding="utf-8")
    for file in sorted(tmp_path.glob("*.py")):
        checked(sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", file)
    # The packages that the notebook's data come with have no types, and pyright infers wrong ones.
    files = sorted(set(tmp_path.glob("*.py")) - {tmp_path / "notebook.py"})
    checked("node", ROOT / "node_modules" / "pyright" / "index.js", "--pythonpath", sys.executable, *files)
