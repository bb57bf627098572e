"""Sums of reports on a Spark cluster: the same bytes as of the command line, the server and `ldp_pca.aggregate`.

How it works, how to run and size it, and what failures do: ``docs/guides/spark.md``.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import threading
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa

import ldp_pca
from ldp_pca import Aggregate, ClusterError, LdpPcaError, ReportError, SkippedReportsWarning, Task, errors
from ldp_pca import _spark_stages as stages

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, Row, SparkSession

__all__ = ["Counts", "aggregate"]


class Counts(NamedTuple):
    """The counts of the rows of a DataFrame.

    Attributes
    ----------
    records : int
        Reports in the sum.
    duplicates : int
        Reports left out because another one with their id is in the sum.
    skipped : int
        Rows left out because they are not reports of the task, with ``skip_invalid``.
    first_skipped : str or None
        The place of the first of these, in the partitions as put together, and its problem.
    """

    records: int
    duplicates: int
    skipped: int
    first_skipped: str | None


@overload
def aggregate(
    df: DataFrame, task: Task, column: str = ..., *, skip_invalid: bool = ..., with_counts: Literal[False] = ...
) -> Aggregate: ...
@overload
def aggregate(
    df: DataFrame, task: Task, column: str = ..., *, skip_invalid: bool = ..., with_counts: Literal[True]
) -> tuple[Aggregate, Counts]: ...
def aggregate(
    df: DataFrame, task: Task, column: str = "report", *, skip_invalid: bool = False, with_counts: bool = False
) -> Aggregate | tuple[Aggregate, Counts]:
    """Sum the reports in a column of a DataFrame. Any order and partitioning of them gives the same bytes.

    The data are read once. Reports with the same id count once, wherever they are; only if there are any, the data are
    read again. Of different reports with one id, the one with the smallest bytes counts.

    Parameters
    ----------
    df
        Reports as they were sent, one per row, such as ``spark.read.parquet("DIR/tasks/DIGEST/*.parquet")``.
    task
        The task whose reports they are.
    column
        The column with the reports, binary.
    skip_invalid
        Leave out nulls and everything that is not a valid report of the task, instead of raising. Without
        ``with_counts`` a `SkippedReportsWarning` reports them.
    with_counts
        Return ``(aggregate, counts)``, with `Counts`.

    Raises
    ------
    ReportError
        There is no such column of binary, or a row is not a report of the task. ``partition`` and ``row`` of the
        exception, and its message, say which, in the partitions as they are put together for the sum
        (docs/guides/spark.md).
    ClusterError
        The executors have another version of this package or none, or another Python than the driver, or the DataFrame
        has other rows when Spark computes it again. Or a task failed in local mode, where Spark does not try it again.
    """
    reports = _column(df, column)
    with _settings(reports.sparkSession, task) as row_bytes:
        total, counts = _sum_once(reports, task, _job(reports.sparkSession, task, row_bytes, skip_invalid))
    if with_counts:
        return total, counts
    if counts.skipped:
        message = f"left out {counts.skipped} invalid reports, the first in {counts.first_skipped}"
        errors.warn(message, SkippedReportsWarning)
    return total


#: Bytes of reports that are read, and sent to Python, together: larger batches of dense reports cost twice the time,
#: for they leave the processor's caches, and the reader's buffers grow by copying. More rows make nothing faster.
_BATCH_BYTES = 4 << 20
_MOST_ROWS = 8192
_MOST_ROWS_READ = 4096
#: Bytes of a batch between stages, whose rows are long. Arrow's limit is 2 GiB.
_STAGE_BATCH_BYTES = 256 << 20
_MOST_ROW_BYTES = 8 << 20
#: Bytes of a task's input, at least, as a multiple of the state that it gives.
_INPUT_PER_STATE = 16
#: Bytes of distinct reports with repeated ids that the cluster holds in memory. More of them are left to Spark.
_SUSPECT_BYTES = 256 << 20
_MOST_SUSPECTS = 1 << 20
#: Tasks that share the first merging of each stretch of a state.
_GROUPS = 32

#: What the executors' Python must be, too: Spark refuses another minor version.
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: Of Spark's traces, where the Python of the executors cannot do it, and what the matter is.
_UNFIT_PYTHONS = {
    r"PYTHON_VERSION_MISMATCH\D+(\d+)\D+(\d+)\D+(\d+\.\d+)": "is {}.{}, and the driver's is {}",
    r"No module named '?(ldp_pca|numpy|pyarrow|pyspark)\b": "has no {}",
    r'(?s)Cannot run program ".*PythonWorkerFactory': "cannot be run",
    "Error from python worker:": "cannot run Spark's workers",
}
#: Masters of local mode without a number of tries, or with one.
_ONE_TRY = re.compile(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*1\s*)?\])?")

#: One at a time in a process, because the settings are the session's.
_lock = threading.Lock()


def _column(df: DataFrame, column: str) -> DataFrame:
    types = dict(df.dtypes)
    if column not in types:
        # What it has instead may be records, whose names can be answers.
        raise ReportError(f"the DataFrame has no column {column!r} among its {len(types)}")
    if types[column] != "binary":
        raise ReportError(f"reports are binary, and the column {column!r} is {types[column].partition('<')[0]}")
    return df.select(df["`" + column.replace("`", "``") + "`"].alias("report"))


@contextmanager
def _settings(spark: SparkSession, task: Task) -> Iterator[int]:
    """Batches of a good size. Gives the bytes of a row between stages: there are as many of them in a batch."""
    rows = max(1, min(_MOST_ROWS, _BATCH_BYTES // task.report_bytes))
    settings = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": rows,
        "spark.sql.parquet.columnarReaderBatchSize": min(rows, _MOST_ROWS_READ),
    }
    with _lock:
        before = {name: spark.conf.get(name) for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, value)
            yield min(_MOST_ROW_BYTES, _STAGE_BATCH_BYTES // rows) // 8 * 8
        finally:
            for name, old in before.items():
                spark.conf.set(name, str(old))


def _job(spark: SparkSession, task: Task, row_bytes: int, skip_invalid: bool) -> stages.Job:
    # As many as Spark's shuffle has partitions; its own default where the platform chooses ("auto").
    partitions = str(spark.conf.get("spark.sql.shuffle.partitions", "200"))
    return stages.Job(
        task=task.to_json(),
        keys=(secrets.randbits(64) | 1, secrets.randbits(64) | 1, secrets.randbits(64) | 1),
        buckets=int(partitions) if partitions.isdigit() else 200,
        groups=_GROUPS,
        row_bytes=row_bytes,
        most_repeated=max(1, min(_MOST_SUSPECTS, _SUSPECT_BYTES // task.report_bytes)),
        skip_invalid=skip_invalid,
    )


def _sum_once(reports: DataFrame, task: Task, job: stages.Job) -> tuple[Aggregate, Counts]:
    """Sums all reports, and once more, with those of repeated ids apart, if there are any."""
    total = first = _run(reports, task, job)
    total.check(first.counted("checked"))
    if len(first.repeats) > job.most_repeated:
        # Spark's own grouping goes to disk when memory ends.
        reports = _distinct(reports, job)
        total = _run(reports, task, job)
        total.check(total.counted("checked"))
        if total.counted("unique") != first.counted("unique"):
            raise _other_rows()
    if len(total.repeats) > 0:
        checked = total.counted("checked")
        total = _run(reports, task, job._replace(suspects=total.repeats.tobytes()))
        total.check(checked)
    place = None if first.first_skipped is None else _described(first.first_skipped)
    counts = Counts(total.records, first.records - total.records, first.counts["skipped"], place)
    return total.aggregate(task), counts


def _distinct(reports: DataFrame, job: stages.Job) -> DataFrame:
    """The valid reports, one of each id."""
    from pyspark.sql import functions

    if job.skip_invalid:
        reports = reports.mapInArrow(_shipped("valid_reports", job, None), "report binary")
    id_ = functions.substring("report", stages.ID.start + 1, stages.ID.stop - stages.ID.start)
    return reports.groupBy(id_.alias("id")).agg(functions.min("report").alias("report")).select("report")


def _run(reports: DataFrame, task: Task, job: stages.Job) -> _Total:
    """One reading of the reports: partial sums, one shuffle of what is small, and two rounds of merging."""
    with _explained(reports.sparkSession), _watch(reports.sparkSession) as failures:
        partial = _coalesced(reports, task).mapInArrow(_shipped("partial_sums", job, failures), stages.SCHEMA)
        merged = partial.repartition("key").mapInArrow(_shipped("merged", job, None), stages.SCHEMA)
        # Not coalesce(1): without a shuffle in between, the stage before it would be one task, too.
        last = merged.repartition(1).mapInArrow(_shipped("merged", job, None), stages.SCHEMA)
        return _Total(last.collect(), job)


def _coalesced(reports: DataFrame, task: Task) -> DataFrame:
    """Partitions put together as long as their reports take little more than the state that is the sum of them."""
    try:
        size = int(reports._jdf.queryExecution().optimizedPlan().stats().sizeInBytes().toString())
        least = 2 * reports.sparkSession.sparkContext.defaultParallelism
    except (AttributeError, NotImplementedError):
        return reports  # Spark Connect has neither: one error in version 4, the other in 3.5.
    count = max(least, size // (_INPUT_PER_STATE * len(Aggregate(task).to_bytes())))
    return reports.coalesce(min(count, 1 << 30))


def _shipped(
    stage: str, job: stages.Job, failures: Any
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A stage as it goes to the workers: pickled by value, so that it begins on those that have no ldp_pca, too."""
    version, plain, schema, remedy = ldp_pca.__version__, tuple(job), stages.SCHEMA_NAMES, _remedy()

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import socket
        import sys

        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        try:
            import ldp_pca

            found = f"ldp_pca {ldp_pca.__version__}"
        except ImportError as error:
            found = f"no ldp_pca: {error}"
        if found == f"ldp_pca {version}":
            from ldp_pca import _spark_stages

            yield from _spark_stages.run(stage, plain, batches, context.partitionId(), failures)
            return
        for _ in batches:
            pass
        problem = (
            f"the driver has ldp_pca {version}, and {socket.gethostname()} has {found} (in {sys.executable}): "
            f"install the same on both, or {remedy}"
        )
        error_note = json.dumps({"type": "ClusterError", "problem": problem, "partition": None, "row": None})
        if failures is not None:
            failures.add((error_note,))
        numbers = [pa.array([number], pa.int32()) for number in (0, note, 0)]
        data = pa.array([f'{{"error": {error_note}}}'.encode()], pa.binary())
        yield pa.record_batch([*numbers, data], names=list(schema))

    note = stages.NOTE
    return run


def _context(spark: SparkSession) -> SparkContext | None:
    try:
        return spark.sparkContext
    except (AttributeError, NotImplementedError):
        return None  # Spark Connect.


def _remedy() -> str:
    python = f"a Python {_PYTHON} that has ldp_pca {ldp_pca.__version__} and pyarrow"
    return f"set PYSPARK_PYTHON to {python} on every executor, or ship the environment (docs/guides/spark.md)"


@contextmanager
def _explained(spark: SparkSession) -> Iterator[None]:
    """Raises a short error with the remedy where Spark's own is a long trace without one."""
    from pyspark.errors import PythonException

    try:
        yield
    except LdpPcaError:
        raise
    except Exception as error:
        context, trace = _context(spark), str(error)
        for pattern, problem in _UNFIT_PYTHONS.items():
            found = re.search(pattern, trace)
            if found is not None:
                # Without PYSPARK_PYTHON that is the python3 of each executor's path.
                name = "" if context is None else f" ({context.pythonExec})"
                said = f"the executors' Python{name} {problem.format(*found.groups())}"
                raise ClusterError(f"{said}: {_remedy()}") from None
        single = None if context is None else _ONE_TRY.fullmatch(context.master)
        # The first is what Python code raised, without Spark's words about its task.
        failed = isinstance(error, PythonException) or "failed 1 times, most recent failure" in trace
        if single is not None and failed:
            raise ClusterError(
                f"a task failed, and Spark does not try it again in local mode, whatever spark.task.maxFailures is: "
                f"use the master local[{single[1] or 1},4], which tries a task four times, if another try can succeed"
            ) from error
        raise


@contextmanager
def _watch(spark: SparkSession) -> Iterator[Any]:
    """Cancels the job as soon as a task reports an error in the accumulator, and raises that error."""
    context = _context(spark)
    if context is None:
        yield None  # Spark Connect: the error comes when the stage is over.
        return
    from pyspark.accumulators import AddingAccumulatorParam

    failures: Any = context.accumulator((), AddingAccumulatorParam(()))
    tag, done = f"ldp-pca-{uuid.uuid4().hex}", threading.Event()

    def cancel() -> None:
        while not done.wait(0.1):
            if failures.value:
                context.cancelJobsWithTag(tag)

    watcher = threading.Thread(target=cancel, daemon=True)
    context.addJobTag(tag)
    watcher.start()
    try:
        yield failures
    except LdpPcaError:
        raise
    except Exception:
        if failures.value:
            raise _error(min(map(json.loads, failures.value), key=stages.place)) from None
        raise
    finally:
        done.set()
        watcher.join()
        context.removeJobTag(tag)


class _Total(stages.Merge):
    """What the last stage gives."""

    def __init__(self, rows: list[Row], job: stages.Job) -> None:
        super().__init__(job)
        for row in rows:
            self.take(row["kind"], row["part"], pa.py_buffer(bytes(row["data"])))
        if self.error is not None:
            raise _error(self.error)
        #: Fingerprints that several reports have.
        self.repeats = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *self.repeated]))

    @property
    def records(self) -> int:
        return max((int(words[-2]) for words in self.states.values()), default=0)

    def counted(self, name: str) -> tuple[int, int]:
        """How many of them there are, and the sum of their fingerprints."""
        return self.counts[name], self.counts[f"{name}_prints"]

    def check(self, seen: tuple[int, int]) -> None:
        """Every stretch of the sum is of exactly the reports whose ids were compared, except dropped copies.

        Otherwise a task was run again, as after the loss of an executor, and its rows were others.
        """
        dropped = self.counted("dropped")
        rows = [*self.states.values(), *([self.tags_of] if self.tags else [])]
        sums = {(int(words[-2]), int(words[-1]) % (1 << 64)) for words in rows} or {(0, 0)}
        if sums != {(seen[0] - dropped[0], (seen[1] - dropped[1]) % (1 << 64))}:
            raise _other_rows()

    def aggregate(self, task: Task) -> Aggregate:
        if not self.states:
            return Aggregate(task)
        body = b"".join(self.states[part][:-2].tobytes() for part in sorted(self.states))
        state = Aggregate(task).to_bytes()[: stages.STATE_HEADER] + body + b"".join(self.tags)
        return Aggregate.from_bytes(state + zlib.crc32(state).to_bytes(stages.STATE_CHECKSUM, "little"), task)


def _other_rows() -> ClusterError:
    return ClusterError(
        "the DataFrame had other rows when Spark computed a part of it again: write it to Parquet first, "
        "and aggregate that"
    )


def _error(told: dict[str, Any]) -> LdpPcaError:
    """The exception of a worker, raised here."""
    error: LdpPcaError = getattr(errors, told["type"])(_described(told))
    error.partition, error.row = told["partition"], told["row"]
    return error


def _described(told: dict[str, Any]) -> str:
    places = [f"{name} {told[name]}" for name in ("partition", "row") if told[name] is not None]
    return ": ".join(filter(None, [", ".join(places), told["problem"]]))
