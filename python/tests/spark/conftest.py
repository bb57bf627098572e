"""Spark sessions, and reports that the command line made: ``LDP_PCA_BIN`` says where it is."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ldp_pca import Task

Command = Callable[..., dict[str, Any]]
Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILES = 4


#: Of Spark itself: sockets that the collector of garbage closes, and how version 3.5 compares versions.
IGNORED = (
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in IGNORED:
                item.add_marker(pytest.mark.filterwarnings(warning))


class Reports:
    """Reports of one task in a plain sequence and in Parquet files, and the state that the command line makes."""

    def __init__(
        self, command: Command, folder: Path, mechanism: str, dimension: int, count: int, *options: str
    ) -> None:
        self.folder, self.count = folder, count
        columns = [{"name": f"x{i}", "type": "numeric", "offset": 0, "scale": 1} for i in range(dimension)]
        (folder / "schema.json").write_text(json.dumps({"columns": columns}))
        self.task_file, self.plain, state = folder / "task.json", folder / "reports.ldpr", folder / "sums.ldpa"
        choice = ("--mechanism", mechanism, "--epsilon", "4", *options)
        command("task", "new", "--schema", folder / "schema.json", *choice, "--output", self.task_file)
        np.save(folder / "records.npy", np.random.default_rng(7).standard_normal((count, dimension)))
        from_records = ("--insecure-seed", "7", "--output", self.plain, folder / "records.npy")
        command("randomize", "--task", self.task_file, *from_records)
        command("aggregate", "--task", self.task_file, "--output", state, self.plain)
        self.state = state.read_bytes()
        self.task = Task.from_json(self.task_file.read_text())
        self.parquet = folder / "parquet"
        self.parquet.mkdir()
        for file, part in enumerate(np.array_split(self.rows(), FILES)):
            column = pa.array([row.tobytes() for row in part], pa.binary(self.task.report_bytes))
            schema = pa.schema([pa.field("report", column.type, nullable=False)])
            parquet.write_table(pa.table([column], schema=schema), self.parquet / f"{file:08}.parquet")

    def rows(self) -> np.ndarray[Any, Any]:
        return np.fromfile(self.plain, np.uint8).reshape(-1, self.task.report_bytes)


MADE: dict[str, Any] = {
    "dense 40": ("gaussian", 40, 20_000, "--folds", "3"),
    "dense 400": ("gaussian", 400, 1_000),
    "compact": ("double-cap", 40, 1_000_000, "--candidates", "16"),
    "few": ("double-cap", 8, 2_000, "--candidates", "16"),
}


@pytest.fixture(scope="session")
def made(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reports]:
    """The reports of a name in ``MADE``, made when they are first asked for."""
    there: dict[str, Reports] = {}

    def make(name: str) -> Reports:
        if name not in there:
            there[name] = Reports(command, tmp_path_factory.mktemp("reports"), *MADE[name])
        return there[name]

    return make


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session on the module's ``MASTER``, with its ``SETTINGS``. A process has one at a time."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The executors of a local cluster import what this process does.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    builder = SparkSession.builder.master(request.module.MASTER).appName("ldp_pca")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        # Every file is a partition or more, as large ones are.
        "spark.sql.files.maxPartitionBytes": "4m",
        "spark.sql.files.openCostInBytes": "4m",
        **getattr(request.module, "SETTINGS", {}),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def failing_once(tmp_path: Path) -> Callable[[str], Stage]:
    """Lets all rows through, but at the first try of a task its worker ``raises`` or ``dies``."""

    def make(failure: str) -> Stage:
        def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            try:
                (tmp_path / "failed").mkdir()
            except FileExistsError:
                yield from batches
                return
            if failure == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError("no space")

        return fail

    return make
