"""The types that the package states are those that it has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ldp_pca

ROOT = Path(__file__).parents[2]
PYRIGHT = ROOT / "node_modules" / "pyright" / "index.js"


def run(*command: object) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_strictly_typed() -> None:
    run(sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "-p", "ldp_pca")


def test_pyright_finds_nothing_to_object_to(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text(
        # Spark has its own environment, where nothing but its tests runs.
        json.dumps({"include": [str(Path(ldp_pca.__file__).parent)], "reportMissingImports": False})
    )
    run("node", PYRIGHT, "--project", tmp_path, "--pythonpath", sys.executable)


def test_editors_find_the_docstrings_of_the_compiled_part() -> None:
    run(sys.executable, ROOT / "scripts" / "stub-docs.py", "--check")


def test_the_stubs_say_what_the_compiled_part_has() -> None:
    run(sys.executable, "-m", "mypy.stubtest", "ldp_pca._native")


def test_everything_that_is_offered_is_there_and_documented() -> None:
    for name in ldp_pca.__all__:
        offered = getattr(ldp_pca, name)
        assert name == "__version__" or offered.__doc__, name
        for member in vars(offered) if isinstance(offered, type) and offered.__module__ == "ldp_pca" else ():
            assert member.startswith("_") or getattr(offered, member).__doc__, f"{name}.{member}"
    assert set(ldp_pca.__all__) <= set(dir(ldp_pca))
    assert ldp_pca.estimators.LocalPCA is ldp_pca.LocalPCA
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ldp_pca.nothing  # noqa: B018
