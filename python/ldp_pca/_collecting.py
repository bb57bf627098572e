"""Sums of reports from files and objects, each id once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Callable

from ._inputs import is_from
from ._native import Aggregate, Collection, Task
from ._progress import Bar, Progress, bar
from .errors import AggregateError, LdpPcaError, SkippedReportsWarning, warn

# Bytes of a plain file that are read at a time.
_CHUNK = 32 << 20
# Rows of a Parquet file that are read at a time, unless they are long.
_BATCH = 1 << 16


def aggregate(
    reports: Any,
    task: Task,
    *,
    threads: int | None = None,
    skip_invalid: bool = False,
    progress: Progress = False,
) -> Aggregate:
    """Sum reports, and sums of reports. A report that occurs twice (by its id) is counted once, exactly.

    Parameters
    ----------
    reports : path, reports, Aggregate, or iterable of these
        Files of reports, Parquet files with a column ``report`` (what ``ldp-pca store export`` writes; they need
        pyarrow) and states (``LDPA``); reports as of `Aggregate.update`; a pyarrow Dataset or RecordBatchReader, which
        is read batch by batch. A sequence of ``bytes`` has one report each.
    task : Task
        The task whose reports they are.
    threads : int, optional
        The number of threads; by default as many as the machine has.
    skip_invalid : bool
        Leave out nulls and everything that is not a valid report of the task, instead of raising at the first. A
        `SkippedReportsWarning` says how many, and where the first is.
    progress : bool or callable
        Show progress in reports, as of `Randomizer.randomize`. Their number is not known before.

    Returns
    -------
    Aggregate
        The same bytes for any order and grouping. States are added as they are. They have a sample of their ids, by
        which the same reports in another state or among the others are recognized: always where a state is given twice,
        and while all have no more than 1,024 reports; nearly always where 1 % of the reports so far come again.

    Raises
    ------
    ReportError, AggregateError
        For the first item that is neither a report nor a state of the task, with its file and the ``row`` in it. Rows
        that are not in files are numbered over all batches of a reader, a dataset or an iterable. Also for a state
        whose reports are recognized, or reports of a state: they would count twice.
    """
    with closing(bar(progress, "aggregating", "report")) as shown:
        adding = _Adding(Collection(task, threads=threads, skip_invalid=skip_invalid), shown)
        for source, file in _sources(reports):
            adding.add(source, file)
    if adding.first_skipped is not None:
        message = f"left out {adding.collection.skipped} invalid reports, the first in {adding.first_skipped}"
        warn(message, SkippedReportsWarning)
    return adding.collection.aggregate()


def _sources(reports: Any) -> Iterator[tuple[Any, str | None]]:
    """The parts to add one by one, and for a batch of a dataset its file."""
    if is_from("polars", "LazyFrame", reports):
        yield reports.select("report").collect(), None
    elif hasattr(reports, "read_next_batch"):
        for batch in reports:
            yield batch, None
    elif hasattr(reports, "to_batches") and not hasattr(reports, "num_rows"):
        yield from _batches(reports)
    elif isinstance(reports, (str, os.PathLike, Aggregate, bytes)) or _is_columnar(reports):
        yield reports, None
    elif isinstance(reports, Iterable):
        parts = list(reports) if isinstance(reports, (list, tuple)) else reports
        if isinstance(parts, list) and all(isinstance(part, bytes) for part in parts):
            yield parts, None
        else:
            for part in parts:
                yield from _sources(part)
    else:
        # The refusal names the accepted types.
        yield reports, None


def _batches(dataset: Any) -> Iterator[tuple[Any, str | None]]:
    """The batches of a dataset, in its order, with only the one column."""
    if not type(dataset).__module__.startswith("pyarrow."):
        # Other libraries' datasets do not give the file.
        for batch in dataset.to_batches(columns=["report"]):
            yield batch, None
        return
    scanner = dataset.scanner(columns=["report"]) if hasattr(dataset, "scanner") else dataset
    for batch, fragment in scanner.scan_batches():
        yield batch, getattr(fragment, "path", None)


def _is_columnar(reports: Any) -> bool:
    return any(hasattr(reports, name) for name in ("__arrow_c_array__", "__arrow_c_stream__", "__array__", "to_frame"))


class _Adding:
    """A collection, and the places that its rows have among all that the caller gives."""

    def __init__(self, collection: Collection, shown: Bar) -> None:
        self.collection = collection
        self._bar = shown
        self.first_skipped: str | None = None
        #: So far, of what is not in files.
        self.rows = 0

    def add(self, source: Any, file: str | None) -> None:
        if isinstance(source, Aggregate):
            self.collection.merge(source)
        elif isinstance(source, (str, os.PathLike)):
            self._add_file(Path(source))
        else:
            # A dataset can be filtered: its rows are not those of its files.
            ending = "" if file is None else f" (in {file})"
            self.rows += self._update(source, self.rows, lambda row: f"row {row}{ending}")

    def _add_file(self, path: Path) -> None:
        rows = 0
        try:
            with path.open("rb") as file:
                start = file.read(4)
            task = self.collection.task
            if start == b"LDPA":
                self.collection.merge(Aggregate.from_file(path, task))
                return
            for batch in _parquet(path, task) if start == b"PAR1" else _plain(path, task):
                rows += self._update(batch, rows, lambda row: f"{path}, row {row}")
        except LdpPcaError as error:
            if error.row is not None:
                raise
            raise type(error)(f"{path}: {error}") from None
        if rows == 0 and start != b"PAR1":
            raise AggregateError(f"{path}: the file is empty: give reports or an aggregate")

    def _update(self, reports: Any, before: int, place: Callable[[int], str]) -> int:
        """Add reports that come after ``before`` others, and count their rows. ``place`` says where a row is."""
        collection = self.collection
        left_out = collection.duplicates + collection.skipped
        try:
            added = collection.update(reports)
        except LdpPcaError as error:
            if error.row is None:
                raise
            # The same, in the caller's numbering.
            at = before + error.row
            moved = type(error)(f"{place(at)}: {str(error).removeprefix(f'row {error.row}: ')}")
            moved.row = at
            raise moved from None
        if self.first_skipped is None and collection.first_skipped is not None:
            row, problem = collection.first_skipped.removeprefix("row ").split(": ", 1)
            self.first_skipped = f"{place(before + int(row))}: {problem}"
        rows = added + collection.duplicates + collection.skipped - left_out
        self._bar.update(rows)
        return rows


def _plain(path: Path, task: Task) -> Iterator[bytes]:
    width = task.report_bytes
    with path.open("rb") as file:
        while chunk := file.read(max(_CHUNK // width, 1) * width):
            yield chunk


def _parquet(path: Path, task: Task) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path} is a Parquet file, which pyarrow reads: pip install 'ldp-pca[arrow]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            if "report" not in file.schema_arrow.names:
                raise AggregateError(f"the file has no column 'report' among its {len(file.schema_arrow.names)}")
            size = min(max(_CHUNK // task.report_bytes, 1), _BATCH)
            yield from file.iter_batches(batch_size=size, columns=["report"])
    except (pa.ArrowException, OSError) as error:
        problem = f"the Parquet file cannot be read: it was cut or altered ({error})"
        raise AggregateError(problem) from error
