"""Whatever bytes come: an exception or a sum, never a crash, and never half of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_pca import Aggregate, AggregateError, Collection, Randomizer, ReportError, Task

TASK = Task(3, epsilon=2.0, folds=2)
GOOD = list(Randomizer(TASK).randomize(np.random.default_rng(1).normal(size=(40, 3)), insecure_seed=1))

# Reports, cut or altered in one place, and bytes of any kind.
altered = st.builds(
    lambda report, place, byte: report[:place] + bytes([byte]) + report[place + 1 :],
    st.sampled_from(GOOD),
    st.integers(0, 34),
    st.integers(0, 255),
)
cut = st.builds(lambda report, length: report[:length], st.sampled_from(GOOD), st.integers(0, 34))
rows = st.lists(st.one_of(st.sampled_from(GOOD), altered, cut, st.binary(max_size=40)), max_size=12)


@settings(deadline=None)
@given(rows, st.sampled_from(["list", "binary", "large", "view"]))
def test_an_update_adds_all_reports_or_none(rows: list[bytes], form: str) -> None:
    kinds = {"binary": pa.binary(), "large": pa.large_binary(), "view": pa.binary_view()}
    given_rows = rows if form == "list" else pa.array(rows, kinds[form])
    good = [row in GOOD for row in rows]
    aggregate, collection = Aggregate(TASK), Collection(TASK, threads=1)
    try:
        added = aggregate.update(given_rows)
    except ReportError as error:
        assert error.row == good.index(False)
        assert aggregate == Aggregate(TASK)
    except AggregateError:
        assert all(good)
        assert len(set(rows)) < len(rows)
        assert aggregate == Aggregate(TASK)
    else:
        assert all(good)
        assert len(set(rows)) == len(rows)
        assert added == aggregate.records == len(rows)
    try:
        added = collection.update(given_rows)
    except ReportError as error:
        assert error.row == good.index(False)
        assert collection.records == 0
    else:
        assert added == len(set(rows))
    skipping = Collection(TASK, threads=1, skip_invalid=True)
    skipping.update(given_rows)
    assert (skipping.records, skipping.skipped) == (len(set(rows) & set(GOOD)), good.count(False))
