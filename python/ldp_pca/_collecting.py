"""Reports from wherever they lie into one sum, each id once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ._native import Aggregate, Collection, Task
from .errors import AggregateError, LdpPcaError, SkippedReportsWarning

__all__ = ["aggregate"]

# Bytes of a plain file that are read at a time.
_CHUNK = 32 << 20
# Rows of a Parquet file that are read at a time, unless they are long.
_BATCH = 1 << 16


def aggregate(reports: Any, task: Task, *, threads: int | None = None, skip_invalid: bool = False) -> Aggregate:
    """Sum reports, and sums of reports. A report that is there twice (by its id) is counted once, exactly.

    Parameters
    ----------
    reports : path, reports, Aggregate, or iterable of these
        Files of reports, Parquet files with a column ``report`` (what the aggregator seals and ``ldp-pca store export``
        writes; they need pyarrow) and states (``LDPA``); reports as of `Aggregate.update`; a pyarrow Dataset or
        RecordBatchReader, which is read batch by batch. A sequence of ``bytes`` has one report each.
    task : Task
        The task whose reports they are.
    threads : int, optional
        How many threads to use; as many as the machine has when not given.
    skip_invalid : bool
        Leave out what is not a valid report, with a `SkippedReportsWarning`, instead of raising at the first.

    Returns
    -------
    Aggregate
        The same bytes for any order and grouping. States are added as they are: nothing keeps the reports in them from
        being among the others.

    Raises
    ------
    ReportError, AggregateError
        For the first thing that is neither a report nor a state of the task, with its file and row.
    """
    collection = Collection(task, threads=threads, skip_invalid=skip_invalid)
    for source in _sources(reports):
        _add(collection, source)
    if collection.skipped:
        message = f"left out {collection.skipped} invalid reports, the first {collection.first_skipped}"
        warnings.warn(message, SkippedReportsWarning, stacklevel=2)
    return collection.aggregate()


def _sources(reports: Any) -> Iterator[Any]:
    """What is added on its own."""
    if hasattr(reports, "read_next_batch") or (hasattr(reports, "to_batches") and not hasattr(reports, "num_rows")):
        yield from _batches(reports)
    elif isinstance(reports, (str, os.PathLike, Aggregate, bytes)) or _is_columnar(reports):
        yield reports
    elif isinstance(reports, Iterable):
        parts = list(reports) if isinstance(reports, (list, tuple)) else reports
        if isinstance(parts, list) and all(isinstance(part, bytes) for part in parts):
            yield parts
        else:
            for part in parts:
                yield from _sources(part)
    else:
        # The refusal names what is taken.
        yield reports


def _batches(source: Any) -> Iterator[Any]:
    """The batches of a reader, or of a dataset, of which the one column is read."""
    return iter(source) if hasattr(source, "read_next_batch") else iter(source.to_batches(columns=["report"]))


def _is_columnar(reports: Any) -> bool:
    return any(hasattr(reports, name) for name in ("__arrow_c_array__", "__arrow_c_stream__", "__array__", "to_frame"))


def _add(collection: Collection, source: Any) -> None:
    if isinstance(source, Aggregate):
        collection.merge(source)
    elif isinstance(source, (str, os.PathLike)):
        _add_file(collection, Path(source))
    else:
        collection.update(source)


def _add_file(collection: Collection, path: Path) -> None:
    before = 0
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"LDPA":
            collection.merge(Aggregate.from_file(path, collection.task))
            return
        for rows, batch in _parquet(path, collection.task) if start == b"PAR1" else _plain(path, collection.task):
            collection.update(batch)
            before += rows
    except LdpPcaError as error:
        raise _placed(error, path, before) from None
    if before == 0 and start != b"PAR1":
        raise AggregateError(f"{path}: the file is empty: give reports or an aggregate")


def _plain(path: Path, task: Task) -> Iterator[tuple[int, bytes]]:
    width = task.report_bytes
    with path.open("rb") as file:
        while chunk := file.read(max(_CHUNK // width, 1) * width):
            yield -(-len(chunk) // width), chunk


def _parquet(path: Path, task: Task) -> Iterator[tuple[int, Any]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path} is a Parquet file, which pyarrow reads: pip install 'ldp-pca[arrow]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            if "report" not in file.schema_arrow.names:
                raise AggregateError(f"the file has no column 'report', but {file.schema_arrow.names}")
            size = min(max(_CHUNK // task.report_bytes, 1), _BATCH)
            for batch in file.iter_batches(batch_size=size, columns=["report"]):
                yield batch.num_rows, batch
    except (pa.ArrowException, OSError) as error:
        # What an aggregator still writes to has no footer yet.
        problem = f"the Parquet file cannot be read: it was cut, altered, or is not sealed yet ({error})"
        raise AggregateError(problem) from error


def _placed(error: LdpPcaError, path: Path, before: int) -> LdpPcaError:
    """The same error with the file, and the row in it."""
    if error.row is None:
        return type(error)(f"{path}: {error}")
    problem = str(error).split(": ", 1)[1]
    placed = type(error)(f"{path}, row {before + error.row}: {problem}")
    placed.row = before + error.row
    return placed
