"""Exceptions and warnings are logged: none has a value of a record, or a name that the task does not have."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_pca import Aggregate, LdpPcaError, LocalPCA, Randomizer, SchemaError, Task, infer_schema

# They are in every value, and in every name that the task does not have.
TEXT, NUMBER = "s3cret-7f3a", 73155245.5
MARKS = ("s3cret", "7f3a", "7315524")

COLUMNS = [
    {"name": "age", "type": "numeric", "offset": 40, "scale": 20},
    {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
    {"name": "note", "type": "ignored"},
    {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
]
RANDOMIZER = Randomizer(Task(COLUMNS, epsilon=2.0))


class Raising:
    """An object that reveals a value in answer to every question."""

    def __init__(self, kind: type[Exception]) -> None:
        object.__setattr__(self, "kind", kind)

    def fail(self, *_: Any) -> Any:
        raise object.__getattribute__(self, "kind")(TEXT) from ValueError(TEXT)

    __getattr__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = __str__ = __repr__ = fail


class RaisingMapping(Raising, Mapping[str, Any]):
    __iter__ = __getitem__ = __len__ = Raising.fail


class Speaking:
    def __str__(self) -> str:
        return TEXT

    __repr__ = __str__


class NoTable:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ValueError(TEXT)


raising = st.sampled_from([ValueError, KeyError, TypeError, AttributeError, RuntimeError, ZeroDivisionError, OSError])
numbers = st.sampled_from([NUMBER, -NUMBER, int(NUMBER), Decimal(str(NUMBER)), np.float64(NUMBER), None, float("nan")])
texts = st.sampled_from([TEXT, TEXT + "\ud800", f"{TEXT}\0\n", None])
odd = st.one_of(
    st.sampled_from(
        [TEXT.encode(), bytearray(b"73155245"), True, NUMBER + 1j, ValueError(TEXT), Speaking(), Speaking, object]
    ),
    st.sampled_from([[TEXT], (NUMBER,), {TEXT}, {TEXT: NUMBER}, pd.Timestamp(73155245, unit="s"), slice(TEXT)]),
    st.sampled_from([pa.scalar(TEXT.encode()), np.array([NUMBER, 1.0]), np.datetime64(73155245, "s"), lambda: TEXT]),
    st.sampled_from([np.bytes_(TEXT), np.complex64(NUMBER), np.timedelta64(73155245, "s"), np.True_]),
    raising.map(Raising),
)
anything = st.one_of(numbers, texts, odd)
names = st.sampled_from(["age", "plan", "note", "height", TEXT, TEXT + "\ud800", "7315524"])
keys = st.one_of(names, st.sampled_from([int(NUMBER), (TEXT,), TEXT.encode(), None]))

good = st.fixed_dictionaries({"age": numbers, "plan": texts, "height": numbers}, optional={"note": anything})
mappings = st.one_of(
    good,
    st.builds(lambda record, change: {**record, **change}, good, st.dictionaries(keys, anything, max_size=2)),
    st.dictionaries(keys, anything, max_size=5),
    good.map(MappingProxyType),
    raising.map(RaisingMapping),
)
rows = st.lists(st.one_of(anything, st.lists(st.one_of(numbers, anything), min_size=3, max_size=5)), max_size=3)
cells = st.one_of(
    st.lists(st.sampled_from([NUMBER, None]), min_size=2, max_size=2),
    st.lists(st.sampled_from([TEXT, None]), min_size=2, max_size=2),
    st.lists(anything, min_size=2, max_size=2),
)
tables = st.dictionaries(names.filter(lambda name: "\ud800" not in name), cells, min_size=1, max_size=5)


def frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def generated(records: list[Any]) -> Iterator[Any]:
    yield from records
    raise ValueError(TEXT)


# What pyarrow converts by itself. Any other object it asks (for its attributes, its text), and one whose answer is an
# exception has ended the interpreter inside pyarrow: such objects are for our own code, in records, rows and frames.
# A text with a lone surrogate is pyarrow's to refuse: it raises `UnicodeEncodeError`.
PLAIN = {type(None), bool, int, float, np.float64, Decimal, str, bytes, pd.Timestamp}


def is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(map(is_plain, [*value, *value.values()]))
    return all(map(is_plain, value)) if type(value) is list else type(value) in PLAIN


def arrow(columns: dict[str, list[Any]]) -> Any:
    if not is_plain(columns):
        return NoTable()
    try:
        return pa.table(columns)
    except Exception:  # noqa: BLE001
        return NoTable()


def polars(columns: dict[str, list[Any]]) -> Any:
    if any(isinstance(value, Raising) for values in columns.values() for value in values):
        # polars itself prints them on standard error.
        return NoTable()
    try:
        return pl.DataFrame(columns, strict=False)
    except BaseException:  # noqa: BLE001
        return NoTable()


given_records = st.one_of(
    st.lists(mappings, max_size=3),
    st.lists(mappings, max_size=2).map(generated),
    rows,
    tables.map(frame),
    tables.map(arrow),
    tables.map(polars),
    anything,
)


def said(error: BaseException | None, seen: list[BaseException]) -> Iterator[str]:
    """All that an exception says, and all that it came from."""
    if error is None or error in seen:
        return
    seen.append(error)
    yield str(error)
    yield repr(error)
    yield repr(error.args)
    yield repr(vars(error))
    yield "".join(traceback.format_exception_only(error))
    yield from said(error.__cause__, seen)
    yield from said(error.__context__, seen)


def silent(*errors: BaseException) -> None:
    for words in (words for error in errors for words in said(error, [])):
        assert not any(mark in words.replace(",", "").replace("_", "") for mark in MARKS), words


def told(records: Any, *, strict: bool) -> list[BaseException]:
    """Return the exception and the warnings about these records."""
    errors: list[BaseException] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            RANDOMIZER.randomize(records, threads=1, strict=strict)
        except (LdpPcaError, TypeError, ValueError) as error:
            errors.append(error)
    return errors + [warning.message for warning in caught if isinstance(warning.message, Warning)]


@settings(deadline=None, max_examples=600)
@given(given_records, st.booleans())
def test_no_exception_and_no_warning_about_records_holds_an_answer(records: Any, strict: bool) -> None:
    silent(*told(records, strict=strict))


RECORD = pa.table({"age": [NUMBER], "plan": [TEXT], "height": [NUMBER]})


@pytest.mark.parametrize(
    "records",
    [
        RECORD.set_column(0, "age", pa.array([{TEXT: NUMBER}])),
        RECORD.set_column(0, "age", pa.array([[{TEXT: 1}]])),
        RECORD.set_column(0, "age", pa.array([7315524], pa.date32())),
        RECORD.set_column(0, "age", [pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([True]))]),
        pa.array([[{TEXT: NUMBER}]]),
        pl.DataFrame({"age": [{TEXT: 1}], "plan": [TEXT], "height": [NUMBER]}),
        np.full((2, 4), TEXT),
        np.full((2, 4), TEXT.encode()),
        *(
            np.array([[NUMBER] * 4, [NUMBER] * 3 + [one]], dtype=object)
            for one in (TEXT, TEXT.encode(), True, NUMBER + 1j, [NUMBER], object, np.datetime64(73155245, "s"))
        ),
        np.full((1, 3), NUMBER),
        np.full(3, NUMBER),
    ],
)
def test_tables_and_arrays_that_are_no_records_are_told_without_names_and_values(records: Any) -> None:
    lenient = told(records, strict=False)
    assert lenient
    [strict] = told(records, strict=True)
    silent(*lenient, strict)


@settings(deadline=None, max_examples=200)
@given(st.one_of(tables.map(frame), tables.map(arrow), tables.map(polars), rows, cells))
def test_no_exception_about_records_that_are_taken_for_reports_holds_an_answer(records: Any) -> None:
    try:
        Aggregate(RANDOMIZER.task).update(records)
    except (LdpPcaError, TypeError, ValueError) as error:
        silent(error)


@pytest.mark.parametrize(
    "sample",
    [
        pa.table({"age": [NUMBER * 1e150, 1.0]}),
        pa.table({"age": [*(str(number) for number in range(40)), TEXT]}),
        pa.table({"age": [TEXT + str(number) for number in range(40)]}),
        np.array([[NUMBER, 7.3155245e150]]),
    ],
    ids=["huge", "a text among numbers", "many texts", "huge by position"],
)
def test_no_exception_about_a_sample_holds_a_value(sample: Any) -> None:
    with pytest.raises(SchemaError, match=r"column [12] ") as raised:
        infer_schema(sample)
    silent(raised.value)


@pytest.mark.parametrize(
    "rows",
    [
        [[NUMBER, 1.0], [2.0, TEXT]],
        np.array([[NUMBER, 1.0], [2.0, TEXT]], dtype=object),
        np.array([[TEXT, "1"], ["2", "3"]]),
        pd.DataFrame({"a": [NUMBER, 1.0], "b": ["1", TEXT]}),
        pd.DataFrame({"a": [NUMBER, 1.0], "b": pd.Series([1, TEXT], dtype=object)}),
        np.array([[NUMBER + 1j, 1.0], [2.0, 3.0]]),
        [NUMBER, 1.0],
        np.array(NUMBER),
        np.array([NUMBER, 1.0]),
        pd.Series([NUMBER, 1.0]),
        [{"a": NUMBER}, {"a": TEXT}],
    ],
    ids=repr,
)
def test_no_exception_of_an_estimator_holds_a_value(rows: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        LocalPCA(1).fit(rows)
    silent(raised.value)
