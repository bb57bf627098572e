"""The stages by themselves, where Spark cannot be brought to do what they guard against."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pyarrow as pa
import pytest

from ldp_pca import ClusterError, Task
from ldp_pca import _spark_stages as stages
from ldp_pca.spark import _coalesced, _job, _Total, _watch

KEYS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def job(task: Task, **changes: Any) -> stages.Job:
    return stages.Job(task.to_json(), KEYS, 4, 2, 1 << 20, 100, False)._replace(**changes)


def run(stage: str, of: stages.Job, batches: list[pa.RecordBatch], partition: int = 0) -> list[pa.RecordBatch]:
    return list(stages.run(stage, tuple(of), iter(batches), partition, None))


def batch(rows: np.ndarray[Any, Any]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([row.tobytes() for row in rows], pa.binary())], names=["report"])


def total(batches: list[pa.RecordBatch], task: Task, **changes: Any) -> _Total:
    return _Total([row for rows in batches for row in rows.to_pylist()], job(task, **changes))


def of_kinds(batches: list[pa.RecordBatch], kinds: tuple[int, ...]) -> list[pa.RecordBatch]:
    chosen = (rows.filter(pa.array([kind in kinds for kind in rows["kind"].to_pylist()])) for rows in batches)
    return [rows for rows in chosen if rows.num_rows]


def test_what_was_not_summed_once_and_from_one_reading_is_noticed(made: Callable[[str], Any]) -> None:
    """The sum of one try of a task beside ids or tags of one that read something else, as many; and a sum twice."""
    reports = made("few")
    of = job(reports.task)
    once, again = (run("partial_sums", of, [batch(reports.rows()[first : first + 10])]) for first in (0, 1))
    for parts, honest in [
        (once, True),
        (of_kinds(once, (stages.STATE,)) + of_kinds(again, (stages.PRINTS,)), False),
        (of_kinds(once, (stages.STATE, stages.PRINTS)) + of_kinds(again, (stages.TAGS,)), False),
        (once + of_kinds(once, (stages.STATE,)), False),
    ]:
        summed = total(run("merged", of, parts), reports.task)
        if honest:
            summed.check(summed.counted("checked"))
            continue
        with pytest.raises(ClusterError, match="had other rows when Spark computed a part of it again"):
            summed.check(summed.counted("checked"))


def test_repeated_ids_are_told_of_up_to_a_number(made: Callable[[str], Any]) -> None:
    rows = made("few").rows()
    for most, told in ((30, 30), (29, 30), (10, 11)):
        of = job(made("few").task, most_repeated=most)
        partial = run("partial_sums", of, [batch(rows), batch(rows[:30])])
        merged = run("merged", of, run("merged", of, partial))
        assert len(total(merged, made("few").task, most_repeated=most).repeats) == told


def test_the_last_task_holds_no_more_repeated_ids_than_it_tells_of(made: Callable[[str], Any]) -> None:
    """The limit holds for any number of earlier tasks, each of which reports as many."""
    merge = stages.Merge(job(made("few").task, most_repeated=10))
    for task in range(20):
        merge.take(stages.REPEATED, 0, pa.py_buffer(np.arange(11 * task, 11 * task + 11, dtype="<u8").tobytes()))
    assert [len(prints) for prints in merge.repeated] == [11]
    assert [(kind, len(prints)) for _, kind, _, prints in merge.compare_prints()] == [(stages.REPEATED, 11)]


class Elsewhere:
    """What sessions answer where the driver's internals are out of reach, and the platform chooses partitions."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.conf = {"spark.sql.shuffle.partitions": "auto"}

    def __getattr__(self, name: str) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [AttributeError("version 4"), NotImplementedError("version 3.5")])
def test_sessions_without_a_context_and_with_partitions_that_spark_chooses(
    made: Callable[[str], Any], error: Exception
) -> None:
    session: Any = Elsewhere(error)
    with _watch(session) as failures:
        assert failures is None
    assert _job(session, made("few").task, 1 << 20, False).buckets == 200
    assert _coalesced(session, made("few").task) is session


def test_no_two_ids_have_one_fingerprint() -> None:
    """Ids that differ in few bits, which is where a poor mixture shows. The chance of a collision is 2^-24."""
    ids = np.array([(a << shift, b << shift) for shift in (0, 31, 52) for a in range(700) for b in range(700)])
    words = np.unique(ids.astype(np.uint64), axis=0)
    prints = stages.fingerprints(words, KEYS)
    assert len(np.unique(prints)) == len(words)
    buckets = np.bincount((prints >> np.uint64(61)).astype(np.int64), minlength=8)
    assert buckets.max() < 1.02 * buckets.min()


def test_rows_between_stages_are_no_longer_than_asked(made: Callable[[str], Any]) -> None:
    reports = made("few")
    of = job(reports.task, row_bytes=64)
    rows = [row for part in run("partial_sums", of, [batch(reports.rows())]) for row in part.to_pylist()]
    assert {row["kind"] for row in rows} == {stages.STATE, stages.PRINTS, stages.TAGS}
    assert max(len(row["data"]) for row in rows if row["kind"] != stages.TAGS) == 64 + 16
    assert reports.task.report_bytes * reports.count > sum(len(row["data"]) for row in rows)
