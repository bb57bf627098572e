"""What several files of tests need."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_pca import Aggregate, Randomizer, Reports, Task

Command = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def command() -> Command:
    """Run the command line, the binary that LDP_PCA_BIN names, and give its JSON."""
    binary = os.environ.get("LDP_PCA_BIN")
    assert binary, "set LDP_PCA_BIN to the ldp-pca that `cargo build` makes"
    assert Path(binary).is_file(), f"LDP_PCA_BIN is {binary}, which is no file"

    def run(*arguments: Any) -> dict[str, Any]:
        words = [binary, *map(str, arguments), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run


@pytest.fixture(scope="session")
def task() -> Task:
    return Task(8, epsilon=4.0, folds=3)


@pytest.fixture(scope="session")
def records() -> np.ndarray:
    """Records with two components that stand out."""
    return np.random.default_rng(1).normal(size=(6000, 8)) * [3, 2, 1, 1, 0.5, 0.5, 0.5, 0.5]


@pytest.fixture(scope="session")
def reports(task: Task, records: np.ndarray) -> Reports:
    return Randomizer(task).randomize(records, insecure_seed=7)


@pytest.fixture
def aggregate(task: Task, reports: Reports) -> Aggregate:
    aggregate = Aggregate(task)
    aggregate.update(reports)
    return aggregate
