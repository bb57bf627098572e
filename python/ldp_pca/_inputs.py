"""Callers' records, converted to one of the forms that the native part reads.

What decides whether there are records, and how many, is the type and the shape of what holds them. What one of them
holds is never raised about: the native part counts what it cannot read as missing. No message has a value, so nothing
is raised from another library's error, whose words quote what it could not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

import numpy as np

from .errors import LdpPcaError, RecordError

_FORMS = "a two-dimensional array of numbers, a table (pandas, polars, Arrow), a sequence of mappings, or one record"


class NamedRows(list[Any]):
    """The rows of a table as mappings, with the names that the table declares."""

    def __init__(self, names: list[str], rows: Iterable[Any]) -> None:
        super().__init__(rows)
        self.names = names


def records_of(records: Any, ignored: Iterable[str] = (), named: Iterable[str] = ()) -> Any:
    """Float64 array (NaN for what is missing), Arrow table, or list of mappings and rows. One record is a list of one.

    Exceptions of the caller's own objects are not passed on: they may quote what the objects hold.

    The columns of a pandas frame that are ``ignored`` are not looked at. Of the columns of an Arrow table that are the
    index of a frame, those that are ``named`` stay.

    Raises
    ------
    RecordError
        For anything else.
    """
    return _guarded(_records_of, records, ignored, named)


def numbers_of(records: Any) -> Any:
    """Float64 array (NaN for what is missing), Arrow table, or list with mappings. Rows of numbers are an array, too.

    Raises
    ------
    RecordError
        For anything else, and for rows of other values or of several lengths, with their ``row``.
    """
    return _guarded(_numbers_of, records)


def _guarded(read: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except (LdpPcaError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001
        kind = type(error).__name__
    # Outside the handler: what was caught would be this one's context.
    raise RecordError(f"the records cannot be read: they raise {kind}")


def _records_of(records: Any, ignored: Iterable[str], named: Iterable[str]) -> Any:
    if isinstance(records, np.ndarray):
        return _numbers(records)
    if isinstance(records, Mapping):
        return [records]
    if is_from("pandas", "Series", records):
        # One record by the names of its index, as a row of a frame is.
        return [dict(zip(map(_name, records.index), records.tolist()))]
    if is_from("polars", "LazyFrame", records):
        return _checked(records.collect(), named)
    if is_from("pyarrow", None, records) and hasattr(records, "to_table"):
        return _checked(records.to_table(), named)
    if is_pandas_frame(records):
        names = [str(name) for name in records.columns]
        unread = frozenset(ignored)
        frame = records.loc[:, [name not in unread for name in names]]
        table = arrow_of_pandas(frame)
        if table is not None:
            return table
        # Columns of several types.
        names = [str(name) for name in frame.columns]
        return NamedRows(names, (dict(zip(names, row)) for row in frame.itertuples(index=False, name=None)))
    if hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__"):
        return _checked(records, named)
    if isinstance(records, Sequence) and not isinstance(records, (str, bytes, bytearray)):
        rows = list(records)
        first = next((record for record in rows if record is not None), None)
        one = len(rows) > 0 and not is_mapping(first) and not is_row(first)
        return _stacked([rows] if one else rows)
    if hasattr(records, "tocsr"):
        remedy = "give its rows in parts, X.tocsr()[first:last].toarray()"
        raise RecordError(f"records are dense, and this is {type(records).__name__}: {remedy}")
    if hasattr(records, "__array__"):
        return _numbers(np.asarray(records))
    raise RecordError(f"records come as {_FORMS}, not as {type(records).__name__}")


def _numbers_of(records: Any) -> Any:
    taken = records_of(records)
    if not isinstance(taken, list) or any(map(is_mapping, taken)):
        return taken
    rows: list[list[float]] = []
    for row, record in enumerate(taken):
        if not is_row(record):
            raise _in_row(row, f"{type(record).__name__} is not a record: records come as {_FORMS}")
        values = []
        for place, given in enumerate(record):
            value = plain(given)
            if not isinstance(value, float):
                kind = type(given).__name__
                raise _in_row(row, f"position {place + 1} holds {kind}: give a number, or None where there is none")
            values.append(value)
        if rows and len(values) != len(rows[0]):
            raise _in_row(row, f"the record has {len(values)} values where the first has {len(rows[0])}")
        rows.append(values)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def is_from(library: str, name: str | None, value: Any) -> bool:
    """Whether the value's type is of this library, and of this name if there is one; without importing the library."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == library and name in (None, kind.__name__)


def is_pandas_frame(table: Any) -> bool:
    """Whether this is a data frame of pandas."""
    return is_from("pandas", "DataFrame", table)


def arrow_of_pandas(frame: Any) -> Any | None:
    """The frame as an Arrow table, without its index; None for columns that Arrow has no type for.

    Periods are the times at which they begin: Arrow keeps their numbers, which count months, say, since 1970.

    Raises
    ------
    ImportError
        Without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("a pandas DataFrame is read by pyarrow: pip install 'ldp-pca[arrow]'") from error
    try:
        for place, kind in enumerate(frame.dtypes):
            if type(kind).__name__ == "PeriodDtype":
                frame = frame.copy(deep=False)
                frame.isetitem(place, frame.iloc[:, place].dt.to_timestamp())
        return pa.Table.from_pandas(frame, preserve_index=False)
    except Exception:  # noqa: BLE001
        # Arrow's own, or one of an object in the frame.
        return None


def without_index(table: Any, named: Iterable[str] = ()) -> Any:
    """What has columns of Arrow, without those that are the index of a frame of pandas, unless they are ``named``."""
    if not is_from("pyarrow", None, table) or not hasattr(table, "schema"):
        return table
    index, names = (table.schema.pandas_metadata or {}).get("index_columns", []), table.schema.names
    kept = [place for place, name in enumerate(names) if name not in index or name in named]
    if len(kept) == len(names):
        return table
    table = table if hasattr(table, "select") else table.read_all()
    return table.select(kept)


def _checked(table: Any, named: Iterable[str]) -> Any:
    """What is a table to Arrow, with what does not survive the way to the native part taken care of."""
    table = without_index(table, named)
    if not hasattr(table, "schema"):
        # That a struct of an array, a chunked one or a series is null is lost on the way, what lies under it not.
        nulls = getattr(table, "null_count", 0)
        if nulls() if callable(nulls) else nulls:
            rows = table.to_pylist() if hasattr(table, "to_pylist") else table.to_list()
            if all(row is None or is_mapping(row) for row in rows):
                return NamedRows(list(next(filter(None, rows), ())), rows)
    if is_from("polars", "Series", table) and str(table.dtype).startswith("Struct"):
        table = table.struct.unnest()
    if is_from("polars", "DataFrame", table):
        # Values of no type leave polars with a buffer that Arrow does not allow: as numbers they do not.
        empty = [name for name, kind in table.schema.items() if str(kind) == "Null"]
        table = table.with_columns(table[name].cast(float) for name in empty)
        # Other types that do not reach Arrow, or have such values within.
        if any(word in str(kind) for kind in table.schema.values() for word in ("Null", "Object", "Int128")):
            return NamedRows(table.columns, table.to_dicts())
    return table


def plain(value: Any, are_texts: bool = False) -> float | str | None:
    """A value of a record as a number or a text; NaN for a missing one, and None for anything else.

    A number beyond all floats is infinite, and so it is missing. Where categories ``are_texts``, so are booleans and
    whole numbers.
    """
    # A scalar of Arrow, and an array without dimensions, which may be masked.
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = None if np.ma.is_masked(value) else value.item()
    if isinstance(value, str):
        return value
    if are_texts and isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64)
    # Longer than any that a file or an array has, a number has no text here: it is the nearest float.
    if are_texts and is_whole and -(2**63) <= value < 2**64:
        return str(int(value))
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value):
        return float("nan")
    if not _is_number(type(value)):
        return None
    try:
        return float(value)
    except (ArithmeticError, ValueError):
        # Too large, or a decimal that is a signalling NaN.
        return float("nan")
    except Exception:  # noqa: BLE001
        return None


def _is_number(kind: type) -> bool:
    """Whether values of this type are numbers: bools, times and complex ones are not."""
    if issubclass(kind, (np.generic, np.ndarray)):
        return issubclass(kind, (np.integer, np.floating)) and not issubclass(kind, np.timedelta64)
    return not issubclass(kind, bool) and (hasattr(kind, "__float__") or hasattr(kind, "__index__"))


def _numbers(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind not in "fiuO":
        kind = array.dtype.type.__name__
        raise RecordError(f"an array of {kind} holds no numbers: give floats or integers, or a table with names")
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2:
        raise RecordError(f"the array has the shape {array.shape}: records are rows of a two-dimensional one")
    if array.dtype.kind == "O":
        return _stacked(list(array))
    with np.errstate(all="ignore"):
        if isinstance(array, np.ma.MaskedArray):
            array = np.ma.filled(array.astype(np.float64), np.nan)
        # As the native part reads them: of any strides, but aligned, which a field of packed records is not.
        return np.require(array, dtype=np.float64, requirements=["A", "E"])


def is_mapping(record: Any) -> bool:
    """Whether this is a record by name: its type decides."""
    return issubclass(type(record), Mapping)


def values_of(record: Any) -> list[Any] | None:
    """The values of a record by position; None for what is no row."""
    return list(record) if is_row(record) else None


def is_row(record: Any) -> bool:
    """Whether this is a record by position: its type decides."""
    kind = type(record)
    if issubclass(kind, np.ndarray):
        return bool(record.ndim)
    single = issubclass(kind, (str, bytes, bytearray, np.generic, Mapping, AbstractSet)) or hasattr(kind, "as_py")
    return hasattr(kind, "__len__") and hasattr(kind, "__iter__") and not single


def _stacked(rows: list[Any]) -> Any:
    """Rows of numbers, all of one length, as an array, which is read sooner; any others as they are."""
    # An integer that no float holds raises, or an object of the caller's.
    with suppress(Exception):
        even = all(map(is_row, rows)) and len(set(map(len, rows))) == 1
        if even and all(map(_is_number, {type(value) for row in rows for value in row})):
            with np.errstate(all="ignore"):
                return np.asarray(rows, dtype=np.float64)
    return rows


def _name(key: Any) -> str:
    """The text of a key; none, which names no column, where it has none."""
    try:
        return str(key)
    except Exception:  # noqa: BLE001
        return ""


def _in_row(row: int, problem: str) -> RecordError:
    error = RecordError(f"row {row}: {problem}")
    error.row = row
    return error
