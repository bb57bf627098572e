"""scikit-learn estimators over the whole pipeline: bound, randomize, sum, recover.

``fit`` plays all parties: it randomizes every row on its own, as a device would, sums the reports and recovers
components from the sum. That is for simulation and evaluation, and for holders of everybody's data; a collector, who
has only reports, uses ``fit_aggregate``.

Only what ``fit`` learns from the records is private: ``transform`` shows projections of the given rows as they are.

NaN is a missing value, and so is an infinite one. It contributes nothing: it counts as 0, in ``fit`` and in
``transform``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._inputs import is_pandas_frame, records_of
from ._native import Aggregate, Randomizer, Task
from ._recovery import recover
from .errors import RecordError, RecoveryError

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._recovery import Recovery

    Floats = npt.NDArray[np.float64]

__all__ = ["LocalPCA", "LocalSparsePCA"]

# Bytes of reports that are held at a time.
_BATCH_BYTES = 64 << 20


# How messages of scikit-learn and NumPy begin that go on with what they found.
_QUOTING = ("could not convert string to float", "Complex data not supported", "Expected 2D array", "Unable to convert")


def _missing_as_nan(X: Any) -> Any:  # noqa: N803
    """Missing values of every kind as NaN, which scikit-learn knows; it refuses anything but rows of numbers."""
    try:
        if is_pandas_frame(X) and (X.dtypes == object).any():
            return type(X)(records_of(X.to_numpy(dtype=object)), index=X.index, columns=X.columns)
        if isinstance(X, (list, tuple, np.ma.MaskedArray)) or (isinstance(X, np.ndarray) and X.dtype == object):
            return records_of(X)
    except RecordError:
        pass
    return X


class LocalPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components under local differential privacy.

    Parameters
    ----------
    n_components : int
        The number of components.
    epsilon : float
        The privacy parameter epsilon of every row's report.
    delta : float, optional
        The privacy parameter delta of the Gaussian mechanisms, 1e-6 when not given.
    mechanism : {'double-cap', 'gaussian', 'gaussian-paper'}
        How rows are randomized. 'double-cap' has pure epsilon and the least noise.
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
    n_jobs : int or None
        The number of threads; None is 1, -1 is all of the machine.
    random_state : int, RandomState instance or None
        None: the system's randomness, the only choice that is private. Anything else is for tests: anyone who knows it
        can undo the noise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, most variance first.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along them, without the bias of the noise; 0 for a component that is not above the noise. With
        centring those of the estimate, which the noise makes larger, or negative.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same over the total variance; NaN where noise makes the total 0 or less.
    mean_ : ndarray of shape (n_features,)
        The estimated mean of the bounded rows; zeros without centring.
    noise_edge_ : float
        The variance that noise alone would give to the first component: a component below it cannot be distinguished
        from noise.
    n_components_ : int
        The number of components.
    n_samples_ : int
        The number of reports.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, of a table in ``fit`` or of the task in ``fit_aggregate``.
    task_ : Task
        The task that the rows answered.
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

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        mechanism: str = "double-cap",
        radius: float | None = 1.0,
        centring: bool | float = True,
        folds: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.radius = radius
        self.centring = centring
        self.folds = folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LocalPCA:  # noqa: N803
        """Randomize every row on its own, sum the reports, and recover components from the sum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. NaN, infinities, None and masked values are missing.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = self._validated(X, ensure_min_samples=2)  # noqa: N806
        task = Task(
            X.shape[1],
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            delta=self.delta,
            bounding="unit-norm" if self.radius is None else self.radius,
            centring=self.centring,
            folds=self.folds,
        )
        seed = None
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
        threads = self._threads()
        randomizer, aggregate = Randomizer(task), Aggregate(task)
        size = max(_BATCH_BYTES // task.report_bytes, 1)
        for first in range(0, X.shape[0], size):
            part = X[first : first + size]
            reports = randomizer.randomize(part, threads=threads, insecure_seed=seed, first=first)
            aggregate.update(reports, threads=threads)
        return self._recovered(aggregate)

    def fit_aggregate(self, aggregate: Aggregate) -> LocalPCA:
        """Recover components from reports that were collected elsewhere.

        The task of the aggregate says what was asked and how: ``epsilon``, ``radius`` and the other parameters of the
        collection are not read.

        Parameters
        ----------
        aggregate : Aggregate
            The sums.

        Returns
        -------
        self
        """
        names = aggregate.task.feature_names
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.asarray(names, dtype=object)
        return self._recovered(aggregate)

    @classmethod
    def from_aggregate(cls, aggregate: Aggregate, n_components: int = 2, **parameters: Any) -> LocalPCA:
        """Make an estimator and `fit_aggregate` it.

        Parameters
        ----------
        aggregate : Aggregate
            The sums.
        n_components : int
            The number of components.
        **parameters
            Others of the estimator.

        Returns
        -------
        LocalPCA or LocalSparsePCA
        """
        return cls(n_components, **parameters).fit_aggregate(aggregate)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Project rows onto the components. Nothing about the result is private.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. What is missing counts as 0, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)  # noqa: N806
        projected: Floats = (np.where(np.isfinite(X), X, 0.0) - self.mean_) @ self.components_.T
        return projected

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Bring projections back into the space of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projections, as of `transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        whole: Floats = np.asarray(X, dtype=np.float64) @ self.components_ + self.mean_
        return whole

    def get_covariance(self) -> Floats:
        """Give the unbiased estimate of the covariance, of shape (n_features, n_features), with its noise."""
        from ._covariance import covariance

        check_is_fitted(self)
        return covariance(self.aggregate_).matrix

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that NaN is a value."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _validated(self, X: Any, **options: Any) -> Floats:  # noqa: N803
        """Return the rows in scikit-learn's form, with NaN and infinities. No message contains one of their values."""
        X = _missing_as_nan(X)  # noqa: N806
        try:
            rows: Floats = validate_data(self, X, dtype=np.float64, ensure_all_finite=False, **options)
        except ValueError as error:
            words = str(error)
            quoting = next((start for start in _QUOTING if words.startswith(start)), None)
            if quoting is None:
                raise
        else:
            return rows
        # Outside the handler: what was caught would be this one's context.
        raise RecordError(f"{quoting}: give numbers in rows of the same length. Reshape your data, or leave texts out")

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _threads(self) -> int | None:
        if self.n_jobs is None:
            return 1
        if self.n_jobs == -1:
            return None
        if self.n_jobs < 1:
            raise ValueError(f"n_jobs={self.n_jobs}: use None, -1 for all of the machine, or 1 and more")
        return int(self.n_jobs)

    def _recover(self, aggregate: Aggregate) -> Recovery:
        return recover(aggregate, self.n_components, method="pca")

    def _recovered(self, aggregate: Aggregate) -> LocalPCA:
        features = aggregate.task.dimension
        if not 1 <= self.n_components <= features:
            raise RecoveryError(f"n_components={self.n_components} is not between 1 and n_features={features}")
        found = self._recover(aggregate)
        self.task_ = aggregate.task
        self.aggregate_ = aggregate
        self.recovery_ = found
        self.components_ = found.components
        self.explained_variance_ = found.eigenvalues if found.variances is None else np.nan_to_num(found.variances)
        ratio = found.explained_variance_ratio
        self.explained_variance_ratio_ = np.full(found.rank, np.nan) if ratio is None else ratio
        self.mean_ = np.zeros(features) if found.mean is None else found.mean.values
        self.noise_edge_ = found.noise_edge if found.sparse is None else found.sparse.noise_edge
        self.n_components_ = found.rank
        self.n_samples_ = found.records
        return self


class LocalSparsePCA(LocalPCA):
    """Sparse principal components under local differential privacy, by the Fantope program, certified.

    Parameters
    ----------
    n_components : int
        The number of components.
    penalty : 'auto', 'cross-validated' or float
        Of the program: from the noise level, validated over the folds (``folds`` is then 5, say), or in the units of
        the covariance.
    tolerance : float
        Relative duality gap at which the solution counts as optimal.
    epsilon, delta, mechanism, radius, centring, folds, n_jobs, random_state
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

    def __init__(
        self,
        n_components: int = 2,
        *,
        penalty: str | float = "auto",
        tolerance: float = 1e-6,
        epsilon: float = 1.0,
        delta: float | None = None,
        mechanism: str = "double-cap",
        radius: float | None = 1.0,
        centring: bool | float = True,
        folds: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            radius=radius,
            centring=centring,
            folds=folds,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.penalty = penalty
        self.tolerance = tolerance

    def _recover(self, aggregate: Aggregate) -> Recovery:
        return recover(aggregate, self.n_components, sparse=True, penalty=self.penalty, tolerance=self.tolerance)

    def _recovered(self, aggregate: Aggregate) -> LocalPCA:
        super()._recovered(aggregate)
        sparse = self.recovery_.sparse
        assert sparse is not None, "sparse components were asked for"
        self.support_ = np.zeros(aggregate.task.dimension, dtype=bool)
        self.support_[sparse.support] = True
        self.relative_gap_ = sparse.relative_gap
        self.penalty_ = sparse.penalty
        return self
