"""Sums: every form of reports, all or nothing, and the same bytes whatever the order."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ldp_pca
from ldp_pca import Aggregate, AggregateError, Collection, Randomizer, ReportError, Reports, ReportTypeError, Task


def forms_of(reports: Reports) -> list[object]:
    """The reports in every form that is taken."""
    array = pa.array(reports)
    binary = array.cast(pa.binary())
    rows = list(reports)
    return [
        reports,
        reports.to_bytes(),
        reports.to_numpy(),
        np.frombuffer(reports.to_bytes(), np.uint8).reshape(len(reports), -1),
        rows,
        tuple(rows),
        iter(rows),
        np.array(rows, dtype=object),
        array,
        pa.concat_arrays([array[-5:], array])[5:],
        binary,
        binary.cast(pa.large_binary()),
        binary.cast(pa.binary_view()),
        pa.chunked_array([array[:7], array[7:7], array[7:]]),
        pa.table({"id": np.arange(len(reports)), "report": binary}),
        pa.record_batch({"report": array}),
        pa.RecordBatchReader.from_batches(pa.schema({"report": array.type}), [pa.record_batch({"report": array})]),
        pl.Series(rows),
        pl.Series("anything", rows),
        pl.DataFrame({"report": rows}),
        pd.Series(rows),
        pd.Series(rows, dtype=pd.ArrowDtype(pa.binary())),
        pd.DataFrame({"report": rows}, index=range(3, 3 + len(rows))),
    ]


def test_every_form_gives_the_same_bytes(task: Task, reports: Reports, aggregate: Aggregate) -> None:
    for form in forms_of(reports):
        sums = Aggregate(task)
        assert sums.update(form) == len(reports)
        assert sums.to_bytes() == aggregate.to_bytes(), type(form)


def test_any_order_grouping_and_number_of_threads_gives_the_same_bytes(task: Task, reports: Reports, aggregate) -> None:
    shuffled = pa.array(reports).take(pa.array(np.random.default_rng(2).permutation(len(reports))))
    parts = [Aggregate(task) for _ in range(4)]
    for index, part in enumerate(parts):
        part.update(shuffled[index * 1500 : (index + 1) * 1500], threads=index + 1)
    first, second, third, fourth = parts
    first += second
    first.merge(fourth)
    assert (third + first).to_bytes() == aggregate.to_bytes()
    assert (first.records, third.records, sum(aggregate.folds)) == (4500, 1500, 6000)


def test_reports_that_are_recognized_are_refused_and_nothing_is_added(
    task: Task, reports: Reports, more: Reports, aggregate: Aggregate
) -> None:
    state = aggregate.to_bytes()
    collection, half = Collection(task), Aggregate(task)
    half.update(list(reports)[:3000])
    collection.merge(aggregate)
    for again in (aggregate, half):
        for refused in (copy.copy(aggregate).merge, aggregate.__add__, collection.merge):
            with pytest.raises(AggregateError, match="in the other one already"):
                refused(copy.copy(again))
    for refused in (aggregate.update, collection.update):
        with pytest.raises(AggregateError, match="in the sum already"):
            refused([*list(more)[:100], *reports])
    assert aggregate.to_bytes() == collection.aggregate().to_bytes() == state
    # Even one, while the sum has no more reports than its sample.
    few = Aggregate(task)
    few.update(list(more)[:1000])
    with pytest.raises(AggregateError, match="in the sum already"):
        few.update(list(more)[999:1000])
    assert few.records == 1000


def test_copies_are_equal_and_apart(task: Task, more: Reports, aggregate: Aggregate) -> None:
    state = aggregate.to_bytes()
    copies = [copy.copy(aggregate), copy.deepcopy(aggregate), pickle.loads(pickle.dumps(aggregate))]
    copies.append(Aggregate.from_bytes(state, task))
    for other in copies:
        assert other == aggregate
        assert other.task == task
        other.update(more)
        assert other != aggregate
    assert aggregate.to_bytes() == state
    with pytest.raises(TypeError, match="unhashable"):
        hash(aggregate)


def test_reports_are_a_sequence_that_arrow_and_pickle_know(task: Task, reports: Reports) -> None:
    assert (len(reports), reports.width) == (6000, task.report_bytes)
    assert reports[0] == reports.to_bytes()[: reports.width]
    assert reports[-1] == reports.to_bytes()[-reports.width :]
    assert pa.array(reports).type == pa.binary(reports.width)
    assert reports.to_numpy().shape == (6000, reports.width)
    assert pickle.loads(pickle.dumps(reports)) == reports
    assert Reports.from_bytes(reports.to_bytes(), reports.width) == reports
    for index in (6000, -6001):
        with pytest.raises(IndexError, match="no report"):
            reports[index]
    for width in (0, 34):
        with pytest.raises(ReportError, match="not a whole number of reports"):
            Reports.from_bytes(reports.to_bytes(), width)


@pytest.fixture(scope="module")
def more(task: Task) -> Reports:
    """Other reports than those of `reports`."""
    return Randomizer(task).randomize(np.ones((78_000, 8)), insecure_seed=77)


def altered(reports: Reports, row: int) -> list[bytes]:
    rows = list(reports)
    rows[row] = rows[row][:20] + bytes([rows[row][20] ^ 1]) + rows[row][21:]
    return rows


def test_a_bad_report_adds_nothing_and_is_named_by_its_row(task: Task, reports: Reports, aggregate: Aggregate) -> None:
    other = Randomizer(Task(8, epsilon=1.0)).randomize(np.ones((1, 8)))
    rows = list(reports)
    array = pa.array(altered(reports, 4321), pa.binary())
    cases: list[tuple[object, int, str]] = [
        (altered(reports, 0), 0, "checksum"),
        (array, 4321, "checksum"),
        (pa.chunked_array([array[:4000], array[4000:]]), 4321, "checksum"),
        ([*rows[:9], other[0]], 9, "answers task"),
        ([*rows[:3], rows[3][:-1]], 3, "34 bytes where reports of this task have 35"),
        ([*rows[:3], b""], 3, "no bytes"),
        (reports.to_bytes()[:-1], 5999, "34 bytes"),
        (reports.to_numpy()[:, :30].copy(), 0, "30 bytes"),
        (pa.array([b"", b""], pa.binary(0)), 0, "no bytes"),
        (pa.array([rows[0], None, rows[1]]), 1, "null"),
        (pd.Series([rows[0], None]), 1, "null"),
        (pa.array([{"report": rows[0]}, None]), 1, "null"),
        # Whatever is declared takes no memory before it is there.
        (np.empty((1 << 42, 0), np.uint8), 0, "no bytes"),
    ]
    state = aggregate.to_bytes()
    collection = Collection(task, threads=2)
    collection.update(reports)
    for bad, row, words in cases:
        with pytest.raises(ReportError, match=f"^row {row}: .*{words}") as raised:
            aggregate.update(bad)
        assert raised.value.row == row
        with pytest.raises(ReportError, match=f"^row {row}: "):
            collection.update(bad)
    assert aggregate.to_bytes() == collection.aggregate().to_bytes() == state


def test_a_bad_report_in_a_late_batch_adds_nothing(task: Task, more: Reports) -> None:
    # More than are decoded at a time.
    assert len(more) == 78_000
    many = altered(more, 77_999)
    sums, collection = Aggregate(task), Collection(task)
    for target in (sums, collection):
        with pytest.raises(ReportError, match=r"^row 77999: ") as raised:
            target.update(many)
        assert raised.value.row == 77_999
        assert target.records == 0
    # The ids of what was not added are not remembered either.
    assert collection.update(list(more)[:6000]) == 6000
    assert sums.update(list(more)[:72_000]) == 72_000
    assert sums.records == 72_000


@pytest.mark.parametrize(
    ("reports", "error", "words"),
    [
        ("text", ReportTypeError, "not as str"),
        (None, ReportTypeError, "not as NoneType"),
        (7, ReportTypeError, "not as int"),
        ([b"", 7], ReportTypeError, r"not as int \(row 1\)"),
        (range(10**13), ReportTypeError, r"not as int \(row 0\)"),
        (pa.array([1, 2]), ReportTypeError, "this Arrow array is Int64"),
        (pa.array(["a"]), ReportTypeError, "this Arrow array is Utf8"),
        (pa.table({"reports": [b""]}), ReportError, "no column 'report' among its 1"),
        (pa.record_batch({"x": [b""]}), ReportError, "no column 'report'"),
        (pl.Series(["a"]), ReportTypeError, "this Arrow array is"),
        (np.zeros((2, 35), dtype=np.int64), ReportTypeError, "not as"),
        (np.zeros((70, 70), dtype=np.uint8)[::2, ::2], ValueError, "not contiguous"),
        (np.zeros((2, 35), dtype=np.uint8, order="F"), ValueError, r"numpy\.ascontiguousarray"),
    ],
)
def test_what_are_no_reports_is_refused(task: Task, reports, error, words: str) -> None:
    sums = Aggregate(task)
    with pytest.raises(error, match=words):
        sums.update(reports)
    assert sums.records == 0


def test_states_that_are_not_the_tasks_are_refused(task: Task, aggregate: Aggregate) -> None:
    state = aggregate.to_bytes()
    other = Task(8, epsilon=1.0, folds=3)
    for bad, of, words in [
        (state, other, "belongs to task"),
        (state[:60] + bytes([state[60] ^ 1]) + state[61:], task, "checksum"),
    ]:
        with pytest.raises(AggregateError, match=words):
            Aggregate.from_bytes(bad, of)
    for operation in (aggregate.merge, aggregate.__iadd__, aggregate.__add__):
        with pytest.raises(AggregateError, match="belongs to task"):
            operation(Aggregate(other))
        with pytest.raises(AggregateError, match="itself"):
            operation(aggregate)
    assert aggregate.to_bytes() == state
    with pytest.raises(TypeError):
        Aggregate.from_bytes("text", task)  # type: ignore[arg-type]


def test_slices_are_reports_and_sums_begin_with_0(task: Task, reports: Reports, aggregate: Aggregate) -> None:
    assert [*reports[:3]] == [reports[0], reports[1], reports[2]]
    assert [*reports[-1:1:-2000]] == [reports[index] for index in range(5999, 1, -2000)]
    assert (len(reports[7:7]), len(reports[:])) == (0, len(reports))
    assert reports[:] == reports
    parts = [ldp_pca.aggregate(reports[first : first + 2000], task) for first in range(0, 6000, 2000)]
    assert sum(parts) == aggregate
    assert parts[0].records == 2000, "sum changes none of them"
    with pytest.raises(TypeError):
        1 + aggregate  # type: ignore[operator]
    with pytest.raises(TypeError):
        reports["a"]  # type: ignore[call-overload]
