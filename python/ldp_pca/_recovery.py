"""Principal components from sums, dense or sparse, with what is known about their error."""

from __future__ import annotations

import html
import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._answers import Answer, Bools, Floats, made
from ._covariance import Mean
from ._native import (
    Aggregate,
    PublicSample,
    Task,
    _components,
    _recover,
    _recover_refined,
    _share_found,
    _sin_theta_squared,
)
from ._progress import Parts, Progress
from .errors import NoiseWarning, RecoveryError, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Prediction(Answer):
    """What the leading components are predicted to find, from the known noise.

    Attributes
    ----------
    share_found : float or None
        The share of the structure that they find (docs/guides/how-many-people.md): 1 for the true components, 0 for a
        random subspace on average; None where no eigenvalue is above the others, and of a recovery where no component
        stands out.
    sin_theta_squared : float
        The error ``||sin Theta||_F^2`` of the whole subspace: 0 is the same subspace, ``uninformed`` a random one.
    per_component : ndarray of shape (rank,)
        The share of each true component that the subspace misses.
    recoverable : ndarray of shape (rank,)
        Whether each component's variance is above the threshold.
    uninformed : float
        The error of a random subspace.
    threshold : float
        The true variance above which a component can be recovered at all.
    """

    share_found: float | None
    sin_theta_squared: float
    per_component: Floats
    recoverable: Bools
    uninformed: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Confidence(Answer):
    """The error of the components reported, from new draws of the known noise.

    Attributes
    ----------
    replicates : int
        The number of draws.
    level : float
        The nominal coverage of each interval; docs/guides/recover.md states the assumptions.
    share_found : dict or None
        The interval from ``lower`` to ``upper`` of the share of the structure that the components find; None where the
        estimate has no structure.
    lower, upper, median : float
        Of ``||sin Theta||_F^2``.
    components : list of dict
        For each component its ``eigenvalue`` corrected for the noise, whether its direction is ``distinguishable``
        from one of noise, and the interval from ``lower`` to ``upper`` of the share that is missed.
    support_stability : ndarray of shape (d,)
        For every feature, the share of replicates that have it in their support.
    loading_errors : ndarray of shape (rank, d)
        Root mean squared error of every loading.
    """

    replicates: int
    level: float
    share_found: dict[str, float] | None
    lower: float
    upper: float
    median: float
    components: list[dict[str, Any]]
    support_stability: Floats
    loading_errors: Floats

    def __repr__(self) -> str:
        """The interval of the share found, and of the error."""
        share = self.share_found
        found = "" if share is None else f"{share['lower']:.1%} to {share['upper']:.1%} of the structure, error "
        return (
            f"Confidence({self.level:.0%}: {found}{self.lower:.4g} to {self.upper:.4g}, median {self.median:.4g}, "
            f"{self.replicates} replicates)"
        )


@dataclass(frozen=True, eq=False)
class SparseCertificate(Answer):
    """The solution of the sparse program, and the certificate of its accuracy.

    Attributes
    ----------
    status : {'optimal', 'stalled', 'budget-exhausted'}
        How the solver ended. In each case ``relative_gap`` is certified.
    penalty : float
        In the units of the covariance.
    penalty_choice : {'auto', 'cv', 'value'}
        Its source.
    objective, dual_bound : float
        The objective reached, and its upper bound.
    relative_gap : float
        Between the two.
    failure_probability : float
        The probability that the bound is wrong; 0 where it uses all eigenvalues.
    iterations : int
        Of the solver.
    support : list of int
        The features that the components use, ascending from 0.
    noise_edge : float
        The variance that noise alone is expected to stay below on a support of this size.
    cross_validation : list of dict or None
        Per penalty tried: ``factor``, ``penalty``, ``mean_score``, ``standard_error``, ``mean_support``, ``scores``,
        ``chosen``.
    """

    status: str
    penalty: float
    penalty_choice: str
    objective: float
    dual_bound: float
    relative_gap: float
    failure_probability: float
    iterations: int
    support: list[int]
    noise_edge: float
    cross_validation: list[dict[str, Any]] | None


class _Comparable(Answer):
    components: Floats

    def compare(self, components: npt.ArrayLike) -> float:
        """Return the distance from other components: ``||sin Theta||_F^2`` between the two spans.

        Parameters
        ----------
        components : array-like of shape (rank, d)
            The others, one in each row: what is known without privacy, or was recovered from other reports.

        Returns
        -------
        float
            0 for the same subspace, rank (1 - rank / d) on average for a random one.

        Raises
        ------
        RecoveryError
            For components of another number or length, and for dependent ones.
        """
        others = np.array(components, dtype=np.float64, ndmin=2)
        if others.ndim != 2:
            raise RecoveryError(f"the components have {others.ndim} axes: give one in each row of a matrix")
        return _sin_theta_squared(self.components, others)

    def share_found(self, covariance: npt.ArrayLike) -> float | None:
        """Return the share of a covariance's structure that the components find (docs/guides/how-many-people.md).

        Parameters
        ----------
        covariance : array-like of shape (d, d)
            What is known without privacy: second moments of bounded records or, with centring, their covariance.

        Returns
        -------
        float or None
            1 for its own leading components, 0 for a random subspace on average; None where all subspaces have the same
            variance.

        Raises
        ------
        RecoveryError
            For a matrix of another size, and for one that is not symmetric.
        """
        reference = np.array(covariance, dtype=np.float64, ndmin=2)
        if reference.ndim != 2:
            raise RecoveryError(f"the covariance has {reference.ndim} axes: give a square matrix")
        return _share_found(self.components, reference)


@dataclass(frozen=True, eq=False)
class Baseline(_Comparable):
    """The result of a simpler method on the estimate of the sparse components.

    Attributes
    ----------
    components : ndarray of shape (rank, d)
        Orthonormal rows.
    eigenvalues : ndarray of shape (rank,)
        Variances along them in the estimate itself.
    support : list of str
        The names of the features that they use.
    distance : float
        ``||sin Theta||_F^2`` between them and the sparse components.
    """

    components: Floats
    eigenvalues: Floats
    support: list[str]
    distance: float


@dataclass(frozen=True, eq=False)
class Recovery(_Comparable):
    """Principal components of records that nobody saw.

    Attributes
    ----------
    task : Task
        The task of the reports; of two waves that of the first.
    method : {'pca', 'soft-threshold', 'fantope'}
        Plain components, those of a thresholded estimate, or those of the sparse program.
    records : int
        The number of reports.
    dimension, rank : int
        Features d, and components.
    components : ndarray of shape (rank, d)
        Orthonormal rows, most variance first.
    eigenvalues : ndarray of shape (rank,)
        Variances along the components in the estimate itself, with the bias of the noise, in the units of the
        covariance.
    variances : ndarray of shape (rank,) or None
        The same without that bias, nan for a component that is not above the noise; None of two waves.
    variance_errors : ndarray of shape (rank,) or None
        The standard errors of the variances, of a population with normal records; nan for noise and for ``ties``.
    total_variance : float
        Trace of the debiased covariance.
    empty_share, empty_share_error : float or None
        Under unit norm the share of records whose values are all 0 or missing, and a bound on its standard error.
    explained_variance_ratio : ndarray of shape (rank,) or None
        The variances over the total, 0 for noise; None where noise makes the total 0 or less.
    ties : list of (int, int)
        The runs of plain components that cannot be told from each other, by their first and last index; the last may be
        the first component beyond the rank. Any rotation of the components of a run fits the reports as well.
    single_columns : bool or None
        Whether the plain components above the noise hold no more variance than as many directions of single columns
        do: no pattern of several columns. None where ties leave it open, and of other components.
    leverages : ndarray of shape (d,)
        For each feature the sum of its squared loadings, from 0 to 1.
    spectrum : ndarray of shape (d,) or None
        All eigenvalues of the estimate, of plain components and beside baselines.
    gap : float or None
        Between the last eigenvalue kept and the first one dropped, of plain components.
    marks_of_mean : list of str
        What speaks for the first component being the mean, in words about it; none about a mean that was estimated.
    feature_names : list of str
        The names of the d features.
    noise_deviation, noise_edge : float
        Standard deviation of one off-diagonal entry of the covariance; the variance that noise alone would give to the
        first component.
    edge : float
        The same variance; of components on few features, on so many.
    edge_beside : float
        The noise edge over the rest, once nothing stands out any more: that of the first component that the rank test
        does not find. Data without structure exceed ``noise_edge``, which is that of noise beside no variance; it is
        here too where no test knows more.
    standing_out : list of int
        The components that stand out, from 0: those that the rank test finds, in whose place sparse ones stand, and
        where there is none those above the noise. Of two waves those above ``edge``. Under unit norm, independent
        columns that are skewed or rare may stand out, since bounding makes a large value of one column shrink the
        others.
    mean : Mean or None
        Of a task with centring: the components are then of the covariance about it. Without, they are of second
        moments about zero, and a mean away from zero is the first of them.
    sparse : SparseCertificate or None
        Of sparse components.
    baselines : dict of str to Baseline, or None
        Where they were asked for: plain components of the estimate after ``soft_threshold`` by the penalty, and those
        of the estimate, ``pca``.
    path : list of dict or None
        Where it was asked for, per penalty, largest first: ``penalty``, ``status``, ``support``, ``objective``,
        ``relative_gap``, ``iterations``, ``eigenvalues``.
    predicted : Prediction or None
        What to expect of plain components; None above 2,000 features.
    confidence : Confidence or None
        Where a bootstrap was asked for.
    held_out : dict or None
        What the components capture in reports that they were not found from, and what other methods do; None without
        folds. Its keys are those of ``ldp-pca recover --json`` (docs/reference/json.md).
    rank_test : dict or None
        ``level``, ``draws`` and the ``components`` that were tested, with their ``p_value``: those that stand out and
        the first that does not. Components of one variance stand out like others, and are then ``ties``: only the space
        that they span together is known. None above 2,000 features, and for two waves.
    selection : dict or None
        With ``select``: the ``rate``, the names of the ``features`` selected, and for every feature its p-value
        (``p_values``) and the smallest rate at which it is selected (``adjusted``).
    patterns : list of str
        Sentences on components that cannot be told from each other, and on those that are no pattern of several
        columns. Empty where there is nothing to say.
    refined : dict or None
        With a second wave: the digest of its ``task``, what both ``waves`` are predicted to do, what an answer of
        both does not have (``not_offered``), and of a public ``sample`` how far off it was found to be. Its keys are
        those of ``ldp-pca recover --json``. The level of the noise is then that of the first wave; a sample has none,
        and ``noise_edge`` is the variance across its components.
    unfinished : list of dict
        What was asked for and is missing, because the time limit was reached: its ``part`` (``'penalty'``: that of
        ``'auto'`` was taken, ``'rank'``, ``'held-out'``, ``'solution'``, ``'path'``, ``'baselines'``,
        ``'bootstrap'``), and how much of it was ``done``, ``of`` how much.
    seeded : bool
        Whether some of the reports are known to be drawn from a seed (``insecure_seed``, ``random_state``): they are
        not private. Reports and sums that come as bytes or files do not say it.
    """

    task: Task
    method: str
    records: int
    dimension: int
    rank: int
    components: Floats
    eigenvalues: Floats
    variances: Floats | None
    variance_errors: Floats | None
    total_variance: float
    empty_share: float | None
    empty_share_error: float | None
    explained_variance_ratio: Floats | None
    ties: list[tuple[int, int]]
    single_columns: bool | None
    leverages: Floats
    spectrum: Floats | None
    gap: float | None
    marks_of_mean: list[str]
    feature_names: list[str]
    noise_deviation: float
    noise_edge: float
    edge: float
    edge_beside: float
    standing_out: list[int]
    mean: Mean | None
    sparse: SparseCertificate | None
    baselines: dict[str, Baseline] | None
    path: list[dict[str, Any]] | None
    predicted: Prediction | None
    confidence: Confidence | None
    held_out: dict[str, Any] | None
    rank_test: dict[str, Any] | None
    selection: dict[str, Any] | None
    patterns: list[str]
    refined: dict[str, Any] | None
    unfinished: list[dict[str, Any]]
    seeded: bool
    # The total, at least what the components hold; None where noise could give it.
    _whole: float | None
    # The variances above the noise, nan for others: of two waves only the edge tells which these are.
    _above: Floats
    # Those that stand out beyond the rank too, as far as that is known.
    _all_standing: int

    @property
    def support(self) -> list[str]:
        """The names of the features that the components use: nearly always all of them for plain components."""
        if self.sparse is None:
            used = np.any(self.components != 0.0, axis=0)
            return [name for name, is_used in zip(self.feature_names, used) if is_used]
        return [self.feature_names[index] for index in self.sparse.support]

    @property
    def noise(self) -> list[int]:
        """The components that cannot be distinguished from noise, from 0."""
        return [] if self.variances is None else np.flatnonzero(np.isnan(self.variances)).tolist()

    @property
    def notice(self) -> str | None:
        """That the first component may be the mean, where that is likely; None about a mean that was estimated.

        The marks are those of `ldp-pca recover`. They are no proof: a strong component has them too.
        """
        if not self.marks_of_mean:
            return None
        return (
            f"the first component {' and '.join(self.marks_of_mean)}: it may be the mean, of which these reports carry "
            "no estimate. A task with centring=True estimates it, and components about it"
        )

    def to_json(self) -> str:
        """Return the components as the published document (docs/reference/wire-format.md), in canonical form.

        It has the schema and the bounding of the task, the loadings, the variances above the noise, the mean where it
        is known, and the predicted error of plain components. `LocalPCA.from_components`, ``ldp-pca scores`` and pages
        read it.

        Raises
        ------
        RecoveryError
            For more numbers than the document has room for: it has at most 2^24 bytes.
        """
        task = json.loads(self.task.to_json())
        document: dict[str, Any] = {
            "version": 1,
            "task": self.task.digest,
            "schema": task["schema"],
            "bounding": task["bounding"],
            "feature_names": self.feature_names,
            "records": self.records,
            "noise_edge": self.edge,
            "components": [
                {"loadings": loadings.tolist(), "variance": None if np.isnan(variance) else float(variance)}
                for loadings, variance in zip(self.components, self._above)
            ],
        }
        if self.mean is not None:
            document["mean"] = self.mean.values.tolist()
        if self._whole is not None:
            document["total_variance"] = self._whole
        if self.predicted is not None and self.method == "pca":
            document["prediction"] = {"sin_theta_squared": self.predicted.sin_theta_squared}
            if self.predicted.share_found is not None:
                document["prediction"]["share_found"] = self.predicted.share_found
        return _components(json.dumps(document, ensure_ascii=False, separators=(",", ":")))

    def to_frame(self) -> pd.DataFrame:
        """Return the loadings as a data frame of pandas: a row for each feature, a column for each component.

        Columns are named ``component 1``, …; with a bootstrap, ``error 1``, … are the root mean squared errors of the
        loadings.

        Raises
        ------
        ImportError
            Without pandas.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("a data frame takes pandas: pip install 'ldp-pca[all]'") from error
        columns = {f"component {index + 1}": loadings for index, loadings in enumerate(self.components)}
        if self.confidence is not None:
            errors = enumerate(self.confidence.loading_errors)
            columns.update({f"error {index + 1}": error for index, error in errors})
        return pd.DataFrame(columns, index=pd.Index(self.feature_names, name="feature"))

    def plot(
        self,
        *,
        features: int = 20,
        scores: npt.ArrayLike | None = None,
        ax: Axes | Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    ) -> Figure:
        """Draw the variances with the noise edge, those that stand out marked, and the loadings with their errors.

        Parameters
        ----------
        features : int
            The most features to draw: those with the largest loadings.
        scores : array-like of shape (n, rank), optional
            Also draw the scores of your own rows, as of `LocalPCA.transform`. They are as private as the rows.
        ax : matplotlib.axes.Axes or sequence of them, optional
            Where to draw: two axes, three with scores, or one of a figure's subplots, whose place they share. By
            default in a figure of its own.

        Raises
        ------
        ImportError
            Without matplotlib.
        RecoveryError
            For scores of another shape, and with a second wave, whose noise has no edge.
        ValueError
            For another number of axes.
        """
        from ._pictures import of_recovery

        return of_recovery(self, features, scores, ax)

    def __repr__(self) -> str:
        """The components' variances, how many stand out, and what to know of them."""
        values = ", ".join(f"{value:.4g}" for value in self.eigenvalues)
        noise = f", noise={numbered(self.noise)!r}" if self.noise else ""
        found = ""
        # The prediction is that of plain components.
        if self.predicted and self.method == "pca":
            share = self.predicted.share_found
            found = f"share_found={share if share is None else format(share, '.4g')}, "
        return (
            f"Recovery({found}method={self.method!r}, rank={self.rank}, dimension={self.dimension}, "
            f"records={self.records}, eigenvalues=[{values}], edge_beside={self.edge_beside:.4g}{noise})"
        ) + "".join(f"\n  {said}" for said in (*self._standing(), *(f"notice: {text}" for text in self._notices())))

    def _standing(self) -> list[str]:
        """How many components stand out, and the p-values by which the rank test says so; nothing of two waves."""
        if self.refined is not None:
            return []
        said = f"{len(self.standing_out)} of {self.rank} stand out"
        if not self.standing_out and self.rank < self.dimension:
            said += ": nothing that is known is found"
        if (more := self._all_standing - self.rank) > 0:
            said += f", as do {more} that were not asked for"
        if self.rank_test is None or not self.rank_test["components"]:
            return [said]
        if self.method != "pca":
            return [f"{said} (by the rank test of plain components, in whose place these stand)"]
        tested = [component["p_value"] for component in self.rank_test["components"][: self.rank]]
        shown = ["< 0.001" if p_value < 0.001 else f"{p_value:.3f}" for p_value in tested]
        # Of many all before the last are small.
        if len(shown) > 5:
            shown[3:-1] = ["…"]
        return [f"{said} (p by the rank test: {', '.join(shown)}; level {self.rank_test['level']:g})"]

    def _notices(self) -> list[str]:
        drawn = ["some of the reports were drawn from a seed, and are not private"] if self.seeded else []
        return [*self.patterns, *([] if self.notice is None else [self.notice]), *drawn]

    def _repr_html_(self) -> str:
        """The components as a table of a notebook, each with its largest loadings."""
        rows = []
        variances = self.eigenvalues if self.variances is None else self.variances
        for index, loadings in enumerate(self.components):
            largest = np.argsort(-np.abs(loadings), kind="stable")[:5]
            names = ", ".join(f"{loadings[row]:+.2f} {html.escape(self.feature_names[row])}" for row in largest)
            variance = "noise" if index in self.noise else f"{variances[index]:.4g}"
            ratio = self.explained_variance_ratio
            share = "" if ratio is None or index in self.noise else f"{ratio[index]:.1%}"
            rows.append(f"<tr><td>{index + 1}</td><td>{variance}</td><td>{share}</td><td>{names}</td></tr>")
        predicted = ""
        if self.predicted is not None:
            error, uninformed = self.predicted.sin_theta_squared, self.predicted.uninformed
            whose = "" if self.method == "pca" else "plain components are "
            part = self.predicted.share_found
            found = "" if part is None else f" to find {part:.1%} of the structure, with"
            scale = f"(0 is the same subspace, {uninformed:.2f} a random one)"
            predicted = f"; {whose}predicted{found} an error of {error:.4f} {scale}"
        notice = "".join(f"<p>Notice: {html.escape(notice)}</p>" for notice in self._notices())
        return (
            "<table><thead><tr><th>component</th><th>variance</th><th>share</th><th>largest loadings</th></tr>"
            "</thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
            f"<p>{self.records:,} reports of {self.dimension} features, {self.method}"
            f"{''.join(f'; {html.escape(said)}' for said in self._standing())}{predicted}</p>{notice}"
        )


def numbered(components: list[int]) -> str:
    """``component 2``, ``components 1 and 3``."""
    numbers = [str(index + 1) for index in components]
    if len(numbers) == 1:
        return f"component {numbers[0]}"
    if len(numbers) > 3 and components == list(range(components[0], components[-1] + 1)):
        return f"components {numbers[0]} to {numbers[-1]}"
    return f"components {', '.join(numbers[:-1])} and {numbers[-1]}"


def _warn_of_noise(recovery: Recovery) -> None:
    if recovery.noise:
        of_sparse = f"reaches a variance of {recovery.edge:.3g} on so many features"
        is_tested = recovery.method == "pca" or recovery.rank_test
        reach = "gives as much in 5 % of collections or more" if is_tested else of_sparse
        of_mean = (
            f"the first component {' and '.join(recovery.marks_of_mean)}, and may be the mean, which hides the others: "
            "give each column its offset in the schema (the middle of its scale), and the task centring=True. If it is "
            "not the mean, "
        )
        # A first component that is noise is not the mean.
        remedy = of_mean if recovery.marks_of_mean and 0 not in recovery.noise else ""
        warn(
            f"{numbered(recovery.noise)} of {recovery.rank} cannot be distinguished from noise, which alone "
            f"{reach}: {remedy}collect more reports (there are {recovery.records:,}; `plan` says "
            "how many it takes), raise epsilon, bound records closer to their size, or recover fewer components",
            NoiseWarning,
        )


def _recovery_of(components: Floats, text: str, task: Task) -> Recovery:
    """The recovery that the native part describes."""
    found: dict[str, Any] = json.loads(text)
    sparse, selection = found.get("sparse") or {}, found.get("selection") or {}
    lists = [(point, "scores") for point in sparse.get("cross_validation") or ()]
    lists += [(point, "eigenvalues") for point in found.get("path") or ()]
    lists += [(selection, name) for name in ("p_values", "adjusted") if selection]
    for owner, name in lists:
        owner[name] = np.asarray(owner[name], dtype=np.float64)
    for point in found.get("path") or ():
        del point["support_size"]
    if "pca" in sparse:
        found["baselines"] = {name: made(Baseline, sparse[name]) for name in ("soft_threshold", "pca")}
    found["task"], found["components"] = task, components
    found["explained_variance_ratio"] = found.get("explained_variance")
    found["ties"] = [(first, last) for first, last in found.get("ties", ())]
    found["unfinished"] = [{"of": None, **part} for part in found.get("unfinished", ())]
    recovery = made(Recovery, found, mean=Mean, sparse=SparseCertificate, predicted=Prediction, confidence=Confidence)
    _warn_of_noise(recovery)
    return recovery


def recover(
    aggregate: Aggregate | PublicSample,
    rank: int | Literal["auto"],
    *,
    method: Literal["auto", "pca"] = "auto",
    sparse: bool = False,
    penalty: Literal["auto", "cross-validated"] | float = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    path: int | None = None,
    baselines: bool = False,
    bootstrap: int | None = None,
    select: float | None = None,
    refined: Aggregate | None = None,
    progress: Progress = False,
) -> Recovery:
    """Recover principal components from summed reports.

    What was missing in a record counts as 0 in it. Where people leave out values because of what these are, the
    components are of what was answered, and nothing in the sums shows it (docs/guides/records.md).

    Parameters
    ----------
    aggregate : Aggregate or PublicSample
        The sums. With ``refined``, a public sample can have the place of those of the first wave.
    rank : int or 'auto'
        The number of components, or those that stand out from the noise, tested one after the other.
    method : 'auto' or 'pca'
        Without ``sparse``: the method that captures most in reports held out, where the task has folds (up to 2,000
        features), or plain components.
    sparse : bool
        Recover components on few features, by the Fantope program.
    penalty : 'auto', 'cross-validated' or float
        Of the sparse program: from the noise level, validated over the folds of the task, or in the units of the
        covariance.
    tolerance : float, optional
        Relative duality gap at which the sparse solution counts as optimal. When not given, the gap that adds one to
        two hundredths of the noise to the guaranteed error, from 1e-6 to 1e-3 (docs/guides/recover.md).
    time_limit : float, optional
        Seconds after which the work stops. The answer is what was found until then, the gap of a sparse solution
        certified, and its ``unfinished`` says what is missing.
    path : int, optional
        Solve the sparse program for so many penalties too (2 or more), from the largest that changes anything.
    baselines : bool
        Add the results of simpler methods on the same estimate. Takes full eigendecompositions.
    bootstrap : int, optional
        Draw the known noise again so many times, at least 20 and better 200 or more, for intervals of the share found
        and of the error.
    select : float, optional
        Name the features whose covariances with the others are not all zero, of bounded records about the mean, at
        this false-discovery rate (0.1 is usual). Only of a task that clips, with centring.
    refined : Aggregate, optional
        The sums of a second wave of other people, who answered the task that `Task.refine` made from ``aggregate``
        (docs/guides/two-waves.md). The components are then plain ones, of both waves, and as many as that task refines.
        Those of a sample are turned by what the wave reported.
    progress : bool or callable
        Show the progress of the parts that take long, as of `Randomizer.randomize`.

    Raises
    ------
    RecoveryError
        Without reports, for a rank or penalty that makes no sense, for cross-validation without folds, and where
        ``rank='auto'`` finds no component. Also for the sums of a second wave or a sample alone, and beside them for
        what they do not have.
    TaskError
        Where the second wave refines another task, or the first has centring.

    Warns
    -----
    NoiseWarning
        Where a component cannot be distinguished from noise.
    """
    given = dict(locals())
    of_sparse = {"penalty": "auto", "tolerance": None, "path": None, "baselines": False}
    unused = [name for name, usual in of_sparse.items() if given[name] != usual]
    if unused and not sparse:
        raise RecoveryError(f"{' and '.join(unused)} of plain components: ask for sparse=True, or leave it out")
    if isinstance(rank, str) and rank != "auto":
        raise RecoveryError(f"{rank!r} is not a rank: use a number of components, or 'auto'")
    if refined is not None:
        asked = {"rank='auto'": rank == "auto", "sparse": sparse, "bootstrap": bootstrap is not None}
        asked.update({"select": select is not None, "method": method != "auto", "time_limit": time_limit is not None})
        beside = [name for name, is_asked in asked.items() if is_asked]
        if beside or isinstance(rank, str):
            raise RecoveryError(f"{' and '.join(beside)} beside refined: leave it out, or recover the first wave alone")
        return _recovery_of(*_recover_refined(aggregate, rank, refined), aggregate.task)
    if isinstance(aggregate, PublicSample):
        raise RecoveryError("nobody's reports are in a public sample: give refined, the sums of the wave about it")
    del given["sparse"], given["refined"]
    given.update(rank=None if isinstance(rank, str) else rank, penalty=penalty if sparse else None)
    with closing(Parts(progress)) as parts:
        given["progress"] = None if progress is False else parts
        found = _recover(**given)
    return _recovery_of(*found, aggregate.task)
