"""Pictures of plans and of what was recovered, by matplotlib, which is imported when the first is drawn."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .errors import PlanError, RecoveryError

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._planning import Plan
    from ._recovery import Recovery

_EDGE: dict[str, Any] = {"linestyle": "--", "color": "gray"}


@lru_cache(maxsize=1)
def _picture() -> type[Figure]:
    """A figure that notebooks show, also where pyplot was never imported."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a plot takes matplotlib: pip install 'ldp-pca[plot]'") from error

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png")
            return written.getvalue()

    return Picture


def _panels(ax: Any, count: int, size: tuple[float, float]) -> list[Axes]:
    """So many axes: those given, as many within one, or new ones."""
    if ax is None:
        drawn = _picture()(figsize=size, layout="constrained").subplots(1, count, squeeze=False)
        return list(drawn.flat)
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    place = axes[0].get_subplotspec() if len(axes) == 1 and count > 1 else None
    if place is not None:
        axes[0].set_axis_off()
        grid = place.subgridspec(1, count)
        axes = [axes[0].figure.add_subplot(grid[0, column]) for column in range(count)]
    if len(axes) != count:
        problem = f"ax has {len(axes)} axes for {count} panels"
        raise ValueError(f"{problem}: give those of plt.subplots(1, {count}), or one that subplots made")
    return axes


def _figure(axes: Axes) -> Figure:
    """The figure of these axes: the whole one, where they are in a part of it."""
    part: Any = axes.figure
    whole: Figure = part.figure
    return whole


def of_recovery(found: Recovery, features: int, scores: npt.ArrayLike | None, ax: Any) -> Figure:
    """Draw the variances, the loadings, and the scores if there are any."""
    if found.refined is not None:
        raise RecoveryError("there is no picture of two waves, whose noise has no edge: draw that of the first alone")
    points = None if scores is None else np.asarray(scores, dtype=np.float64)
    if points is not None and (points.ndim != 2 or points.shape[1] != found.rank):
        raise RecoveryError(f"the scores have the shape {points.shape}: give (n, {found.rank}), as of `transform`")
    shown = np.sort(np.argsort(-found.leverages, kind="stable")[:features])
    height = max(3.5, 0.22 * len(shown) + 1)
    panels = _panels(ax, 2 if points is None else 3, (9 if points is None else 13, height))
    _variances(panels[0], found)
    _loadings(panels[1], found, shown)
    if points is not None:
        _scores(panels[2], found, points)
    return _figure(panels[0])


def _variances(axes: Axes, found: Recovery) -> None:
    from matplotlib.ticker import MaxNLocator

    # Without the spectrum those beyond the rank are not there.
    known, standing = found.eigenvalues, found.standing_out
    if found.spectrum is not None:
        known, standing = found.spectrum, list(range(found._all_standing))
    values = known[: max(3 * found.rank, 12)]
    places = np.arange(1, len(values) + 1)
    axes.plot(places, values, "o-", color="silver")
    marked = [index for index in standing if index < len(values)]
    axes.plot(places[marked], values[marked], "o", color="C0", label=f"{len(standing)} of {len(known)} stand out")
    # Without a test, and where all stand out, there is only the edge that data without structure exceed too.
    is_beside = found.edge_beside != found.noise_edge
    edge = "noise edge, beside what stands out" if is_beside else "edge of noise beside no variance"
    axes.axhline(found.edge_beside, label=edge, **_EDGE)
    axes.set(xlabel="component", ylabel="variance, with the bias of the noise")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def _loadings(axes: Axes, found: Recovery, shown: npt.NDArray[np.intp]) -> None:
    height = 0.8 / found.rank
    for index, loadings in enumerate(found.components):
        errors = None if found.confidence is None else 2 * found.confidence.loading_errors[index][shown]
        place = np.arange(len(shown)) + height * (index - (found.rank - 1) / 2)
        label = f"component {index + 1}" + (" (noise)" if index in found.noise else "")
        axes.errorbar(loadings[shown], place, xerr=errors, fmt="o", markersize=4, label=label)
    axes.axvline(0.0, color="gray", linewidth=0.8)
    axes.set_yticks(np.arange(len(shown)), [found.feature_names[row] for row in shown])
    axes.invert_yaxis()
    axes.set(xlabel="loading" if found.confidence is None else "loading, with two root mean squared errors")
    # Above, where no loading is.
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(found.rank, 3), frameon=False)


def _scores(axes: Axes, found: Recovery, points: npt.NDArray[np.float64]) -> None:
    style: dict[str, Any] = {"s": 8, "alpha": max(0.05, min(1.0, 500 / len(points))), "linewidths": 0}
    if found.rank == 1:
        axes.hist(points[:, 0], bins="auto")
        axes.set(xlabel="score of component 1", ylabel="rows")
        return
    axes.scatter(points[:, 0], points[:, 1], **style)
    axes.set(xlabel="score of component 1", ylabel="score of component 2")


def of_plan(plan: Plan, found: Callable[[int], float | None], ax: Any) -> Figure:
    """Draw the predicted share of the structure found against the number of reports, with the answers of the plan."""
    answers = {plan.records: "", plan.records_for_share: "", plan.records_for_target: f"error {plan.target}, "}
    known = [records for records in (*answers, *plan.threshold_records) if records]
    if not known:
        raise PlanError("no number of reports tells the components apart, so there is nothing to draw")
    [axes] = _panels(ax, 1, (6, 3.8))
    counts = np.unique(np.geomspace(max(min(known) / 5, 2), 5 * max(known), 60).astype(np.int64))
    # No number where there is no structure.
    shares = np.array([found(int(count)) for count in counts], dtype=np.float64)
    axes.plot(counts, shares, label=f"predicted, epsilon {plan.epsilon:g}")
    for records, also in answers.items():
        share = None if records is None else found(records)
        if records is not None and share is not None:
            axes.plot([records], [share], "o", label=f"{also}{share:.1%} at {records:,} reports")
    axes.set(xscale="log", xlabel="reports", ylabel="share of the structure found", ylim=(0, 1))
    axes.legend()
    return _figure(axes)
