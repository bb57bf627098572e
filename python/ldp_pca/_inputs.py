"""What callers give as records, brought into one of the forms that the native part reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import RecordError, SchemaError

_FORMS = "a two-dimensional array of numbers, a table (pandas, polars, Arrow) or a sequence of mappings"
_MASKED = "has a masked value, which is none: fill it (numpy.ma.filled), or leave the record out"


def records_of(records: Any) -> Any:
    """Float64 array, Arrow table, or iterable of mappings.

    Raises
    ------
    RecordError
        For anything else, with the ``row`` where there is one.
    """
    if isinstance(records, np.ndarray):
        return _numbers(records)
    if is_pandas_frame(records):
        return arrow_of_pandas(records)
    if hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__"):
        return records
    if isinstance(records, Sequence) and not isinstance(records, (str, bytes)):
        if len(records) == 0 or isinstance(records[0], Mapping):
            return records
        return _numbers(_stacked(records))
    if hasattr(records, "__array__") and not hasattr(records, "tocsr"):
        return _numbers(np.asarray(records))
    raise RecordError(f"records come as {_FORMS}, not as {type(records).__name__}")


def is_pandas_frame(table: Any) -> bool:
    """Whether this is a data frame of pandas, which is not imported to tell."""
    kind = type(table)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def arrow_of_pandas(frame: Any) -> Any:
    """The frame as an Arrow table, without its index.

    Raises
    ------
    ImportError
        Without pyarrow.
    SchemaError
        For columns of mixed or other types.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("a pandas DataFrame is read by pyarrow: pip install 'ldp-pca[arrow]'") from error
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"the frame has a column that is neither of numbers nor of texts: {error}") from error


def _numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if array.dtype.kind not in "fiu":
        raise RecordError(f"an array of {array.dtype} holds no numbers: give floats or integers, or a table with names")
    if array.ndim != 2:
        raise RecordError(f"the array has the shape {array.shape}: records are rows of a two-dimensional one")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise _in_row(int(np.nonzero(np.ma.getmaskarray(array))[0][0]), f"the record {_MASKED}")
    return floats_of(array)


def floats_of(array: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Float64 as the native part reads it: of any strides, but aligned, which a field of packed records is not."""
    return np.require(array, dtype=np.float64, requirements=["A", "E"])


def _stacked(records: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Rows of numbers as an array; what keeps them from being one is named."""
    width = None
    for row, record in enumerate(records):
        try:
            length = len(record)
        except TypeError:
            raise _in_row(row, f"{record!r} is no record: records come as {_FORMS}") from None
        width = length if width is None else width
        if length != width:
            raise _in_row(row, f"the record has {length} values where the first has {width}")
        if np.ma.is_masked(record):
            raise _in_row(row, f"the record {_MASKED}")
    try:
        return np.asarray(records, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RecordError(f"the records hold something else than numbers: {error}") from error


def _in_row(row: int, problem: str) -> RecordError:
    error = RecordError(f"row {row}: {problem}")
    error.row = row
    return error
