"""What several files of tests need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_pca import Aggregate, Randomizer, Reports, Task

Command = Callable[..., dict[str, Any]]
Collected = Callable[[Path, Path, bytes], None]


@pytest.fixture(scope="session")
def command() -> Command:
    """Run the command line, the binary that LDP_PCA_BIN names, and give its JSON."""
    binary = os.environ.get("LDP_PCA_BIN")
    assert binary, "set LDP_PCA_BIN to the ldp-pca that `cargo build` makes"
    assert Path(binary).is_file(), f"LDP_PCA_BIN is {binary}, which is not a file"

    def run(*arguments: Any) -> dict[str, Any]:
        words = [binary, *map(str, arguments), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run


@pytest.fixture(scope="session")
def collected(command: Command) -> Collected:
    """Have an aggregator of its own take reports into ``data``: the real one, over HTTP, ended afterwards."""

    def collect(data: Path, task_file: Path, reports: bytes) -> None:
        log, sent = data.with_suffix(".log"), data.with_suffix(".ldpr")
        sent.write_bytes(reports)
        words = [os.environ["LDP_PCA_BIN"], "serve", "--data", data, "--task", task_file, "--listen", "127.0.0.1:0"]
        # The reports are of the tests' own making.
        words.append("--no-issued-ids")
        with log.open("wb") as output, subprocess.Popen(words, stdout=output, stderr=output) as server:
            try:
                command("submit", sent, "--task", task_file, "--url", address(log, server))
            finally:
                server.terminate()

    return collect


def address(log: Path, server: subprocess.Popen[bytes]) -> str:
    """Where the server says that it listens."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and server.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.05)
    pytest.fail(f"the aggregator did not start: {log.read_text()}")


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
