"""Planning: how many reports it takes, before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Literal

from ._answers import Answer, Floats, made
from ._native import Aggregate, _plan
from ._recovery import Prediction, numbered
from .errors import PlanError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mechanism = Literal["double-cap", "gaussian", "wang-xu"]


@dataclass(frozen=True, eq=False)
class ShuffledPlan(Answer):
    """The answers for reports that somebody trusted shuffles first: each batch keeps ``epsilon`` with ``delta``.

    Attributes
    ----------
    epsilon, delta : float
        Of each batch.
    honest_reports : int
        In each batch.
    local_epsilon : float or None
        Of each report, where there is one that keeps the guarantee of a batch.
    predicted : Prediction or None
        What those of the ``records`` that fill a batch give at that epsilon.
    records_for_target, records_for_share : int or None
        Reports at that epsilon that reach the target, or find the share, in whole batches.
    epsilon_for_target : float or None
        Of each batch where ``records`` reports reach the target.
    """

    epsilon: float
    delta: float
    honest_reports: int
    local_epsilon: float | None
    predicted: Prediction | None
    records_for_target: int | None
    records_for_share: int | None
    epsilon_for_target: float | None


@dataclass(frozen=True, eq=False)
class Plan(Answer):
    """The prediction for a collection. Answers that were not asked for, or are not finite, are None.

    Attributes
    ----------
    dimension, rank : int
        Features, and components.
    signals : ndarray
        The eigenvalues above the bulk, of the covariance with centring.
    bulk : float
        Every other eigenvalue.
    epsilon : float
        Of one report.
    guarantee : str
        The guarantee of one report.
    uninformed : float
        The error of a random subspace.
    threshold_records : list of int or None
        For each component, the reports from which on it is recoverable; None where no number is enough.
    records, share, target : int, float or None
        The questions.
    waves : dict or None
        With ``waves=2``, what a second wave that refines the first is predicted to add. Its keys are those of
        ``ldp-pca plan --json``; it has ``refused`` where one wave is advised, and then `reasons` says why.
    clipping : dict or None
        Where records are clipped, what the ``radius`` costs: ``mean_square`` and ``people`` as of `Norms`. `reasons`
        warns of one that costs more than 2.5 times the people.
    predicted : Prediction or None
        The prediction for ``records`` reports.
    records_for_share : int or None
        Reports that find the ``share`` of the structure.
    records_for_target : int or None
        Reports that reach ``target``.
    epsilon_for_target : float or None
        Epsilon at which ``records`` reports reach ``target``; None above 16.
    shuffled : ShuffledPlan or None
        The same for a collection that is released in anonymised batches.
    proved_share, conjectured_share : float or None
        The share of these people that other unbiased reports of this promise would need at least, for the same error of
        the second moments where no direction is special (docs/privacy/optimality.md): what is proved, and what is
        conjectured. Only with double-cap and unit norm, without centring and shuffling.
    notes : list of str
        What to know of the ``spectrum`` that was stated.
    """

    dimension: int
    rank: int
    signals: Floats
    bulk: float
    epsilon: float
    guarantee: str
    uninformed: float
    records: int | None
    share: float | None
    target: float | None
    threshold_records: list[int | None]
    predicted: Prediction | None
    records_for_share: int | None
    records_for_target: int | None
    epsilon_for_target: float | None
    shuffled: ShuffledPlan | None
    proved_share: float | None
    conjectured_share: float | None
    notes: list[str]
    waves: dict[str, Any] | None
    clipping: dict[str, Any] | None
    # Whether the radius costs too many people.
    _costs_much: bool
    # Why two waves are not advised.
    _advice: str | None
    # The native part's answers for the same collection.
    _asked: Callable[..., str] = field(compare=False)

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """Draw the predicted share of the structure found against the number of reports, with the answers.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a figure of its own.

        Raises
        ------
        ImportError
            Without matplotlib.
        PlanError
            Where no number of reports tells the components apart.
        """
        from ._pictures import of_plan

        return of_plan(self, self._found, ax)

    def _found(self, records: int) -> float | None:
        """Predict the share of the structure that another number of reports finds."""
        text = self._asked(records=records, share=None, target=None, shuffled=None, batch=None, waves=1)
        found: float | None = json.loads(text)["predicted"]["share_found"]
        return found

    @property
    def reasons(self) -> list[str]:
        """For each answer that was asked for and is None, the reason; and those against two waves and a radius."""
        reasons = []
        lost = [index for index, records in enumerate(self.threshold_records or []) if records is None]
        if lost:
            verb = "has" if len(lost) == 1 else "have"
            reasons.append(
                f"{numbered(lost)} {verb} no more variance than the bulk: no number of reports tells them apart"
            )
        if self.share is not None and self.records_for_share is None:
            problem = f"no number of reports finds {self.share:g} of the structure"
            reasons.append(f"{problem}: state a smaller share, or a spectrum with components above the others")
        if self.target is not None and self.records_for_target is None:
            problem = f"no number of reports reaches an error of {self.target:g}"
            reasons.append(f"{problem}: state a larger one, or a smaller rank")
        if self.target is not None and self.records is not None and self.epsilon_for_target is None:
            reasons.append(
                f"{self.records:,} reports reach an error of {self.target:g} at no epsilon up to 16: ask more people, "
                "or state a larger error"
            )
        if self._advice is not None:
            reasons.append(f"one wave: {self._advice}")
        if self.clipping is not None and self._costs_much:
            people = self.clipping["people"]
            cost = "more people than can be told" if people is None else f"{people:.3g} times the people of unit norm"
            reasons.append(f"radius {self.clipping['radius']:g}: {cost}: choose one that half of the records reach")
        return reasons

    def __repr__(self) -> str:
        """The answers, the reasons for those that are missing, and the notes."""
        facts: list[str] = []
        if self.predicted is not None and self.predicted.share_found is not None:
            facts.append(f"share_found={self.predicted.share_found:.4g}")
        if self.share is not None:
            facts.append(f"records_for_share={self.records_for_share}")
        facts += [f"rank={self.rank}", f"dimension={self.dimension}", f"epsilon={self.epsilon:g}"]
        facts.append(f"threshold_records={self.threshold_records}")
        if self.predicted is not None:
            facts.append(f"predicted={self.predicted.sin_theta_squared:.4g} of {self.uninformed:.3g}")
        if self.waves is not None:
            first, second = self.waves["records"]
            facts.append(f"two waves of {first:,} and {second:,}={self.waves['sin_theta_squared']:.4g}")
        if self.target is not None:
            facts.append(f"records_for_target={self.records_for_target}")
        if self.target is not None and self.records is not None:
            enough = self.epsilon_for_target
            facts.append("epsilon_for_target=" + ("None" if enough is None else f"{enough:.4g}"))
        return "\n".join([f"Plan({', '.join(facts)})", *(f"  {line}" for line in [*self.reasons, *self.notes])])


def plan(
    aggregate: Aggregate | None = None,
    *,
    rank: int = 3,
    dimension: int | None = None,
    spectrum: Sequence[float] | None = None,
    bulk: float | None = None,
    epsilon: float | None = None,
    mechanism: Mechanism = "double-cap",
    delta: float | None = None,
    candidates: int | None = None,
    cap: int | None = None,
    records: int | None = None,
    share: float | None = None,
    target: float | None = None,
    shuffled: float | None = None,
    batch: int | None = None,
    centring: bool | float | None = None,
    mean_share: float | None = None,
    waves: Literal[1, 2] = 1,
    radius: float | None = None,
    norms: Aggregate | None = None,
) -> Plan:
    """Predict how many users it takes, and what they find of the structure. Nothing is simulated.

    Give ``dimension``, ``spectrum`` and ``epsilon``; or an ``aggregate``, to plan for another collection like it.

    Parameters
    ----------
    aggregate : Aggregate, optional
        A collection whose task and spectrum are taken.
    rank : int
        The number of components.
    dimension : int
        The number of features, d.
    spectrum : sequence of float
        The largest eigenvalues of the records' second moments, as shares of their sum. They are those of bounded
        records, each divided by its norm, which those of ordinary PCA are not. Give one more than ``rank``: without it
        the next eigenvalue is taken to be that of the bulk, and near ties are predicted too optimistically. Shares
        that sum to more than 1 by rounding, at most a hundredth, are divided by their sum.
    bulk : float, optional
        Every other eigenvalue; by default the rest of 1, in equal parts.
    epsilon : float
        Of one report; of each batch, for what is ``shuffled``.
    mechanism, delta, candidates, cap
        As of `Task`.
    records : int, optional
        A number of reports, to predict what they find.
    share : float, optional
        A share of the structure between 0 and 1, to find the number of reports it takes.
    target : float, optional
        An error ``||sin Theta||_F^2``, to find the number of reports it takes, and with ``records`` the epsilon.
    shuffled : float, optional
        Also plan for reports that somebody trusted shuffles before anybody sees them, with this delta of each batch.
    batch : int, optional
        The honest reports in one batch that is released, with ``shuffled``.
    centring : bool or float, optional
        As of `Task`. The spectrum is then that of the covariance, in shares of the variance about the mean.
    mean_share : float, optional
        With centring, the mean's share of the second moments about zero, at least 0 and below 1: zero by default. The
        mean is assumed to be orthogonal to the components.
    waves : int
        2 to plan also for two waves of different people, ``records`` in all, of whom the second refine what the first
        found (docs/guides/two-waves.md).
    radius, norms : float and Aggregate, optional
        Plan for records that are clipped at this radius, of the lengths that the sums of a task of `Task.norms` show
        (docs/guides/lengths.md). The eigenvalues that the plan has are then in units of the radius.

    Raises
    ------
    PlanError, RecoveryError, TaskError
        For a spectrum, share, target or rank that makes no sense, and parameters that a mechanism does not have.
    """
    given = dict(locals())
    if aggregate is not None:
        of_task = ("bulk", "delta", "candidates", "cap", "centring", "mean_share")
        stated = [name for name in of_task if given[name] is not None]
        stated += ["mechanism"] if mechanism != "double-cap" else []
        if stated:
            raise PlanError(f"{' and '.join(stated)} beside an aggregate: its task says what they are")
    if spectrum is not None:
        try:
            given["spectrum"] = [float(value) for value in spectrum]
        except (TypeError, ValueError):
            raise TypeError(f"spectrum is {spectrum!r}: give a list of numbers, the largest eigenvalues") from None
    asked = partial(_plan, **given)
    found = json.loads(asked())
    found.update(found.get("optimum") or {}, rank=rank, threshold_records=found["threshold_records_per_component"])
    for part in (found, found.get("shuffled") or {}):
        if part.get("predicted") is not None:
            part["predicted"] = made(Prediction, {**part["predicted"], "uninformed": found["uninformed"]})
    return made(Plan, {**found, "_asked": asked}, shuffled=ShuffledPlan)


def predict(
    records: int,
    aggregate: Aggregate | None = None,
    *,
    rank: int = 3,
    dimension: int | None = None,
    spectrum: Sequence[float] | None = None,
    bulk: float | None = None,
    epsilon: float | None = None,
    mechanism: Mechanism = "double-cap",
    delta: float | None = None,
    candidates: int | None = None,
    cap: int | None = None,
    centring: bool | float | None = None,
    mean_share: float | None = None,
    radius: float | None = None,
    norms: Aggregate | None = None,
) -> Prediction:
    """Predict what this many reports find: ``plan(aggregate, records=records, …).predicted``.

    Parameters
    ----------
    records : int
        The number of reports.
    aggregate : Aggregate, optional
        As of `plan`.
    rank, dimension, spectrum, bulk, epsilon, mechanism, delta, candidates, cap, centring, mean_share, radius, norms
        As of `plan`.
    """
    predicted = plan(**locals()).predicted
    assert predicted is not None, "records were given"
    return predicted
