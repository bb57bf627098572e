"""What ``ldp_pca.spark.aggregate`` gives and refuses, in one process with two threads."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import traceback
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pyarrow as pa
import pytest

import ldp_pca
from ldp_pca import Aggregate, ClusterError, LdpPcaError, Randomizer, ReportError, Task, recover
from ldp_pca.spark import Counts, aggregate

MASTER = "local[2]"
#: Which does nothing there.
SETTINGS = {"spark.task.maxFailures": "4"}

Make = Callable[[str], Any]
Command = Callable[..., dict[str, Any]]
Collected = Callable[[Path, Path, bytes], None]


def frame(spark: Any, rows: Sequence[bytes | None], partitions: int) -> Any:
    """A DataFrame of these rows, in this order, in so many partitions."""
    return spark.createDataFrame(spark.sparkContext.parallelize([(row,) for row in rows], partitions), "report binary")


def few(made: Make) -> list[bytes]:
    return [row.tobytes() for row in made("few").rows()]


@pytest.mark.parametrize("name", ["dense 40", "dense 400", "few"])
def test_the_state_is_the_command_lines(spark: Any, made: Make, name: str) -> None:
    reports = made(name)
    total, counts = aggregate(spark.read.parquet(str(reports.parquet)), reports.task, with_counts=True)
    assert total.to_bytes() == reports.state
    assert counts == Counts(reports.count, 0, 0, None)


def test_a_second_waves_reports_are_made_and_summed_on_executors(spark: Any) -> None:
    def people(seed: int) -> np.ndarray[Any, Any]:
        return np.random.default_rng(seed).normal(size=(4000, 8)) * [4, 2, *[0.5] * 6]

    task = Task(8, epsilon=4.0, folds=3)
    first = ldp_pca.aggregate(Randomizer(task).randomize(people(1), insecure_seed=1), task)
    second = task.refine(first, 2, anyway=True)
    text = second.to_json()

    def randomized(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ldp_pca import Randomizer, Task

        randomizer = Randomizer(Task.from_json(text))
        for batch in batches:
            for row in batch["row"].to_pylist():
                made = randomizer.randomize(people(2)[row : row + 500], insecure_seed=2, first=row)
                yield pa.record_batch([pa.array(made).cast(pa.binary())], names=["report"])

    reports = spark.range(0, 4000, 500, 5).withColumnRenamed("id", "row").mapInArrow(randomized, "report binary")
    total, counts = aggregate(reports, second, with_counts=True)
    expected = ldp_pca.aggregate(Randomizer(second).randomize(people(2), insecure_seed=2), second)
    assert (total.to_bytes(), counts) == (expected.to_bytes(), Counts(4000, 0, 0, None))
    # Some reports again, which are then in a sum of their own.
    again = aggregate(reports.union(reports.limit(300)), second)
    assert again == expected
    found = recover(first, 2, refined=total)
    assert found.compare(np.eye(8)[:2]) < recover(first, 2, method="pca").compare(np.eye(8)[:2])


def test_partitions_may_be_empty(spark: Any, made: Make) -> None:
    task, rows = made("few").task, few(made)[:5]
    expected = ldp_pca.aggregate(b"".join(rows), task)
    assert aggregate(frame(spark, rows, 20), task, with_counts=True) == (expected, Counts(5, 0, 0, None))
    for empty in (frame(spark, [], 3), spark.createDataFrame([], "report binary"), frame(spark, few(made), 2).limit(0)):
        assert aggregate(empty, task, with_counts=True) == (Aggregate(task), Counts(0, 0, 0, None))


def test_a_state_that_goes_through_the_shuffle_in_pieces(spark: Any, made: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr("ldp_pca.spark._MOST_ROW_BYTES", 72)
    reports = made("few")
    rows = few(made)
    assert aggregate(frame(spark, rows + rows[:7], 5), reports.task).to_bytes() == reports.state


@pytest.mark.parametrize("most", [1 << 20, 50], ids=["in memory", "by Spark's grouping"])
def test_an_id_counts_once_wherever_its_copies_are(spark: Any, made: Make, monkeypatch: Any, most: int) -> None:
    monkeypatch.setattr("ldp_pca.spark._MOST_SUSPECTS", most)
    reports = made("few")
    rows = few(made)
    # In the same partition, in the next one, far away, and one of them many times.
    copies = [row for row in rows[:300] for _ in range(2)] + rows[300:] + rows[100:200] + [rows[42]] * 50
    total, counts = aggregate(frame(spark, copies, 7), reports.task, with_counts=True)
    assert total.to_bytes() == reports.state
    assert counts == Counts(reports.count, 300 + 100 + 50, 0, None)


def test_of_different_reports_with_one_id_the_smallest_counts(spark: Any, made: Make) -> None:
    task = made("few").task
    rows = few(made)[:20]
    other = with_checksum(rows[0][:29] + bytes([rows[0][29] ^ 1]) + rows[0][30:-4])
    expected = ldp_pca.aggregate(b"".join([min(rows[0], other), *rows[1:]]), task)
    for order in itertools.permutations([rows[0], other, rows[0]]):
        assert aggregate(frame(spark, [*order, *rows[1:]], 4), task) == expected


def with_checksum(bytes_: bytes) -> bytes:
    import zlib

    return bytes_ + zlib.crc32(bytes_).to_bytes(4, "little")


def test_exports_of_an_aggregator_are_read(
    spark: Any, made: Make, command: Command, collected: Collected, tmp_path: Path
) -> None:
    reports = made("compact")
    sent = reports.rows()[:150_000]
    data, table = tmp_path / "data", tmp_path / "export.parquet"
    collected(data, reports.task_file, sent.tobytes())
    exported, state = tmp_path / "export.ldpr", tmp_path / "sums.ldpa"
    command("store", "export", data, "--output", exported)
    command("store", "export", data, "--output", table)
    command("aggregate", "--task", reports.task_file, "--output", state, exported)
    export = aggregate(spark.read.parquet(str(table)), reports.task)
    assert (export.records, export.to_bytes()) == (150_000, state.read_bytes())


def test_bad_rows_are_told_with_their_place(spark: Any, made: Make) -> None:
    good, count = few(made), 3
    flipped = bytes([*good[0][:-1], good[0][-1] ^ 1])
    other = made("dense 40").rows()[0].tobytes()
    for bad, problem in [
        (None, "null instead of a report"),
        (good[0][:-1], "the report has 34 bytes where reports of this task have 35"),
        (b"", "no bytes instead of a report"),
        (flipped, "checksum"),
        (other, "the report answers task"),
        (with_checksum(good[0][:5] + bytes(8) + good[0][13:-4]), "the report answers task 0000"),
    ]:
        # 500 rows in each of four partitions.
        broken = [*good[:1234], *[bad] * count, *good[1234 + count :]]
        with pytest.raises(ReportError, match=problem) as raised:
            aggregate(frame(spark, broken, 4), made("few").task)
        assert (raised.value.partition, raised.value.row) == (2, 234)
        assert str(raised.value).startswith("partition 2, row 234: ")

        total, counts = aggregate(frame(spark, broken, 4), made("few").task, skip_invalid=True, with_counts=True)
        assert (counts.records, counts.duplicates, counts.skipped) == (2000 - count, 0, count)
        assert counts.first_skipped == str(raised.value)
        expected = ldp_pca.aggregate(b"".join(good[:1234] + good[1234 + count :]), made("few").task)
        assert total == expected


@pytest.mark.parametrize("most", [1 << 20, 50], ids=["in memory", "by Spark's grouping"])
def test_a_broken_copy_does_not_stand_in_for_a_good_one(spark: Any, made: Make, monkeypatch: Any, most: int) -> None:
    monkeypatch.setattr("ldp_pca.spark._MOST_SUSPECTS", most)
    rows = few(made)
    broken = [bytes([*row[:29], 0, *row[30:-1], row[-1] ^ 1]) for row in rows[:200]]
    copies = [*broken, *rows, *rows[:200]]
    total, counts = aggregate(frame(spark, copies, 5), made("few").task, skip_invalid=True, with_counts=True)
    assert total.to_bytes() == made("few").state
    assert (counts.duplicates, counts.skipped) == (200, 200)


def test_the_first_of_bad_rows_is_told_of_nulls_or_not(spark: Any, made: Make) -> None:
    good, task = few(made), made("few").task
    flipped = bytes([*good[0][:-1], good[0][-1] ^ 1])
    for rows, first, problem in [
        ([*good[:3], flipped, *good[3:9], None], 3, "checksum"),
        ([*good[:3], None, None, *good[3:9], flipped], 3, "null"),
    ]:
        with pytest.raises(ReportError, match=f"partition 0, row {first}: .*{problem}") as raised:
            aggregate(frame(spark, rows, 1), task)
        total, counts = aggregate(frame(spark, rows, 1), task, skip_invalid=True, with_counts=True)
        assert counts == Counts(9, 0, len(rows) - 9, str(raised.value))
        expected = ldp_pca.aggregate(b"".join(good[:9]), task)
        assert total == expected


@pytest.mark.parametrize("most", [1 << 20, 50], ids=["in memory", "by Spark's grouping"])
def test_a_row_that_is_gone_at_the_second_reading_is_noticed(
    spark: Any, made: Make, monkeypatch: Any, tmp_path: Path, most: int
) -> None:
    monkeypatch.setattr("ldp_pca.spark._MOST_SUSPECTS", most)
    rows = few(made)

    def fickle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        read = tmp_path / str(context.partitionId())
        again = read.exists()
        read.touch()
        for batch in batches:
            yield batch.slice(1) if again and context.partitionId() == 0 else batch

    copies = frame(spark, rows + rows[-200:], 3).mapInArrow(fickle, "report binary")
    with pytest.raises(ClusterError, match="had other rows when Spark computed a part of it again"):
        aggregate(copies, made("few").task)


def test_columns(spark: Any, made: Make) -> None:
    reports, task = frame(spark, list(few(made)), 2), made("few").task
    named = reports.withColumnRenamed("report", "a `b`.c")
    assert aggregate(named.selectExpr("1 AS report", "*"), task, "a `b`.c").to_bytes() == made("few").state
    with pytest.raises(ReportError, match=r"no column 'report' among its 1$"):
        aggregate(named, task)
    with pytest.raises(ReportError, match="the column 'report' is string"):
        aggregate(reports.selectExpr("hex(report) AS report"), task)


def test_no_failure_says_what_rows_hold(spark: Any, made: Make) -> None:
    """Neither where records are taken for reports, nor where bytes that may be anything are none."""
    text, task = "s3cret-7f3a", made("few").task
    columns = {
        "another column": f"'{text}' AS `{text}`",
        "texts": f"'{text}' AS report",
        "a record": f"named_struct('{text}', 73155245) AS report",
        "records": f"array(map('{text}', '{text}')) AS report",
        "bytes": f"CAST('{text}' AS binary) AS report",
        "long bytes": f"CAST(repeat('LDPR{text}', 9) AS binary) AS report",
    }
    for name, column in columns.items():
        rows = spark.range(4).selectExpr(column)
        with pytest.raises(LdpPcaError) as raised:
            aggregate(rows, task)
        said = [str(raised.value), repr(vars(raised.value)), "".join(traceback.format_exception(raised.value))]
        if "bytes" in name:
            counts = aggregate(rows, task, skip_invalid=True, with_counts=True)[1]
            assert counts.skipped == 4
            said.append(repr(counts))
        for words in said:
            assert not any(mark in words for mark in ("s3cret", "7f3a", "7315524")), f"{name}: {words}"


def test_settings_are_as_they_were(spark: Any, made: Make) -> None:
    names = ["spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.parquet.columnarReaderBatchSize"]
    spark.conf.set(names[0], "123")
    try:
        aggregate(frame(spark, list(few(made)), 2), made("few").task)
        with pytest.raises(ReportError):
            aggregate(frame(spark, [b"bad"], 2), made("few").task)
        assert [spark.conf.get(name) for name in names] == ["123", "4096"]
    finally:
        spark.conf.unset(names[0])


def test_executors_with_another_version(spark: Any, made: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(ldp_pca, "__version__", "77.0.0")
    with pytest.raises(
        ClusterError, match=r"the driver has ldp_pca 77\.0\.0, and .* has ldp_pca \d.* \(in .*\): install the same"
    ):
        aggregate(frame(spark, list(few(made)), 2), made("few").task)


@pytest.mark.parametrize("failure", ["raises", "dies"])
def test_a_task_that_fails_in_local_mode_is_told_to_have_had_one_try(
    spark: Any, made: Make, failing_once: Callable[[str], Any], failure: str
) -> None:
    reports = made("few")
    failing = spark.read.parquet(str(reports.parquet)).mapInArrow(failing_once(failure), "report binary")
    with pytest.raises(ClusterError, match=r"not try it again in local mode.*: use the master local\[2,4\]") as raised:
        aggregate(failing, reports.task)
    cause = str(raised.value.__cause__)
    assert ("OSError: no space" if failure == "raises" else "Python worker exited unexpectedly") in cause
    # Another job is another chance.
    assert aggregate(failing, reports.task).to_bytes() == reports.state


#: What a user runs. The first line of its output is the error without PYSPARK_PYTHON, the others are those with it.
SCRIPT = """
import sys
from pyspark.sql import SparkSession
from ldp_pca import ClusterError, Task
from ldp_pca.spark import aggregate

task, reports, other, *pythons = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
context = spark.sparkContext
for python in [context.pythonExec, *pythons, other]:
    context.pythonExec = python
    if python == other:
        context.pythonVer = "3.99"
    try:
        aggregate(spark.read.parquet(reports), Task.from_file(task))
    except ClusterError as error:
        shown = error.__cause__ or (not error.__suppress_context__ and error.__context__)
        print(error, "and Spark's trace" if shown else "")
"""


def test_workers_of_another_python_are_told_with_the_remedy(made: Make, tmp_path: Path) -> None:
    """Without PYSPARK_PYTHON they are the path's python3: here one without packages.

    Then one that has all but this package, one that does not exist, and one that is not of the driver's version.
    """
    for name in ("bare", "nearly"):
        venv.create(tmp_path / name, symlinks=True)
    (packages,) = (tmp_path / "nearly").glob("lib/python*/site-packages")
    for pattern in ("numpy*", "pyarrow*"):
        for package in Path(pa.__file__).parents[1].glob(pattern):
            (packages / package.name).symlink_to(package)
    pythons = {name: str(tmp_path / name / "bin" / "python3") for name in ("bare", "nearly", "none")}
    variables = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "PYTHONPATH")}
    variables["PATH"] = f"{tmp_path / 'bare' / 'bin'}{os.pathsep}{variables['PATH']}"
    reports = made("few")
    words = [sys.executable, "-c", SCRIPT, str(reports.task_file), str(reports.parquet)]
    words += [sys.executable, pythons["nearly"], pythons["none"]]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    remedy = (
        f"set PYSPARK_PYTHON to a Python {version} that has ldp_pca {ldp_pca.__version__} and pyarrow on every "
        "executor, or ship the environment (docs/guides/spark.md)"
    )
    missing = f"no ldp_pca: No module named 'ldp_pca' (in {pythons['nearly']}): install the same on both"
    assert [line.strip() for line in done.stdout.splitlines()] == [
        f"the executors' Python (python3) has no pyarrow: {remedy}",
        f"the driver has ldp_pca {ldp_pca.__version__}, and {socket.gethostname()} has {missing}, or {remedy}",
        f"the executors' Python ({pythons['none']}) cannot be run: {remedy}",
        f"the executors' Python ({sys.executable}) is {version}, and the driver's is 3.99: {remedy}",
    ], done.stderr
