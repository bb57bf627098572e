"""Components by the likelihood of every single report, as the command line finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import ldp_pca
from ldp_pca import (
    Aggregate,
    AggregateError,
    Randomizer,
    RecoveryError,
    ReportError,
    Reports,
    Task,
    recover,
)

RANK = 2


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(12, epsilon=2.0, folds=4)


@pytest.fixture(scope="module")
def collected(task: Task) -> Reports:
    records = np.random.default_rng(3).normal(size=(8000, 12)) * [6, 3, *[1] * 10]
    return Randomizer(task).randomize(records, insecure_seed=3)


@pytest.fixture(scope="module")
def sums(task: Task, collected: Reports) -> Aggregate:
    return ldp_pca.aggregate(collected, task)


@pytest.mark.parametrize("rank", [RANK, "auto"])
def test_the_pass_is_the_command_lines(
    command: Callable[..., dict[str, Any]], task: Task, collected: Reports, sums: Aggregate, tmp_path: Path, rank: Any
) -> None:
    task.save(tmp_path / "task.json")
    (tmp_path / "monday").write_bytes(collected[:5000].to_bytes())
    # Some are in both files.
    (tmp_path / "tuesday").write_bytes(collected[4000:].to_bytes())
    files = [tmp_path / "monday", tmp_path / "tuesday"]
    answer = command("recover", "-t", tmp_path / "task.json", "--rank", rank, "--likelihood", "--reports", *files)
    found = recover(sums, rank, likelihood=files)
    assert found.likelihood == answer["likelihood"]
    assert found.likelihood is not None
    assert found.likelihood["refined"] == found.rank == RANK
    assert found.likelihood["captured"]["value"] > 0
    np.testing.assert_array_equal(found.components, answer["components"])
    assert found.unfinished == []
    assert recover(sums, rank).likelihood is None


def test_reports_come_in_every_form_that_aggregate_takes(
    task: Task, collected: Reports, sums: Aggregate, tmp_path: Path
) -> None:
    expected = recover(sums, RANK, method="pca", likelihood=collected).likelihood
    assert expected is not None
    table = pa.table({"report": pa.array(collected)})
    parquet.write_table(table, tmp_path / "reports.parquet")
    halves = [collected[:3000], tmp_path / "reports.parquet"]
    for form in (table, list(collected), halves, tmp_path / "reports.parquet"):
        found = recover(sums, RANK, method="pca", likelihood=form).likelihood
        assert found is not None
        assert found["offered"] == expected["offered"]
        # Sums of floats in another order.
        np.testing.assert_allclose(found["distance"], expected["distance"], rtol=1e-4)


def test_other_reports_than_those_of_the_sums_are_refused(task: Task, collected: Reports, sums: Aggregate) -> None:
    with pytest.raises(RecoveryError, match="the 7999 reports for likelihood are not the 8000"):
        recover(sums, RANK, likelihood=collected[1:])
    others = ldp_pca.aggregate(collected[:4000], task)
    with pytest.raises(RecoveryError, match="the 4000 reports for likelihood are not the 4000"):
        recover(others, RANK, likelihood=collected[4000:])
    with pytest.raises(AggregateError, match="a likelihood pass needs the reports"):
        recover(sums, RANK, likelihood=sums)
    with pytest.raises(ReportError, match="row 2"):
        recover(sums, RANK, likelihood=[*list(collected[:2]), b"no report"])


def test_a_pass_that_there_is_none_of_is_refused(collected: Reports, sums: Aggregate) -> None:
    for other in (Task(12, epsilon=2.0, centring=True), Task(12, epsilon=2.0, mechanism="gaussian")):
        with pytest.raises(RecoveryError, match=r"a likelihood pass .* this task has"):
            recover(Aggregate(other), RANK, likelihood=[])
    with pytest.raises(RecoveryError, match="leave no direction to turn to"):
        recover(sums, 12, likelihood=collected)
    with pytest.raises(RecoveryError, match=r"^likelihood beside refined"):
        recover(sums, RANK, refined=sums, likelihood=collected)


def test_time_and_progress_are_those_of_the_other_parts(collected: Reports, sums: Aggregate) -> None:
    shown = []

    class Shown:
        def __init__(self, **what: Any) -> None:
            shown.append(what["desc"])

        def update(self, n: int) -> None:
            pass

        def close(self) -> None:
            pass

    recover(sums, RANK, method="pca", likelihood=collected, progress=Shown)
    assert shown[0] == "aggregating"
    assert "likelihood" in shown
    cut = recover(sums, RANK, method="pca", likelihood=collected, time_limit=1e-9)
    assert cut.likelihood is None
    (missing,) = [part for part in cut.unfinished if part["part"] == "likelihood"]
    assert missing["done"] < 3 * 8000
