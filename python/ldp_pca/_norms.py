"""The lengths of records, and what a clipping radius costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._answers import Answer
from ._native import Aggregate, _norms


@dataclass(frozen=True, eq=False)
class Norms(Answer):
    """The lengths of records, from the reports of a task of `Task.norms` (docs/guides/lengths.md).

    Attributes
    ----------
    records : int
        The number of reports.
    guarantee : str
        The guarantee of one report.
    confidence : float
        The probability with which each interval, by itself, covers its quantile.
    quantiles : list of dict
        For each ``share`` of the records the ``length`` that they do not exceed (None outside what was asked about),
        and its interval: ``lower`` (0 where no length is below), ``upper`` (None where none is above).
    radii : list of dict
        For a ``radius`` the mean of ``min(1, |x| / radius)^2`` (``mean_square``), and how many times the ``people`` of
        unit norm the same error takes, if directions do not depend on lengths (None where nothing is left of the
        records): of the lower quartile, of the median, and of a radius that was asked about.
    """

    records: int
    guarantee: str
    confidence: float
    quantiles: list[dict[str, Any]]
    radii: list[dict[str, Any]]

    def __repr__(self) -> str:
        """The quantiles with their intervals."""
        shown = []
        for quantile in self.quantiles:
            length, upper = (
                "?" if value is None else f"{value:.3g}" for value in (quantile["length"], quantile["upper"])
            )
            shown.append(f"{quantile['share']:.0%}: {length} ({quantile['lower']:.3g} to {upper})")
        return f"Norms(records={self.records}, lengths {', '.join(shown)})"


def norms(aggregate: Aggregate, *, radius: float | None = None) -> Norms:
    """Show how long records are, and what a clipping radius costs.

    Parameters
    ----------
    aggregate : Aggregate
        The sums of a task of `Task.norms`.
    radius : float, optional
        A radius of your own, in the units of the encoded features, within the lengths that were asked about.

    Raises
    ------
    RecoveryError, RecordError
        For the sums of another task, without reports, and a radius that nothing was asked about.
    """
    found = json.loads(_norms(aggregate, radius))
    found["guarantee"] = aggregate.task.guarantee
    return Norms(**found)
