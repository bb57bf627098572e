"""Every record gives a report, whatever it holds. Its owner hears what could not be read, and no value."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldp_pca
from ldp_pca import Aggregate, PublicSample, Randomizer, RecordError, RecordWarning, Reports, SchemaError, Task

COLUMNS = [
    {"name": "age", "type": "numeric", "offset": 40, "scale": 20},
    {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
    {"name": "note", "type": "ignored"},
    {"name": "shop", "type": "categorical", "values": ["1", "True", "other"], "unseen": "other"},
    {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
]
NAMES = [column["name"] for column in COLUMNS]
RANDOMIZER = Randomizer(Task(COLUMNS, epsilon=2.0))
GOOD: dict[str, Any] = {"age": 30.5, "plan": "paid", "note": None, "shop": 1, "height": 180}
SECRET = "s3cret-7f3a"


def quietly(records: Any, randomizer: Randomizer = RANDOMIZER, **options: Any) -> Reports:
    """The reports, without the words about what could not be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordWarning)
        return randomizer.randomize(records, threads=1, **options)


class Raising:
    """An object that fails whatever it is asked."""

    def __init__(self, kind: type[BaseException]) -> None:
        object.__setattr__(self, "kind", kind)

    def fail(self, *_: Any) -> Any:
        raise object.__getattribute__(self, "kind")(SECRET)

    __getattr__ = __float__ = __index__ = __int__ = __bool__ = __len__ = __iter__ = __getitem__ = fail
    __str__ = __repr__ = __eq__ = __hash__ = fail  # type: ignore[assignment]


class RaisingMapping(Mapping[str, Any]):
    """A record that fails in one of the ways of being read."""

    def __init__(self, method: str, kind: type[BaseException]) -> None:
        self.method, self.kind = method, kind

    def fail(self, method: str) -> None:
        if method == self.method:
            raise self.kind(SECRET)

    def __iter__(self) -> Iterator[str]:
        self.fail("iter")
        return iter(GOOD)

    def __len__(self) -> int:
        self.fail("len")
        return len(GOOD)

    def __getitem__(self, name: str) -> Any:
        self.fail("getitem")
        return GOOD[name]

    def items(self) -> Any:
        self.fail("items")
        return [("age",)] if self.method == "short" else super().items()


class Misnamed:
    """An object whose class is not the one it says."""

    @property
    def __class__(self) -> Any:
        raise ValueError(SECRET)


class NoNumber(int):
    def __float__(self) -> float:
        raise RuntimeError(SECRET)

    __lt__ = __le__ = __gt__ = __ge__ = Raising.fail


EXCEPTIONS = [ValueError, KeyError, TypeError, AttributeError, RuntimeError, OSError, StopIteration, OverflowError]

scalars = st.one_of(
    st.none(),
    st.text(st.characters(codec=None), max_size=9),
    st.sampled_from(["40", "spring 2019", "free", "paid", "NaN", "", "1"]),
    st.binary(max_size=9),
    st.booleans(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.sampled_from(
        [pd.NA, pd.NaT, np.ma.masked, np.float32(3.5), np.int8(-1), np.uint64(2**64 - 1), np.longdouble("1e4000")]
    ),
    st.sampled_from([np.True_, np.complex64(1), np.str_("40"), np.bytes_(b"x"), np.datetime64("NaT"), np.array(1.5)]),
    st.sampled_from([np.array([1.0, 2.0]), np.array([[1.0]]), np.ma.masked_array(1, mask=True), np.zeros(2, "V3")]),
    st.sampled_from(
        [pa.scalar("x"), pa.scalar(1), pa.scalar(None), pa.scalar({"a": 1}), pa.array([1]), pl.Series([1])]
    ),
    st.sampled_from([bytearray(b"40"), memoryview(b"40"), object(), object, len, ValueError("x"), range(3), slice(1)]),
    st.sampled_from([NoNumber(5), pd.Timestamp(0), pd.Period("2019"), pd.DataFrame({"a": [1]})]),
)
anything = st.one_of(
    st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
        ),
        max_leaves=5,
    ),
    st.sampled_from(EXCEPTIONS).map(Raising),
    st.frozensets(st.integers(), max_size=3),
)
keys = st.one_of(
    st.sampled_from(NAMES),
    st.text(st.characters(codec=None), max_size=3),
    st.sampled_from([None, 7, ("age",), b"age", float("nan")]),
)
mappings = st.one_of(
    st.fixed_dictionaries({name: anything for name in NAMES}),
    st.dictionaries(keys, anything, max_size=6),
    st.builds(
        RaisingMapping, st.sampled_from(["iter", "len", "getitem", "items", "short"]), st.sampled_from(EXCEPTIONS)
    ),
)
rows = st.lists(anything, max_size=7)
reports_of_one = RANDOMIZER.task.report_bytes


def check(records: Any, count: int) -> None:
    reports = quietly(records)
    assert (len(reports), reports.width) == (count, reports_of_one)
    assert Aggregate(RANDOMIZER.task).update(reports) == count


@settings(deadline=None, max_examples=300)
@given(mappings)
def test_a_mapping_gives_a_report(record: Any) -> None:
    check(record, 1)
    check([record], 1)


@settings(deadline=None, max_examples=300)
@given(rows)
def test_a_row_gives_a_report(row: list[Any]) -> None:
    check([row], 1)
    objects = np.empty((1, len(row)), dtype=object)
    for place, value in enumerate(row):
        objects[0, place] = value
    check(objects, 1)
    check(objects[0], 1)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(mappings, rows, anything), max_size=5))
def test_each_of_many_records_gives_a_report(records: list[Any]) -> None:
    """The first shows that they are records of the task."""
    for first in (GOOD, list(GOOD.values())):
        check([first, *records], 1 + len(records))


@settings(deadline=None, max_examples=200)
@given(st.fixed_dictionaries({name: anything for name in NAMES}))
def test_a_row_of_a_table_gives_a_report(record: dict[str, Any]) -> None:
    columns = {name: pd.Series([None], dtype=object) for name in NAMES}
    for name, value in record.items():
        columns[name].array[0] = value
    check(pd.DataFrame(columns), 1)
    good = {name: pd.Series([GOOD[name], None], dtype=object) for name in NAMES}
    for name, value in record.items():
        good[name].array[1] = value
    frame = pd.DataFrame(good)
    try:
        check(frame, 2)
    except SchemaError as error:
        # Arrow reads both values of a column as one other type.
        assert error.row in (0, 1)


def typed(make: Any, columns: Any) -> Any:
    """The table of these columns, if there is one. polars ends on some of them."""
    try:
        return make(columns)
    except BaseException:  # noqa: BLE001
        return None


def can_be_typed(value: Any) -> bool:
    """Whether neither pyarrow ends the process, on a time without a unit in a list, nor polars, on a zero in a name."""
    if isinstance(value, dict):
        return not any("\0" in key for key in value) and all(map(can_be_typed, value.values()))
    if isinstance(value, (list, tuple)):
        return not any(isinstance(one, np.datetime64) for one in value) and all(map(can_be_typed, value))
    # polars prints what such objects say.
    return not isinstance(value, Raising)


@settings(deadline=None, max_examples=300)
@given(anything.filter(can_be_typed), st.sampled_from(["age", "plan"]))
def test_a_typed_table_of_one_row_gives_a_report(value: Any, name: str) -> None:
    columns = {known: [None] for known in NAMES} | {name: [value]}
    frame = typed(lambda columns: pl.DataFrame(columns, strict=False), columns)
    for table in (typed(pa.table, columns), frame, typed(pl.DataFrame.to_struct, frame)):
        if table is not None and len(table) == 1:
            check(table, 1)


ATTACK = [
    {"name": "hiv_since", "type": "numeric", "offset": 0, "scale": 1},
    {"name": "age", "type": "numeric", "offset": 0, "scale": 100},
]


@pytest.mark.parametrize("answer", [{"hiv_since": None}, {"hiv_since": "spring 2019"}, {"hiv_since": 40}, {}])
def test_a_hostile_task_does_not_learn_who_answered(answer: dict[str, Any]) -> None:
    randomizer = Randomizer(Task(ATTACK, epsilon=1e-6))
    record = {"age": 40, **answer}
    row = [answer.get("hiv_since"), 40] if answer else [40]
    forms = [record, [record], [row], row, np.array([row], dtype=object), [{**record, "name": "x"}]]
    if answer:
        forms += [pd.DataFrame([record]), pa.table({name: [value] for name, value in record.items()})]
        forms += [pl.DataFrame([record]), pd.Series(record)]
    for form in forms:
        assert len(quietly(form, randomizer)) == 1, type(form)
    # Whoever answers in words has the report of one who does not answer.
    missing = randomizer.randomize({"age": 40, "hiv_since": None}, insecure_seed=1)
    same = [quietly(form, randomizer, insecure_seed=1) == missing for form in (record, [record])]
    assert same == [answer.get("hiv_since") != 40] * 2


def test_what_does_not_fit_is_missing() -> None:
    missing = RANDOMIZER.randomize({**GOOD, "age": None}, insecure_seed=1)
    bad = {name: value for name, value in GOOD.items() if name != "age"}
    for record in ({**GOOD, "age": "30"}, {**GOOD, "age": True}, {**GOOD, "age": [30]}, bad, {**bad, "Age": 30}):
        assert quietly(record, insecure_seed=1) == missing
        assert (
            quietly(pd.DataFrame([GOOD | {"age": None} | record])[NAMES], insecure_seed=1) == missing or "Age" in record
        )
    row = list(GOOD.values())
    assert quietly([row[:-1]], insecure_seed=1) == RANDOMIZER.randomize({**GOOD, "height": None}, insecure_seed=1)
    assert quietly([[*row, 7]], insecure_seed=1) == RANDOMIZER.randomize(GOOD, insecure_seed=1)
    nothing = RANDOMIZER.randomize(dict.fromkeys(GOOD), insecure_seed=1)
    odd = [Raising(ValueError), RaisingMapping("items", ValueError), Misnamed()]
    for record in (None, "x", 7, object(), {1, 2}, *odd):
        assert type(record) is int or quietly({**GOOD, "age": record}, insecure_seed=1) == missing
        assert quietly([GOOD, record], insecure_seed=1)[1] == quietly([GOOD, {}], insecure_seed=1)[1]
        assert quietly([{}, GOOD, record], insecure_seed=1)[0] == nothing[0]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("form", ["value", "category", "items", "row"])
def test_exceptions_that_end_the_program_are_passed_on(end: type[BaseException], form: str) -> None:
    records = {
        "value": [{**GOOD, "age": Raising(end)}],
        "category": [{**GOOD, "plan": Raising(end)}],
        "items": [RaisingMapping("items", end)],
        "row": [GOOD, Raising(end)],
    }
    with pytest.raises(end):
        RANDOMIZER.randomize(records[form])


def test_one_warning_names_each_column_with_the_count_and_the_first_row() -> None:
    records = [
        GOOD,
        {**GOOD, "age": SECRET, "plan": SECRET.encode()},
        {**GOOD, "age": 1j, SECRET: SECRET},
        {**GOOD, "age": Raising(ValueError), "plan": "free"},
        None,
    ]
    with pytest.warns(RecordWarning) as caught:
        RANDOMIZER.randomize(records)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert str(caught[0].message) == (
        "2 rows have too few values or too many; row 2: unknown columns: 1; the schema has age, plan, note, shop, "
        "height. 3 values of column 'age' cannot be read and count as missing; row 1: column 'age' is numeric but "
        "holds a text: give a number, or nothing where there is none. 1 value of column 'plan' cannot be read and "
        "counts as missing; row 1: column 'plan' holds bytes: give a number, a text or None (strict=True refuses them)"
    )


def test_a_warning_is_not_longer_than_a_page() -> None:
    with pytest.warns(RecordWarning, match="988 more columns have such values") as caught:
        Randomizer(Task(1000, epsilon=1.0)).randomize({})
    assert len(str(caught[0].message)) < 2000


@pytest.mark.parametrize(
    ("records", "row", "words"),
    [
        ([GOOD, {**GOOD, "age": SECRET}, {**GOOD, "plan": b"x"}], 1, "'age' is numeric but holds a text"),
        ([GOOD, GOOD, {"age": 1}], 2, "'plan' is missing"),
        ([{**GOOD, "age": Raising(KeyError)}], 0, "'age' holds Raising, which raises KeyError"),
        ([GOOD, {**GOOD, SECRET: 1}], 1, "unknown columns: 1"),
        ([GOOD, None], 1, "NoneType is not a record"),
        ([GOOD, RaisingMapping("getitem", OSError)], 1, "it raises OSError"),
        ([[1, "free", None, 1, 2], [1, "free"]], 1, "found 2 fields where the schema has 5 columns"),
        (np.ones((3, 2)), 0, "found 2 fields"),
        (pa.table({name: [None, SECRET] for name in NAMES}), 1, "'age' is numeric but holds a text"),
        (pd.DataFrame([GOOD, GOOD | {"age": "x"}]), 1, "'age' is numeric but holds a text"),
        (pl.Series([GOOD, None]), 1, "NoneType is not a record"),
    ],
)
def test_strict_refuses_the_first_row_without_its_value(records: Any, row: int, words: str) -> None:
    task = RANDOMIZER.task
    for strictly in (
        lambda: RANDOMIZER.randomize(records, strict=True),
        lambda: task.encode(records, strict=True),
        lambda: PublicSample(task, records, strict=True),
    ):
        with pytest.raises(RecordError, match=f"^row {row}: .*{words}") as raised:
            strictly()
        assert raised.value.row == row
        assert SECRET not in str(raised.value)
    assert len(RANDOMIZER.randomize([GOOD, {**GOOD, "age": None}], strict=True)) == 2


@pytest.mark.parametrize(
    ("records", "row", "words"),
    [
        (
            [{**GOOD, "age": None}, {**GOOD, "age": "30"}, {**GOOD, "age": "40"}],
            1,
            "no value of the column can be read",
        ),
        ([{"age": 1}, {"age": 2}], 0, "'plan' is missing.*no value of the column"),
        ([{**GOOD, "Age": 1}] * 3, 0, "unknown columns: 1.*so has every row"),
        (np.ones((2, 3)), 0, "found 3 fields where the schema has 5"),
        ([[1.0] * 3] * 2, 0, "found 3 fields"),
        ([[1.0] * 3, [1.0] * 4], 0, "found 3 fields"),
        (pd.DataFrame([GOOD, GOOD]).assign(age=["a", "b"]), 0, "'age' is numeric but holds a text"),
        (pd.DataFrame([GOOD, GOOD]).assign(age=[True, False]), 0, "'age' is Boolean"),
        (pa.table({name: [None, pd.Timestamp(0)] for name in NAMES}), 1, "'age' is Timestamp"),
        (pl.DataFrame([GOOD, GOOD]).with_columns(age=pl.struct("height")), 0, "'age' is Struct"),
    ],
)
def test_several_records_of_which_nothing_of_a_column_can_be_read_are_refused(
    records: Any, row: int, words: str
) -> None:
    # A bar, which is made where records are randomized.
    bars: list[Any] = []
    with pytest.raises(SchemaError, match=f"^row {row}: .*{words}") as raised:
        RANDOMIZER.randomize(records, progress=lambda **options: bars.append(options))
    assert (raised.value.row, bars) == (row, [])
    assert len(quietly(records[row : row + 1])) == 1


def test_the_names_of_a_table_are_declared_whatever_it_holds() -> None:
    for value in (1.0, None, "x", 10**400, Raising(ValueError), b"x", {}):
        for record in ({**GOOD, "age": value, "weight": 1}, {"age": value}):
            frame = pd.DataFrame({name: pd.Series([held], dtype=object) for name, held in record.items()})
            with pytest.raises(SchemaError, match=r"unknown columns: 1|'plan' is missing"):
                RANDOMIZER.randomize(frame)
    both = pd.DataFrame([[1, 2.0], [object(), 3.0]], columns=["age", "age"])
    with pytest.raises(SchemaError, match="'age' is there twice"):
        RANDOMIZER.randomize(both)
    with pytest.raises(SchemaError, match="unknown columns: 1"):
        RANDOMIZER.randomize(pl.Series([{"weight": 1}, None]))


def test_a_null_among_structs_is_a_record_without_values() -> None:
    record = {name: GOOD[name] for name in NAMES}
    expected = RANDOMIZER.randomize([record, dict.fromkeys(NAMES)], insecure_seed=1)
    array = pa.array([record, None])
    for form in (array, pa.chunked_array([array]), pl.Series([record, None]), [record, None]):
        with pytest.warns(RecordWarning, match="row 1: NoneType is not a record"):
            assert RANDOMIZER.randomize(form, insecure_seed=1) == expected


def test_a_list_is_one_record_unless_the_first_of_it_is_one() -> None:
    row = list(GOOD.values())
    for one in (row, tuple(row), [None, *row[1:]], ["x", *row[1:]], [40, [1, 2]], [None] * 5, [b"x"] * 5):
        assert len(quietly(one)) == 1, one
    for two in ([row, None], [GOOD, "x"], [None, row], [GOOD, row], (row, 7.0)):
        assert len(quietly(two)) == 2, two
    assert RANDOMIZER.randomize(row, insecure_seed=1) == RANDOMIZER.randomize(GOOD, insecure_seed=1)
    assert len(RANDOMIZER.randomize([])) == 0


def test_other_readers_of_records_warn_as_well() -> None:
    task = RANDOMIZER.task
    records = [GOOD, {**GOOD, "age": "x"}]
    with pytest.warns(RecordWarning, match="1 value of column 'age'"):
        encoded = task.encode(records)
    np.testing.assert_array_equal(encoded, task.encode([GOOD, {**GOOD, "age": None}]))
    with pytest.warns(RecordWarning, match="1 value of column 'age'"):
        assert PublicSample(task, records).records == 2
    # scikit-learn's are strict about rows of one's own.
    aggregate = ldp_pca.aggregate(RANDOMIZER.randomize([GOOD] * 500, insecure_seed=1), task)
    model = ldp_pca.LocalPCA.from_aggregate(aggregate, n_components=1)
    with pytest.raises(RecordError, match="row 1: column 'age'"):
        model.transform(records)
