"""Local mode with the number of tries that the message about a failed task advises."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ldp_pca.spark import Counts, aggregate

MASTER = "local[2,4]"


@pytest.mark.parametrize("failure", ["raises", "dies"])
def test_a_task_that_fails_is_tried_again(
    spark: Any, made: Callable[[str], Any], failing_once: Callable[[str], Any], failure: str
) -> None:
    reports = made("few")
    failing = spark.read.parquet(str(reports.parquet)).mapInArrow(failing_once(failure), "report binary")
    total, counts = aggregate(failing, reports.task, with_counts=True)
    assert total.to_bytes() == reports.state
    assert counts == Counts(reports.count, 0, 0, None)
