"""The wheel, as one who installs it has it: in an environment with nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = """
import json, sys
import ldp_pca

packages = {"numpy", "pandas", "polars", "pyarrow", "pyspark", "sklearn"}
heavy = {name.partition(".")[0] for name in sys.modules} & packages
import numpy

task = ldp_pca.Task.from_json(sys.argv[1])
reports = ldp_pca.Randomizer(task).randomize(numpy.ones((10, 2)))
aggregate = ldp_pca.Aggregate(task)
aggregate.update(reports)
print(json.dumps({"heavy": sorted(heavy), "records": aggregate.records, "version": ldp_pca.__version__}))
"""

TASK = {
    "version": 1,
    "schema": {"columns": [{"type": "numeric", "name": name, "offset": 0, "scale": 1} for name in ("a", "b")]},
    "bounding": {"type": "unit-norm"},
    "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8},
    "folds": 1,
}


@pytest.fixture(scope="module")
def wheel() -> Path:
    path = os.environ.get("LDP_PCA_WHEEL")
    assert path, "set LDP_PCA_WHEEL to the wheel that scripts/build-wheel.sh makes"
    return Path(path)


def test_a_clean_environment_runs_it_with_what_it_depends_on(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True)
    # -I: no folder that it starts in and no variable can lend it another package of this name.
    run = [python, "-I", "-c", EXAMPLE, json.dumps(TASK)]
    answer = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    version = wheel.name.split("-")[1]
    # An import that brings in nothing large is a short one.
    assert answer == {"heavy": [], "records": 10, "version": version}


def test_it_is_one_that_can_be_published(wheel: Path) -> None:
    check = Path(__file__).parents[2] / "scripts" / "check_wheel.py"
    subprocess.run([sys.executable, check, wheel.name.split("-")[1], wheel.parent], check=True)
