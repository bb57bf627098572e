"""The compiled part. Docstrings are those of the code: scripts/stub-docs.py writes them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, SupportsIndex, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, TypeAlias

from ._progress import Progress

__all__ = [
    "Aggregate",
    "Collection",
    "PublicSample",
    "Randomizer",
    "Reports",
    "Task",
    "__version__",
    "_components",
    "_covariance",
    "_infer_schema",
    "_norms",
    "_plan",
    "_recover",
    "_recover_refined",
    "_refined_task",
    "_share_found",
    "_sin_theta_squared",
]
__version__: Final[str]
_Path: TypeAlias = str | os.PathLike[str]

@final
class Task:
    """The public parameters of a collection: columns, bounding, mechanism and its privacy.

    They are fixed before the first report. Tasks are equal when their digests are, and they are hashable, picklable and
    immutable.

    The defaults are those of a collection, in which nobody sees a record: unit norm, no centring (less noise) and 10
    folds, on which answers are measured. The estimator `LocalPCA` has others, as `sklearn.decomposition.PCA`: clipping
    to radius 1, centring, and one fold.

    Parameters
    ----------
    columns : int, sequence of str, or schema
        How many numeric features there are (columns ``c1``, ``c2``, …), the names of numeric columns, or a schema: its
        JSON, or the same as a mapping, or the list of its columns, as of `infer_schema`.
    epsilon : float
        The privacy parameter epsilon of one report.
    mechanism : {'double-cap', 'gaussian', 'wang-xu'}
        How records are randomized. 'double-cap' has pure epsilon and less noise than the others.
    delta : float, optional
        The privacy parameter delta of the Gaussian mechanisms, 1e-6 when not given.
    candidates, cap : int, optional
        J and L of double-cap; the best for epsilon when not given.
    bounding : float or 'unit-norm'
        The largest norm that a record keeps, in the units of the encoded features: longer ones are shortened to it. By
        default every record is divided by its norm. Public, and not to be read from the records that are protected.
    centring : bool or float
        Estimate the mean too, and the covariance about it, with this weight (0.25 for ``True``).
    folds : int, optional
        Into how many independent sums reports are split, for answers to be measured on reports that they were not found
        from: 1 to 64. By default 10, or 2 beyond 1,000 features.
    period : str, optional
        The name of the period that the task is for, as '2026-W48': letters, digits and ``-._:``, at most 64. The same
        questions are another task in each period, which everybody answers once (docs/guides/periods.md).

    Raises
    ------
    TaskError, SchemaError
        For parameters that make no sense, with what to do.
    """

    def __new__(
        cls,
        columns: int | str | Sequence[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        *,
        epsilon: float,
        mechanism: str = "double-cap",
        delta: float | None = None,
        candidates: int | None = None,
        cap: int | None = None,
        bounding: str | float | None = None,
        centring: bool | float | None = None,
        folds: int | None = None,
        period: str | None = None,
    ) -> Task: ...
    @classmethod
    def norms(
        cls,
        columns: int | str | Sequence[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        *,
        epsilon: float,
        radius: float,
    ) -> Task:
        """Makes the task of a small collection about the lengths of records, as ``ldp-pca task norms`` does
        (docs/guides/lengths.md). Each person says with one randomized bit whether the record is longer than one of a
        few lengths; `norms` reads the sums. Whoever answers it and the task that follows spends both epsilons.

        Parameters
        ----------
        columns : int, sequence of str, or schema
            As of `Task`.
        epsilon : float
            The privacy parameter epsilon of one report.
        radius : float
            A length that nearly no record exceeds, in the units of the encoded features: the longest that is asked
            about is 0.84 times as long. Public.

        Raises
        ------
        TaskError, SchemaError
            For parameters that make no sense, with what to do.
        """

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Reads a task from its JSON."""

    @classmethod
    def from_file(cls, path: _Path) -> Task:
        """Reads a task from a JSON file, as ``ldp-pca task new`` writes it."""

    def save(self, path: _Path) -> None:
        """Writes the task as JSON to a file, as ``ldp-pca task new`` does."""

    def to_json(self) -> str:
        """The canonical JSON, the text that the digest is of."""

    @property
    def digest(self) -> str:
        """The task's identity: SHA-256 of its canonical JSON, 64 hexadecimal digits."""

    @property
    def campaign(self) -> str:
        """The collection that a person answers once: the digest of the task, or of the one that it refines."""

    @property
    def refinement(self) -> dict[str, Any] | None:
        """What the task of a second wave refines; None of any other.

        A dictionary: the digest of the first wave's task (``parent``), the ``directions`` of shape (rank, d), their
        ``weights``, and the ``clip``, in the units of bounded records.
        """

    @property
    def dimension(self) -> int:
        """The number of encoded features, d."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns of a record, ignored ones included."""

    @property
    def feature_names(self) -> list[str]:
        """The names of the d features: the column's, or ``column=value`` for a categorical one."""

    @property
    def report_bytes(self) -> int:
        """The length of every report in bytes."""

    @property
    def epsilon(self) -> float:
        """The privacy parameter epsilon of one report."""

    @property
    def delta(self) -> float:
        """The privacy parameter delta of one report; 0.0 for a pure guarantee."""

    @property
    def guarantee(self) -> str:
        """The guarantee of one report, in words: epsilon, delta, neighbouring relation and unit."""

    @property
    def mechanism(self) -> str:
        """The mechanism's name, as `Task` takes it: 'signed-cap' in a second wave, 'norm-cap' for norms."""

    @property
    def radius(self) -> float | None:
        """The norm that records are clipped to, in the units of the encoded features; None under unit norm."""

    @property
    def centring(self) -> float | None:
        """The weight of centring; None in a task without."""

    @property
    def period(self) -> str | None:
        """The name of the period that the task is for; None of a task without."""

    @property
    def folds(self) -> int:
        """Into how many independent sums the reports are split."""

    @property
    def entry_deviation(self) -> float:
        """Standard deviation of one off-diagonal entry of the second moments of one report, in the units of the bounded
        record: divided by the root of their number, that of many. Raises `TaskError` for a second wave's task, whose
        reports say nothing about second moments alone, and for a task about the lengths of records.
        """

    def refine(
        self,
        aggregate: Aggregate | PublicSample,
        rank: int = 3,
        *,
        records: int | None = None,
        sample_error: float | None = None,
        anyway: bool = False,
    ) -> Task:
        """Makes the task of a second wave, in which other people refine what this task's sums found, as ``ldp-pca task
        refine`` does (docs/guides/two-waves.md). Its people report only what is between the components that were found
        and all that is across them. Nobody may answer both waves.

        Parameters
        ----------
        aggregate : Aggregate or PublicSample
            The sums of this task, or public records in the first wave's place.
        rank : int
            The number of components.
        records : int, optional
            The number of people that the second wave will have; by default as many as the first. A sample needs it.
        sample_error : float, optional
            How far the leading directions of a sample are off, as ``||sin Theta||_F^2``; by default as those of a
            sample of the same population.
        anyway : bool
            Make the task also where a second wave does not pay.

        Raises
        ------
        PlanError
            Where the prediction says that a second wave does not pay, unless ``anyway``, and for tasks that have none.
        RecoveryError, TaskError
            For the sums or the sample of another task, sums without reports, a rank or ``sample_error`` that makes no
            sense, and a task with centring or of a second wave.
        """

    def encode(self, records: Any, *, bounded: bool = False, strict: bool = False) -> npt.NDArray[np.float64]:
        """The features of records as a report has them before it is randomized. They are as private as the records.

        Parameters
        ----------
        records : array of shape (n, columns), table, or sequence of mappings
            As of `Randomizer.randomize`. What is missing is 0.
        bounded : bool
            Bound every record, as the task says: to norm 1, or to at most ``radius``.
        strict : bool
            As of `Randomizer.randomize`.

        Returns
        -------
        ndarray of shape (n, dimension)
            In the units of the encoded features, in the order of ``feature_names``.

        Raises
        ------
        RecordError, SchemaError
            As of `Randomizer.randomize`.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Reports:
    """Reports of one task, one after the other, immutable.

    Arrow libraries read them without a copy: ``pyarrow.array(reports)``, ``polars.Series(reports)``. ``reports[i]`` is
    the i-th as ``bytes``, and ``reports[i:j]`` are `Reports`.
    """

    @classmethod
    def from_bytes(cls, data: bytes, width: int) -> Reports:
        """Reads reports of ``width`` bytes that follow each other, as ``to_bytes`` gives them."""

    @property
    def width(self) -> int:
        """The length of every report in bytes."""

    @property
    def seeded(self) -> bool:
        """Whether they are known to be drawn from a seed: such reports are not private. Their bytes do not say it."""

    def to_bytes(self) -> bytes:
        """The reports one after the other: the file that ``ldp-pca aggregate`` reads."""

    def to_numpy(self) -> npt.NDArray[np.uint8]:
        """The reports as an array of bytes, a copy: shape (n, width), uint8."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> bytes: ...
    @overload
    def __getitem__(self, index: slice, /) -> Reports: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Randomizer:
    """Bounds and randomizes records, as every device does with its own, for many at once.

    It has no randomness of its own: wherever it is copied or pickled to, reports are drawn from the system's.

    Parameters
    ----------
    task : Task
        The task that the reports answer.
    """

    def __new__(cls, task: Task) -> Randomizer: ...
    @property
    def task(self) -> Task:
        """The task that the reports answer."""

    def randomize(
        self,
        records: Any,
        *,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        insecure_seed: int | np.random.Generator | None = None,
        first: int = 0,
        progress: Progress | None = None,
        strict: bool = False,
    ) -> Reports:
        """One private report per record, with the system's randomness.

        Parameters
        ----------
        records : array of shape (n, columns), table, or sequence of mappings
            Numbers by position, in the order of the task's columns (any integer or floating-point dtype); a pandas,
            polars or Arrow table, whose columns are found by name; or mappings from names to values. One record is a
            mapping, or a list of one. A numeric column holds numbers, and a categorical one texts. NaN, infinities,
            None, nulls and masked values are missing, and so is what does not fit its column: it contributes nothing to
            the report, which protects this as it does any value.
        ids : sequence of str, optional
            The ids of the reports, each of 32 hexadecimal digits, as the aggregator issues them: ``ldp-pca serve``
            accepts no others unless it is configured to. By default reports draw their own ids.
        threads : int, optional
            The number of threads; by default as many as the machine has.
        insecure_seed : int or numpy.random.Generator, optional
            Draw from this seed, or from one that the generator draws, for tests: such reports are NOT private, and say
            so (``seeded``). They are those of ``ldp-pca randomize --insecure-seed``, whatever the number of threads.
        first : int
            With ``insecure_seed``, the position of the first record among all.
        progress : bool or callable
            Show progress, with tqdm or with what this makes: it is called with ``total``, ``unit`` and ``desc``, as
            tqdm is, and what it returns has ``update(n)`` and ``close()``.
        strict : bool
            Refuse what does not fit its column, before anything is randomized, instead of counting it as missing. For
            records of your own: whether there is a report then depends on what a record holds.

        Returns
        -------
        Reports
            In the order of the records: one for each. One record alone gives one whatever it holds. Several are for
            somebody who may see them all: they may be refused for what they hold together.

        Raises
        ------
        RecordError
            For what holds no records, and with ``strict`` for the first record that has something that does not fit,
            with its ``row``. No message holds a value.
        ValueError
            For invalid or repeated ids, and another number of them than of records.
        SchemaError
            For a table without the task's columns, and for several records where nothing of a column fits.

        Warns
        -----
        RecordWarning
            Where something does not fit: of which columns, how often, and in which row first.
        """

@final
class Aggregate:
    """The summed reports of one task. Any order and any grouping of the same reports gives the same bytes.

    It has a sample of the ids in it, up to 1,024, and refuses reports and sums that it recognizes: always while
    it has no more reports, and always a sum of the same reports. `Collection` and `aggregate` keep single duplicates
    out, and compare each sum with every one before it. Comparable, picklable, and safe to use from several threads.

    Parameters
    ----------
    task : Task
        The task whose reports are summed.
    """

    def __new__(cls, task: Task) -> Aggregate: ...
    @classmethod
    def from_bytes(cls, state: bytes, task: Task) -> Aggregate:
        """Reads a state, as the command line, the server, Spark or ``to_bytes`` wrote it.

        Raises `AggregateError` for the state of another task, another version, or altered bytes.
        """

    @classmethod
    def from_file(cls, path: _Path, task: Task) -> Aggregate:
        """Reads a state from a file, as of ``ldp-pca aggregate``."""

    def save(self, path: _Path) -> None:
        """Writes the bytes of the state to a file."""

    def to_bytes(self) -> bytes:
        """The bytes of the state, the same as of the command line, the server and Spark."""

    def update(self, reports: Any, *, threads: int | None = 1) -> int:
        """Adds reports, which are decoded in place. On an error nothing was added.

        Use `Collection` if reports may repeat.

        Parameters
        ----------
        reports : Arrow array or table, series, NumPy array, bytes, sequence of bytes, or Reports
            Binary of any width (a table has it in the column ``report``), uint8 of shape (n, report_bytes), or reports
            one after the other.
        threads : int or None
            The number of threads; None for as many as the machine has.

        Returns
        -------
        int
            The number of reports.

        Raises
        ------
        ReportError
            For bytes that are not a report of the task, with their ``row``.
        AggregateError
            For a report that is recognized as one in the sum.
        """

    def _update_with_repeats(self, reports: Any) -> None: ...
    def _invalid(self, reports: Any) -> list[tuple[int, str]]: ...
    def _integer_bytes(self) -> int: ...
    def merge(self, other: Aggregate) -> None:
        """Adds the sums of other reports of the same task, in place.

        Raises `AggregateError` for another task, for a sum that is recognized to have reports of this one, and for
        itself: they would count twice.
        """

    @property
    def records(self) -> int:
        """The number of reports in all folds."""

    @property
    def seeded(self) -> bool:
        """Whether some of the reports are known to be drawn from a seed: such reports are not private. Reports and sums
        that come as bytes do not say it.
        """

    @property
    def folds(self) -> list[int]:
        """The number of reports in each fold."""

    @property
    def task(self) -> Task:
        """The task whose reports are summed."""

    def __add__(self, other: Aggregate, /) -> Aggregate: ...
    def __iadd__(self, other: Aggregate, /) -> Self: ...
    def __radd__(self, other: int, /) -> Aggregate: ...
    def __copy__(self) -> Aggregate: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Collection:
    """Reports that arrive in pieces, each id counted once: the first report of an id, exactly.

    It remembers every id, some 40 bytes of memory per report. Safe to use from several threads.

    Parameters
    ----------
    task : Task
        The task whose reports are collected.
    threads : int, optional
        The number of threads; by default as many as the machine has.
    skip_invalid : bool
        Leave out bytes that are not valid reports, and count them, instead of raising at the first.
    """

    def __new__(cls, task: Task, *, threads: int | None = None, skip_invalid: bool = False) -> Collection: ...
    def update(self, reports: Any) -> int:
        """Adds reports whose ids are new, in any of the forms of `Aggregate.update`. On an error nothing was added.

        Returns the number of reports that were added.
        """

    def merge(self, other: Aggregate) -> None:
        """Adds the sums of other reports. Not all of their ids are known, so later repeats of them are not all noticed.

        Raises `AggregateError` for a sum that is recognized to have reports of this one.
        """

    def aggregate(self) -> Aggregate:
        """The sums so far, a copy."""

    @property
    def records(self) -> int:
        """The number of reports that were summed."""

    @property
    def duplicates(self) -> int:
        """The number of reports that were left out because an earlier one had their id."""

    @property
    def skipped(self) -> int:
        """The number of rows that were left out because they are not reports of the task."""

    @property
    def first_skipped(self) -> str | None:
        """The first row that was left out, with its place in its call of ``update`` and the reason."""

    @property
    def task(self) -> Task:
        """The task whose reports are collected."""

@final
class PublicSample:
    """Public records in the place of a first wave, such as a survey that was published (docs/guides/two-waves.md). They
    are bounded as a device bounds its own record, and not randomized: never use records that are not public.

    `Task.refine` makes the task that asks people about their leading directions, and `recover` turns these by what the
    people reported. Nothing but the second moments is kept.

    Parameters
    ----------
    task : Task
        The task whose people the sample stands for: double-cap without centring.
    records : array of shape (n, columns), table, or sequence of mappings
        As of `Randomizer.randomize`. What is missing is 0.
    strict : bool
        As of `Randomizer.randomize`.

    Raises
    ------
    RecordError, SchemaError
        As of `Randomizer.randomize`.
    PlanError, TaskError
        Without records, and for a task with centring or of a second wave.
    """

    def __new__(cls, task: Task, records: Any, *, strict: bool = False) -> PublicSample: ...
    @property
    def task(self) -> Task:
        """The task whose people the sample stands for."""

    @property
    def records(self) -> int:
        """The number of public records."""

    def predict(self, records: int, rank: int = 3, *, sample_error: float | None = None) -> dict[str, Any]:
        """Predicts what asking people about the sample's leading directions gives. Nobody is asked.

        Parameters
        ----------
        records : int
            The number of people.
        rank : int
            The number of components.
        sample_error : float, optional
            As of `Task.refine`.

        Returns
        -------
        dict
            ``waves``, the prediction, with ``refused`` where the wave does not pay, and ``otherwise``, the same for
            samples with some other errors. The keys are those of ``ldp-pca task refine --json``
            (docs/reference/json.md).

        Raises
        ------
        PlanError, RecoveryError, TaskError
            As of `Task.refine`.
        """

_components: Callable[..., str]
_covariance: Callable[..., tuple[npt.NDArray[np.float64], str]]
_infer_schema: Callable[..., tuple[str, list[str]]]
_norms: Callable[..., str]
_plan: Callable[..., str]
_recover: Callable[..., tuple[npt.NDArray[np.float64], str]]
_recover_refined: Callable[..., tuple[npt.NDArray[np.float64], str]]
_refined_task: Callable[..., Task]
_share_found: Callable[..., float | None]
_sin_theta_squared: Callable[..., float]
