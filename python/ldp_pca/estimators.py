"""scikit-learn estimators over the whole pipeline: bound, randomize, sum, recover.

``fit`` plays all parties: it randomizes every row on its own, as a device would, sums the reports and recovers
components from the sum. That is for simulation and evaluation, and for holders of everybody's data; a collector, who
has only reports, uses ``fit_aggregate``.

Only what ``fit`` learns from the records is private: ``transform`` shows projections of the given rows as they are.

NaN is a missing value, and so is an infinite one. It contributes nothing: it counts as 0, in ``fit`` and in
``transform``.
"""

from __future__ import annotations

import html
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from copy import copy
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as _missing:
    raise ImportError("the estimators need scikit-learn 1.6 or later: pip install 'ldp-pca[sklearn]'") from _missing

from ._answers import Bools, Floats
from ._budget import book, counting
from ._inputs import is_from, is_mapping, is_pandas_frame, numbers_of, without_index
from ._native import Aggregate, Randomizer, Task, _components
from ._progress import bar
from ._recovery import recover
from .errors import (
    BoundingWarning,
    NoiseWarning,
    RecordError,
    RecoveryError,
    SchemaError,
    SeededWarning,
    TaskError,
    warn,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Literal, Self, TypeAlias

    from ._planning import Mechanism
    from ._recovery import Recovery

    Components: TypeAlias = int | float | Literal["auto"] | None

__all__ = ["LocalPCA", "LocalSparsePCA"]

# The most rows that are randomized at a time, and the most bytes of their reports.
_BATCH = 1 << 16
_BATCH_BYTES = 64 << 20

# The share of rows that may be shortened without a word.
_SHORTENED = 0.05


# The figures of a warning, and the components that it names.
_FIGURES = re.compile(r"(components? )?\d[\d.,]*(( and | to |, )\d[\d.,]*)*")

# How messages of scikit-learn and NumPy begin that go on with what they found.
_QUOTING = (
    "could not convert string to float",
    "Complex data not supported",
    "Expected 2D array",
    "Unable to convert",
    "setting an array element with a sequence",
)
_NO_FLOAT = "float() argument must be a string or a"

# Types of columns whose numbers count days or nanoseconds.
_TIMES = re.compile(r"(extension<pandas\.)?(date|time|period|duration)", re.IGNORECASE)

# Parameters of other packages, and what is here in their place.
_ELSEWHERE = {
    "accountant": "`with ldp_pca.budget(epsilon):` counts what fits spend",
    "bounding": "radius is the largest norm that a row keeps",
    "bounds": "radius is the largest norm that a row keeps",
    "center": "centring=True estimates the mean",
    "centered": "centring=False takes the rows to be centred",
    "centering": "centring=True estimates the mean",
    "data_norm": "radius is the largest norm that a row keeps",
}

_Init = TypeVar("_Init", bound=Callable[..., None])


def _knowing_other_names(init: _Init) -> _Init:
    """Point from a parameter of another package to the one that it is here."""

    @wraps(init)
    def pointing(*arguments: Any, **named: Any) -> None:
        for name in named:
            if name in _ELSEWHERE:
                raise TypeError(f"{type(arguments[0]).__name__} has no parameter {name!r}: {_ELSEWHERE[name]}")
        init(*arguments, **named)

    return cast("_Init", pointing)


def _missing_as_nan(X: Any) -> Any:  # noqa: N803
    """Missing values of every kind as NaN, which scikit-learn knows; it refuses anything but rows of numbers."""
    if is_from("polars", "LazyFrame", X):
        return X.collect()
    if is_from("pyarrow", None, X):
        return without_index(X)
    with suppress(RecordError):
        if is_pandas_frame(X) and (X.dtypes == object).any():
            return type(X)(numbers_of(X.to_numpy(dtype=object)), index=X.index, columns=X.columns)
        if isinstance(X, (list, tuple, np.ma.MaskedArray)) or (isinstance(X, np.ndarray) and X.dtype == object):
            return numbers_of(X)
    return X


def _types(X: Any) -> list[tuple[str, str]]:  # noqa: N803
    """The names of a frame's columns, each with its type; nothing of anything else. No type has a value in it."""
    columns: Any = []
    if is_pandas_frame(X):
        columns = zip(X.columns, X.dtypes)
    elif is_from("polars", "DataFrame", X):
        columns = X.schema.items()
    elif is_from("pyarrow", "Table", X):
        columns = zip(X.schema.names, X.schema.types)
    return [(str(name), str(kind).partition("(")[0]) for name, kind in columns]


def _refuse_other_than_numbers(X: Any) -> None:  # noqa: N803
    """Refuse times, which NumPy may take for numbers, and a mapping."""
    remedy = "give numbers, such as the days since a fixed date, or leave it out"
    for name, kind in _types(X):
        if _TIMES.match(kind):
            raise RecordError(f"column {name!r} holds {kind}: {remedy}")
    if isinstance(X, np.ndarray) and X.dtype.kind in ("m", "M"):
        raise RecordError(f"the array holds {X.dtype}: {remedy}")
    # A sparse matrix by keys is a dictionary, too.
    if is_mapping(X) and not hasattr(X, "tocsr"):
        raise RecordError("rows are an array of numbers or a table, and this is a mapping: pandas.DataFrame(X) is one")


def _unread(X: Any) -> str:  # noqa: N803
    """Where there is something that is no number: the column of a frame, or the place in rows."""
    for place, (name, kind) in enumerate(_types(X)):
        column = X.iloc[:, place] if is_pandas_frame(X) else X[name]
        with suppress(TypeError, ValueError, NotImplementedError):
            if np.asarray(column, dtype=np.float64).ndim == 1:
                continue
        return f"column {name!r} of type {kind}"
    if hasattr(X, "tocsr"):
        return f"a sparse matrix of {X.dtype}"
    try:
        numbers_of(X)
    except RecordError as error:
        return str(error)
    return "not rows of numbers"


def _dense_parts(X: Any, size: int) -> Iterator[Floats]:  # noqa: N803
    """At most so many rows at a time. Of a sparse matrix only these are dense."""
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        yield part.toarray() if hasattr(part, "toarray") else part


class LocalPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components under local differential privacy.

    The defaults are those of `sklearn.decomposition.PCA`: rows keep their length up to ``radius``, components are about
    the mean, and one sum is enough, because whoever has the rows can compare with them. `Task` has the defaults of a
    collection in their place: every record divided by its norm (``radius=None`` here), second moments about zero
    (``centring=False``), which have less noise, and 10 folds (``folds=10``), since only reports held out can show there
    what an answer is worth. `from_aggregate` takes those of the aggregate's task, and `from_components` those of
    components that were published.

    Parameters
    ----------
    n_components : int, float, 'auto' or None
        The number of components; a share of the variance from 0 to 1, which they are to explain; 'auto' for those that
        stand out from the noise; None for as many as there are features. Where none stands out, or all that do explain
        less, a `NoiseWarning` says so, and there is at least one.
    epsilon : float
        The privacy parameter epsilon of every row's report.
    delta : float, optional
        The privacy parameter delta of the Gaussian mechanisms, 1e-6 when not given.
    mechanism : {'double-cap', 'gaussian', 'wang-xu'}
        How rows are randomized. 'double-cap' has pure epsilon and less noise than the others.
    radius : float or None
        The largest norm that a row keeps, in its own units: longer ones are shortened to it. None: every row is divided
        by its norm, and a row of zeros contributes nothing. It is part of the public task: choose it from what is
        publicly known, not from the rows. Noise grows with its square.
    centring : bool or float
        Estimate the mean too and the covariance about it, with this weight (0.25 for True), as
        `sklearn.decomposition.PCA` does. False: second moments about the origin, with less noise, for rows that are
        centred already.
    folds : int
        The number of sums that the reports are split into.
    whiten : bool
        Divide projections by the deviation along their component, so that each has the variance 1. Those on a component
        of noise, which has none, are 0.
    n_jobs : int or None
        The number of threads; None is 1, -1 is all of the machine, -2 all but one.
    random_state : int, RandomState or Generator instance, or None
        None: the system's randomness, the only choice that is private. Anything else is for tests: anyone who knows it
        can undo the noise, a `SeededWarning` says so, and ``guarantee_`` is none.
    verbose : bool
        Show progress, with tqdm.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, most variance first.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along them, without the bias of the noise; 0 for a component that is not above the noise. With
        centring those of the estimate, which the noise makes larger, or negative.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same over the total variance; NaN where noise makes the total 0 or less.
    singular_values_ : ndarray of shape (n_components,)
        Those that rows with these variances would have: ``sqrt(n_samples_ * explained_variance_)``.
    noise_variance_ : float
        The mean of the variances along all other directions, of the data and not of the mechanism; NaN where the
        mechanism's noise makes it negative.
    mean_ : ndarray of shape (n_features,)
        The estimated mean of the bounded rows; zeros without centring.
    noise_edge_ : float
        The variance that noise alone would give to the first component: a component below it cannot be distinguished
        from noise. One above it need not stand out: ``recovery_.standing_out`` has those that do.
    n_components_ : int
        The number of components.
    n_samples_ : int
        The number of reports.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, of a table in ``fit`` or the columns of the task in ``fit_aggregate``.
    guarantee_ : str
        The guarantee of each row's report, in words.
    task_ : Task
        The task that the rows answered. Its columns have the names of the table.
    aggregate_ : Aggregate
        The summed reports.
    recovery_ : Recovery
        All that was recovered.

    Examples
    --------
    >>> import numpy as np
    >>> from ldp_pca import LocalPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 5)) * [2.0, 1.0, 0.3, 0.3, 0.3]
    >>> pca = LocalPCA(n_components=2, epsilon=4.0, radius=4.0, random_state=0).fit(X)
    >>> pca.transform(X).shape
    (20000, 2)
    """

    components_: Floats
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    singular_values_: Floats
    noise_variance_: float
    mean_: Floats
    noise_edge_: float
    n_components_: int
    n_samples_: int
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    guarantee_: str
    task_: Task
    aggregate_: Aggregate
    recovery_: Recovery
    # Encodes rows.
    _encoder: Task
    _told: set[tuple[type[Warning], str]]
    # The process whose budgets count its fits, of an estimator that was pickled while there were any.
    _counted_in: int | None = None

    @_knowing_other_names
    def __init__(
        self,
        n_components: Components = 2,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        mechanism: Mechanism = "double-cap",
        radius: float | None = 1.0,
        centring: bool | float = True,
        folds: int = 1,
        whiten: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components: Components = n_components
        self.epsilon: float = epsilon
        self.delta: float | None = delta
        self.mechanism: Mechanism = mechanism
        self.radius: float | None = radius
        self.centring: bool | float = centring
        self.folds: int = folds
        self.whiten: bool = whiten
        self.n_jobs: int | None = n_jobs
        self.random_state: Any = random_state
        self.verbose: bool = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Randomize every row on its own, sum the reports, and recover components from the sum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows. NaN, infinities, None and masked values are missing. Of a sparse matrix, a part of the rows at a
            time is made dense.
        y : None
            Ignored.

        Warns
        -----
        NoiseWarning
            Where a component cannot be distinguished from noise.
        BoundingWarning
            Where more than 5 % of the rows are longer than ``radius``.
        SeededWarning
            With a ``random_state``.
        """
        self._check_components()
        self._told = set()
        X = self._validated(X, ensure_min_samples=2)  # noqa: N806
        return self._recovered(self._randomized(X, Aggregate(self._task(X))))

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Add the reports of more rows to those of the fits before, and recover components from all of them.

        The rows are of other people. Those that were in a fit before spend their budget again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Ignored.

        Warns
        -----
        NoiseWarning, BoundingWarning, SeededWarning
            As of `fit`, each for the first batch that has it.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not hasattr(self, "aggregate_"):
                self.fit(X)
            else:
                self._check_components()
                X = self._validated(X, reset=False)  # noqa: N806
                if self._task(X) != self.task_:
                    problem = "parameters of the task are others than those of the first fit"
                    raise TaskError(f"{problem}: fit again, or restore them")
                self._recovered(self._randomized(X, copy(self.aggregate_)))
        # Many small batches have the same warning, with other figures: it is said once.
        self._told = getattr(self, "_told", set())
        for found in caught:
            kind = (found.category, _FIGURES.sub("#", str(found.message)))
            if kind not in self._told:
                self._told.add(kind)
                warn(str(found.message), found.category)
        return self

    def fit_aggregate(self, aggregate: Aggregate) -> Self:
        """Recover components from reports that were collected elsewhere.

        The task of the aggregate says what was asked and how: ``epsilon``, ``radius`` and the other parameters of the
        collection are not read.

        Parameters
        ----------
        aggregate : Aggregate
            The sums.
        """
        _check_sums(aggregate)
        self._check_components(aggregate.task.dimension)
        self._of_records(aggregate.task)
        self.guarantee_ = "none: seeded (insecure_seed)" if aggregate.seeded else aggregate.task.guarantee
        return self._recovered(aggregate)

    @classmethod
    def from_aggregate(cls, aggregate: Aggregate, n_components: Components = 2, **parameters: Any) -> Self:
        """Make an estimator with the parameters of the aggregate's task, and `fit_aggregate` it.

        Parameters
        ----------
        aggregate : Aggregate
            The sums.
        n_components : int, float, 'auto' or None
            The number of components.
        **parameters
            Others of the estimator.
        """
        _check_sums(aggregate)
        task = aggregate.task
        collection = {name: getattr(task, name) for name in ("epsilon", "mechanism", "radius", "folds")}
        collection.update(delta=task.delta or None, centring=task.centring or False)
        return cls(n_components, **{**collection, **parameters}).fit_aggregate(aggregate)

    @classmethod
    def from_components(cls, components: str | os.PathLike[str], **parameters: Any) -> Self:
        """Make an estimator of components that were published, whose `transform` gives the scores of records.

        It has no sums: ``task_``, ``aggregate_``, ``recovery_`` and ``guarantee_`` are not there, nor a covariance.
        Rows are records of the task, as after `fit_aggregate`.

        Parameters
        ----------
        components : str or path
            The document, as of `Recovery.to_json` and ``ldp-pca recover -o components.json``, or a file of it.
        **parameters
            Of the estimator, such as ``whiten``. ``radius`` and ``centring`` are those of the document.

        Raises
        ------
        RecoveryError
            For a text that is no such document.
        """
        text = os.fspath(components)
        if not text.lstrip("\ufeff \t\r\n").startswith("{"):
            text = Path(text).read_text("utf-8")
        found: dict[str, Any] = json.loads(_components(text))
        radius, mean, known = found["bounding"].get("radius"), found.get("mean"), found.get("total_variance")
        loadings = np.array([component["loadings"] for component in found["components"]])
        variances = np.array([component["variance"] or 0.0 for component in found["components"]])
        model = cls(len(loadings), **{"radius": radius, "centring": mean is not None, **parameters})
        # Its columns and its bounding alone matter to what it encodes.
        model._encoder = Task(found["schema"], epsilon=1.0, bounding="unit-norm" if radius is None else radius)
        model._of_records(model._encoder)
        # The total is at least what its parts hold.
        ratio = variances / max(known, variances.sum()) if known is not None and known > 0 else None
        total = float("nan") if known is None else known
        model.noise_edge_, model.n_samples_ = found["noise_edge"], found["records"]
        return model._described(loadings, variances, ratio, total, mean)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Project rows onto the components. Nothing about the result is private.

        A row is encoded as its report was: by the task's offsets, scales and categories, and by its norm where
        ``radius`` is None. A row that is longer than the radius is not shortened.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, or a sparse matrix. After `fit_aggregate` and `from_components` they are records of the task: an
            array of numbers, a table whose columns are found by name, or mappings. What is missing counts as 0, as in
            `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        projected: Floats = np.concatenate([(part - self.mean_) @ self.components_.T for part in self._encoded(X)])
        if not self.whiten:
            return projected
        deviations = self._deviations()
        return np.divide(projected, deviations, out=np.zeros_like(projected), where=deviations > 0)

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Bring projections back into the space of the rows, in the units of their columns.

        Where ``radius`` is None, a row comes back with the norm that bounding gave it: its own is not known. After
        `fit_aggregate` and `from_components` a categorical column has the value whose feature is largest, and an
        ignored column NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projections, as of `transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_in_)
            Of numbers, or of objects where a column is categorical.
        """
        check_is_fitted(self)
        projected = np.asarray(X, dtype=np.float64)
        if self.whiten:
            projected = projected * self._deviations()
        features: Floats = projected @ self.components_ + self.mean_
        return _decoded(features, self._encoder) if self._collected else features

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return the share of the rows' variance that the components capture. Nothing about it is private.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, as of `transform`.
        y : None
            Ignored.

        Returns
        -------
        float
            From 0 to 1: of the squared distances of the encoded rows from ``mean_``.
        """
        total = captured = 0.0
        for part in self._encoded(X):
            rows = part - self.mean_
            total += float(np.sum(rows**2))
            captured += float(np.sum((rows @ self.components_.T) ** 2))
        return captured / total if total > 0 else 0.0

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """The parameters, and after a fit the notice of what was recovered."""
        notice = self._notice()
        return str(super().__repr__(N_CHAR_MAX)) + ("" if notice is None else f"\n  notice: {notice}")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The parameters, and after a fit the notice of what was recovered, as a notebook shows them."""
        shown, notice = super()._repr_mimebundle_(**kwargs), self._notice()
        if notice is not None and "text/html" in shown:
            shown["text/html"] += f"<p>Notice: {html.escape(notice)}</p>"
        return shown

    def __getstate__(self) -> dict[str, Any]:
        """Give what a pickle has: also that budgets count here, which do not see fits in another process."""
        process = counting() or self._counted_in
        state: dict[str, Any] = super().__getstate__()
        return state if process is None else {**state, "_counted_in": process}

    def __sklearn_clone__(self) -> Self:
        """Make a clone, whose fits are counted where those of this one are."""
        made: Self = super().__sklearn_clone__()
        if self._counted_in is not None:
            made._counted_in = self._counted_in
        return made

    def _notice(self) -> str | None:
        found = getattr(self, "recovery_", None)
        return None if found is None else found.notice

    def get_covariance(self) -> Floats:
        """Give the unbiased estimate of the covariance, of shape (n_features, n_features), with its noise."""
        from ._covariance import covariance

        check_is_fitted(self)
        if not hasattr(self, "aggregate_"):
            raise RecoveryError("published components come without the covariance: fit_aggregate the sums")
        return covariance(self.aggregate_).matrix

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that NaN is a value, and that a matrix may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, **options: Any) -> Any:  # noqa: N803
        """Return the rows in scikit-learn's form, with NaN and infinities: an array, or a sparse matrix by rows.

        No message contains one of their values.
        """
        X = _missing_as_nan(X)  # noqa: N806
        _refuse_other_than_numbers(X)
        options.update(dtype=np.float64, ensure_all_finite=False, accept_sparse="csr")
        try:
            rows = validate_data(self, X, **options)
        except (TypeError, ValueError) as error:
            words = str(error)
            quoting = next((start for start in (*_QUOTING, _NO_FLOAT) if words.startswith(start)), None)
            if quoting is None:
                raise
        else:
            return rows if hasattr(rows, "tocsr") else np.asarray(rows)
        # Outside the handler: what was caught would be this one's context.
        remedy = "give numbers in rows of the same length. Reshape your data, or leave texts out"
        if quoting == _NO_FLOAT:
            raise TypeError(f"{quoting} number ({_unread(X)}): {remedy}")
        raise RecordError(f"{quoting} ({_unread(X)}): {remedy}")

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _threads(self) -> int | None:
        jobs = 1 if self.n_jobs is None else self.n_jobs
        if not hasattr(jobs, "__index__"):
            raise TypeError(f"n_jobs is {jobs!r}: give a whole number, or None")
        if jobs == 0:
            raise ValueError("n_jobs=0: use None, 1 and more, -1 for all of the machine, or -2 for all but one")
        if jobs == -1:
            return None
        return int(jobs) if jobs > 0 else max((os.cpu_count() or 1) + 1 + jobs, 1)

    def _check_components(self, features: int | None = None) -> None:
        """Refuse a number of components that makes no sense, before any work where that is known."""
        wanted = self.n_components
        if wanted is None or wanted == "auto":
            return
        if isinstance(wanted, (float, np.floating)):
            if 0 < wanted < 1:
                return
            raise RecoveryError(f"n_components={wanted} is no share of the variance: give one between 0 and 1")
        if isinstance(wanted, (bool, str)) or not hasattr(wanted, "__index__"):
            raise RecoveryError(f"n_components={wanted!r}: give a number, a share between 0 and 1, 'auto' or None")
        most = "n_features" if features is None else f"n_features={features}"
        if wanted < 1 or (features is not None and wanted > features):
            raise RecoveryError(f"n_components={wanted} is not between 1 and {most}")

    def _task(self, X: Any) -> Task:  # noqa: N803
        """Make the task of the rows, with the names of their columns where these can be names of a task."""
        self._check_components(X.shape[1])
        if isinstance(self.radius, str):
            raise TypeError(f"radius is {self.radius!r}: give a number, or None to divide every row by its norm")
        named = ("epsilon", "mechanism", "delta", "centring", "folds")
        parameters: dict[str, Any] = {name: getattr(self, name) for name in named}
        parameters["bounding"] = "unit-norm" if self.radius is None else self.radius
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            with suppress(SchemaError):
                return Task([str(name) for name in names], **parameters)
        return Task(X.shape[1], **parameters)

    def _randomized(self, X: Any, aggregate: Aggregate) -> Aggregate:  # noqa: N803
        """Randomize every row and add its report to the sums."""
        task, threads = aggregate.task, self._threads()
        seed = None if self.random_state is None else _seed(self.random_state)
        book(task, self._counted_in)
        self._collected = False
        # Reports of an earlier call stay seeded.
        if not aggregate.records:
            self.guarantee_ = task.guarantee
        if seed is not None:
            self.guarantee_ = "none: seeded (random_state)"
            words = "random_state is set, so the reports are not private: anyone who knows the seed can undo the noise"
            warn(words, SeededWarning)
        randomizer = Randomizer(task)
        size = max(min(_BATCH_BYTES // task.report_bytes, _BATCH), 1)
        norms = []
        with closing(bar(bool(self.verbose), "randomizing", "record", X.shape[0])) as shown:
            for part in _dense_parts(X, size):
                if self.radius is not None:
                    norms.append(np.linalg.norm(np.where(np.isfinite(part), part, 0.0), axis=1))
                reports = randomizer.randomize(part, threads=threads, insecure_seed=seed, first=aggregate.records)
                aggregate.update(reports, threads=threads)
                shown.update(len(part))
        if self.radius is not None:
            self._warn_of_long_rows(np.concatenate(norms), self.radius)
        return aggregate

    def _warn_of_long_rows(self, norms: Floats, radius: float) -> None:
        share = float(np.mean(norms > radius))
        if share <= _SHORTENED:
            return
        # One digit, rounded up: it is to be chosen, not to be copied.
        long = float(np.quantile(norms, 1 - _SHORTENED))
        unit = 10.0 ** np.floor(np.log10(long))
        warn(
            f"{share:.0%} of the rows are longer than radius={radius:g} and were shortened to it: their "
            "components are not those of the rows. Scale the columns first by public constants (or, in an evaluation, "
            f"by a StandardScaler), or give another radius: {np.ceil(long / unit) * unit:g} leaves 95 % of them as "
            "they are, and noise grows with its square. Outside an evaluation choose both from what is publicly known, "
            "not from rows",
            BoundingWarning,
        )

    def _encoded(self, X: Any) -> Iterator[Floats]:  # noqa: N803
        """Rows in the units of the components, in parts: encoded, and of norm 1 where the task bounds them so."""
        check_is_fitted(self)
        records = X if self._collected else self._validated(X, reset=False)
        parts = _dense_parts(records.tocsr(), _BATCH) if hasattr(records, "tocsr") else iter([records])
        for part in parts:
            yield self._encoder.encode(part, bounded=self._encoder.radius is None, strict=True)

    def _deviations(self) -> Floats:
        """The deviation along each component, 0 for noise."""
        return np.sqrt(np.maximum(self.explained_variance_, 0.0))

    def _method(self) -> dict[str, Any]:
        """What `recover` is asked for."""
        return {"method": "pca"}

    def _found(self, aggregate: Aggregate) -> Recovery:
        rank, asked = self._rank(aggregate), {**self._method(), "progress": bool(self.verbose)}
        if rank != "auto":
            return recover(aggregate, rank, **asked)
        try:
            return recover(aggregate, rank, **asked)
        except RecoveryError as error:
            # A pipeline goes on with one component, and a word. Any other cause is raised by this, too.
            found = recover(aggregate, 1, **asked)
            warn(f"{error}. The first component is given all the same", NoiseWarning)
            return found

    def _rank(self, aggregate: Aggregate) -> int | Literal["auto"]:
        """The number of components to recover."""
        wanted = self.n_components
        if wanted is None:
            return aggregate.task.dimension
        if wanted == "auto":
            return "auto"
        if isinstance(wanted, (float, np.floating)):
            with warnings.catch_warnings():
                # Of all components most are noise.
                warnings.simplefilter("ignore", NoiseWarning)
                whole = recover(aggregate, aggregate.task.dimension, method="pca")
            ratio = whole.explained_variance_ratio
            explained = np.zeros(1) if ratio is None else np.cumsum(ratio)
            if explained[-1] < wanted:
                above = max(int(np.count_nonzero(ratio)) if ratio is not None else 0, 1)
                share = f"the components above the noise explain {explained[-1]:.3f} of the variance, not {wanted}"
                warn(f"{share}: n_components_ is {above}. Collect more reports, or raise epsilon", NoiseWarning)
                return above
            return int(np.argmax(explained >= wanted)) + 1
        return int(wanted)

    def _of_records(self, task: Task) -> None:
        """Rows are records of a task from now on."""
        self.n_features_in_ = len(task.columns)
        self.feature_names_in_ = np.asarray(task.columns, dtype=object)
        self._collected = True

    def _recovered(self, aggregate: Aggregate) -> Self:
        found = self._found(aggregate)
        self.task_ = self._encoder = aggregate.task
        self.aggregate_ = aggregate
        self.recovery_ = found
        self.noise_edge_, self.n_samples_ = found.edge, found.records
        variances = found.eigenvalues if found.variances is None else np.nan_to_num(found.variances)
        mean = None if found.mean is None else found.mean.values
        return self._described(found.components, variances, found.explained_variance_ratio, found.total_variance, mean)

    def _described(
        self, components: Floats, variances: Floats, ratio: Floats | None, total: float, mean: npt.ArrayLike | None
    ) -> Self:
        """Set the other attributes that describe components."""
        rank, dimension = components.shape
        self.components_ = components
        self.explained_variance_ = variances
        self.explained_variance_ratio_ = np.full(rank, np.nan) if ratio is None else ratio
        self.singular_values_ = np.sqrt(self.n_samples_) * self._deviations()
        others, rest = dimension - rank, total - float(np.sum(variances))
        self.noise_variance_ = 0.0 if others == 0 else rest / others if rest >= 0 else float("nan")
        self.mean_ = np.zeros(dimension) if mean is None else np.asarray(mean, dtype=np.float64)
        self.n_components_ = rank
        return self


def _check_sums(aggregate: Any) -> None:
    if not isinstance(aggregate, Aggregate):
        kind = type(aggregate).__name__
        raise TypeError(f"aggregate is {kind}: give the sums of reports, as of ldp_pca.aggregate(reports, task)")


def _seed(random_state: Any) -> int:
    """A seed that the generator draws."""
    most = np.iinfo(np.int64).max
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    return int(check_random_state(random_state).randint(most, dtype=np.int64))


def _decoded(features: Floats, task: Task) -> Any:
    """Encoded features as the values of columns."""
    columns: list[dict[str, Any]] = json.loads(task.to_json())["schema"]["columns"]
    values: list[Any] = []
    at = 0
    for column in columns:
        if column["type"] == "numeric":
            values.append(features[:, at] * column["scale"] + column["offset"])
            at += 1
        elif column["type"] == "categorical":
            names = np.asarray(column["values"], dtype=object)
            values.append(names[np.argmax(features[:, at : at + len(names)], axis=1)])
            at += len(names)
        else:
            values.append(np.full(len(features), np.nan))
    return np.stack(values, axis=1)


class LocalSparsePCA(LocalPCA):
    """Sparse principal components under local differential privacy, by the Fantope program, certified.

    Parameters
    ----------
    n_components : int, float, 'auto' or None
        The number of components, as of `LocalPCA`; a share is that of plain components.
    penalty : 'auto', 'cross-validated' or float
        Of the program: from the noise level, validated over the folds (``folds`` is then 5, say), or in the units of
        the covariance.
    tolerance : float or None
        Relative duality gap at which the solution counts as optimal; None as of `ldp_pca.recover`.
    epsilon, delta, mechanism, radius, centring, folds, whiten, n_jobs, random_state, verbose
        As of `LocalPCA`.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        The features that the components live on.
    relative_gap_ : float
        Certified distance from the optimum of the program.
    penalty_ : float
        In the units of the covariance.
    components_, explained_variance_, mean_, …
        As of `LocalPCA`.
    """

    support_: Bools
    relative_gap_: float
    penalty_: float

    @_knowing_other_names
    def __init__(
        self,
        n_components: Components = 2,
        *,
        penalty: Literal["auto", "cross-validated"] | float = "auto",
        tolerance: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        mechanism: Mechanism = "double-cap",
        radius: float | None = 1.0,
        centring: bool | float = True,
        folds: int = 1,
        whiten: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        given = dict(locals())
        shared: dict[str, Any] = {name: given[name] for name in signature(LocalPCA).parameters}
        super().__init__(**shared)
        self.penalty: Literal["auto", "cross-validated"] | float = penalty
        self.tolerance: float | None = tolerance

    def _method(self) -> dict[str, Any]:
        return {"sparse": True, "penalty": self.penalty, "tolerance": self.tolerance}

    def _recovered(self, aggregate: Aggregate) -> Self:
        super()._recovered(aggregate)
        sparse = self.recovery_.sparse
        assert sparse is not None, "sparse components were asked for"
        self.support_ = np.zeros(aggregate.task.dimension, dtype=bool)
        self.support_[sparse.support] = True
        self.relative_gap_ = sparse.relative_gap
        self.penalty_ = sparse.penalty
        return self
