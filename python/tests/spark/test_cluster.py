"""The same on executors that are processes of their own, and when they die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pytest

from ldp_pca import ReportError
from ldp_pca.spark import aggregate

MASTER = "local-cluster[2,1,2048]"


@pytest.mark.parametrize("name", ["dense 40", "dense 400", "compact"])
def test_the_state_is_the_command_lines(spark: Any, made: Callable[[str], Any], name: str) -> None:
    reports = made(name)
    total = aggregate(spark.read.parquet(str(reports.parquet)), reports.task)
    assert total.to_bytes() == reports.state


@pytest.mark.parametrize("victim", ["executor", "worker"])
@pytest.mark.parametrize("name", ["dense 400", "compact"])
def test_a_process_that_dies_amid_the_job_changes_nothing(
    spark: Any, made: Callable[[str], Any], tmp_path: Path, victim: str, name: str
) -> None:
    """The last partition stops halfway until its executor, or Python worker, is killed, and all others are summed by then.

    So what the executor had finished is lost with it, and the partition is summed by halves and then again.
    """
    reports = made(name)
    frame = spark.read.parquet(str(reports.parquet)).repartition(6).mapInArrow(halting(tmp_path, 6), "report binary")
    job = ThreadPoolExecutor(1).submit(aggregate, frame, reports.task)
    worker = int(awaited(tmp_path / "halfway", job))
    pid = worker if victim == "worker" else parent(parent(worker))
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    assert (b"CoarseGrainedExecutorBackend" if victim == "executor" else b"pyspark") in command
    os.kill(pid, signal.SIGKILL)
    while alive(pid):
        time.sleep(0.01)
    (tmp_path / "go on").touch()
    assert job.result().to_bytes() == reports.state
    assert len(list(tmp_path.glob("began 5 *"))) > 1, "the partition was not summed again"


def test_a_bad_row_ends_the_job_before_its_other_tasks(spark: Any, made: Callable[[str], Any], tmp_path: Path) -> None:
    """One partition is bad. The others wait until they are cancelled, which is the only way this test ends."""

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        if context.partitionId() != 1:
            time.sleep(600)
        (tmp_path / f"try {context.attemptNumber()}").touch()
        yield from batches

    rows = [(row.tobytes(),) for row in made("few").rows()[:1000]] + [(b"bad",)] * 1000
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), "report binary")
    with pytest.raises(ReportError, match="partition 1, row 0: the report has 3 bytes"):
        aggregate(frame.mapInArrow(wait, "report binary"), made("few").task)
    assert [path.name for path in tmp_path.iterdir()] == ["try 0"], "an error that is in the data was tried again"


def halting(folder: Path, partitions: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def halt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        (folder / f"began {partition} {context.taskAttemptId()}").touch()
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if partition == partitions - 1:
                while len(list(folder.glob("ended *"))) < partitions - 1:
                    time.sleep(0.01)
                if not (folder / "go on").exists():
                    (folder / "writing").write_text(str(os.getpid()))
                    (folder / "writing").rename(folder / "halfway")
                    while not (folder / "go on").exists():
                        time.sleep(0.01)
            yield batch.slice(half)
        (folder / f"ended {partition}").touch()

    return halt


def awaited(path: Path, job: Future[Any]) -> str:
    while not path.exists():
        assert not job.done(), "the job ended before it came to the place where it halts"
        time.sleep(0.01)
    return path.read_text()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
