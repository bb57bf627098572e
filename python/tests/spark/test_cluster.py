"""What ``ldp_pca.spark.aggregate`` gives on executors that are processes of their own, and when they die."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pyspark
import pytest

from ldp_pca import ReportError
from ldp_pca.spark import Counts, aggregate

MASTER = "local-cluster[2,1,2048]"
#: Copies of tasks as early as can be, and Spark's own account of them. No copy is on the host of the first try, so
#: there is none before a test starts an executor on another host.
SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1",
    "spark.speculation.efficiency.enabled": "false",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
}

#: Seconds after which a test has failed that waits for something.
WAIT = 300

WaitFor = Callable[[Callable[[], bool], str], None]


@pytest.mark.parametrize("victim", ["executor", "worker"])
@pytest.mark.parametrize("name", ["dense 40", "dense 400", "compact"])
def test_a_process_that_dies_amid_the_job_changes_nothing(
    spark: Any, made: Callable[[str], Any], tmp_path: Path, victim: str, name: str
) -> None:
    """The last partition stops halfway until its executor, or worker, is killed, and all others are summed by then.

    So what the executor had finished is lost with it, and the partition is summed by halves and then again.
    """
    reports, wait_for = made(name), waiting()
    halt = halting(tmp_path, 6, wait_for)
    frame = spark.read.parquet(str(reports.parquet)).repartition(6).mapInArrow(halt, "report binary")
    job = ThreadPoolExecutor(1).submit(aggregate, frame, reports.task)
    halfway = tmp_path / "halfway"
    wait_for(lambda: halfway.exists() or job.done(), "the last partition to be summed by half")
    assert halfway.exists(), f"the job ended before it came to the place where it halts: {job.exception()}"
    worker = int(halfway.read_text())
    pid = worker if victim == "worker" else parent(parent(worker))
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    assert (b"CoarseGrainedExecutorBackend" if victim == "executor" else b"pyspark") in command
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "the process to die")
    (tmp_path / "go on").touch()
    assert job.result(WAIT).to_bytes() == reports.state
    assert len(list(tmp_path.glob("began 5 *"))) > 1, "the partition was not summed again"


def test_a_bad_row_ends_the_job_before_its_other_tasks(spark: Any, made: Callable[[str], Any], tmp_path: Path) -> None:
    """One partition is bad. The other one is amid a long sleep by then, from which it wakes after the job alone."""
    wait_for = waiting()

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        (tmp_path / f"try {context.partitionId()} {context.attemptNumber()}").touch()
        if context.partitionId() == 0:
            until = time.time() + WAIT
            while not (tmp_path / "over").exists():
                if time.time() > until:
                    (tmp_path / "woke").touch()
                    break
                time.sleep(0.01)
        wait_for((tmp_path / "try 0 0").exists, "the other partition to begin")
        yield from batches

    rows = [(row.tobytes(),) for row in made("few").rows()[:1000]] + [(b"bad",)] * 1000
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), "report binary")
    try:
        with pytest.raises(ReportError, match="partition 1, row 0: the report has 3 bytes"):
            aggregate(frame.mapInArrow(wait, "report binary"), made("few").task)
        there = sorted(path.name for path in tmp_path.iterdir())
    finally:
        (tmp_path / "over").touch()
    assert "woke" not in there, "the job was not cancelled"
    assert there == ["try 0 0", "try 1 0"], "an error that is in the data was tried again"


def test_a_speculative_copy_counts_nothing_twice(spark: Any, made: Callable[[str], Any], tmp_path: Path) -> None:
    """The first try of a partition halts halfway until a copy has read all of it, and goes on to the end then."""
    reports, wait_for = made("few"), waiting()

    def halt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        halted, copied = context.partitionId() == 0, tmp_path / "copied"
        first = context.attemptNumber() == 0
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if halted and first:
                wait_for(copied.exists, "a copy of the task")
            yield batch.slice(half)
        if halted and not first:
            copied.touch()

    assert not copies(spark.sparkContext)
    with executor_elsewhere(spark.sparkContext, tmp_path / "executor.log", wait_for):
        frame = spark.read.parquet(str(reports.parquet)).mapInArrow(halt, "report binary")
        total, counts = aggregate(frame, reports.task, with_counts=True)
    assert total.to_bytes() == reports.state
    assert counts == Counts(reports.count, 0, 0, None)
    wait_for(lambda: (0, 1) in copies(spark.sparkContext), "Spark to list the second try of the partition as a copy")


@contextmanager
def executor_elsewhere(context: Any, log: Path, wait_for: WaitFor) -> Iterator[None]:
    """One more executor of the session, on what is another host to Spark: started as cluster managers start one."""
    settings, java = dict(context.getConf().getAll()), context._jvm.org.apache.spark.launcher.JavaModuleOptions
    options = {
        "--driver-url": f"spark://CoarseGrainedScheduler@127.0.0.1:{settings['spark.driver.port']}",
        "--executor-id": "1000",
        "--hostname": "localhost",
        "--cores": "1",
        "--app-id": context.applicationId,
    }
    words = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    words += ["org.apache.spark.executor.CoarseGrainedExecutorBackend", *itertools.chain(*options.items())]
    variables = {**os.environ, "SPARK_EXECUTOR_OPTS": java.defaultModuleOptions()}
    with log.open("wb") as output, subprocess.Popen(words, env=variables, stdout=output, stderr=output) as executor:
        try:

            def there() -> bool:
                return any(one["id"] == "1000" for one in told(context, "executors"))

            wait_for(lambda: there() or executor.poll() is not None, "an executor to begin")
            assert executor.poll() is None, log.read_text()
            yield
        finally:
            executor.terminate()


def copies(context: Any) -> set[tuple[int, int]]:
    """The partitions of speculative copies, and which tries of them these are."""
    tasks = [task for stage in told(context, "stages?details=true") for task in stage["tasks"].values()]
    return {(task["index"], task["attempt"]) for task in tasks if task["speculative"]}


def told(context: Any, what: str) -> Any:
    """What Spark says of itself."""
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}") as answer:
        return json.load(answer)


def waiting() -> WaitFor:
    """Waits for conditions, here and in workers, up to one time for all: tries of a task after it fail at once."""
    until = time.time() + WAIT

    # Not of the module, which workers cannot import: so it is pickled by value.
    def wait_for(condition: Callable[[], bool], what: str) -> None:
        while not condition():
            if time.time() > until:
                raise TimeoutError(f"waited in vain for {what}")
            time.sleep(0.01)

    return wait_for


def halting(
    folder: Path, partitions: int, wait_for: WaitFor
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
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
                wait_for(lambda: len(list(folder.glob("ended *"))) >= partitions - 1, "the other partitions to end")
                if not (folder / "go on").exists():
                    (folder / "writing").write_text(str(os.getpid()))
                    (folder / "writing").rename(folder / "halfway")
                    wait_for((folder / "go on").exists, "a process to be killed")
            yield batch.slice(half)
        (folder / f"ended {partition}").touch()

    return halt


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
