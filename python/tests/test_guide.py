"""The guide and the READMEs, run as they are written."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import ldp_pca.estimators

ROOT = Path(__file__).parents[2]


def run(path: Path) -> dict[str, Any]:
    """Run the blocks of Python in a document one after the other, in one namespace."""
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks, f"{path} has no code"
    for block in blocks:
        # Blank lines before it, so that a traceback has the line of the document.
        before = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(before + block.group(1), str(path), "exec"), names)  # noqa: S102 (what the test is for)
    return names


def test_the_guide_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(ROOT / "docs" / "python.md")
    assert (tmp_path / "components.png").stat().st_size > 10_000
    recovery, activities = names["recovery"], names["activities"]
    # It draws and prints the components that the records were made with.
    assert {*activities[:5], *activities[6:10]} <= set(names["sparse"].support)
    assert recovery.confidence.upper < 0.1
    assert names["captured"] > 1.9
    assert all(names["prediction"].recoverable)


@pytest.mark.parametrize("document", ["README.md", "python/README.md"])
def test_the_readme_does_what_it_says(document: str) -> None:
    recovery = run(ROOT / document)["recovery"]
    assert recovery.components.shape == (2, 5)
    assert recovery.predicted.sin_theta_squared < 0.1


def test_examples_in_docstrings_give_what_they_say() -> None:
    outcome = doctest.testmod(ldp_pca.estimators)
    assert (outcome.failed, outcome.attempted > 0) == (0, True)
