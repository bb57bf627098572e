"""What is missing contributes nothing to a report, and no message has a value."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.utils import get_tags

import ldp_pca
from ldp_pca import Aggregate, LocalPCA, Randomizer, RecordError, SchemaError, Task, infer_schema

Command = Callable[..., dict[str, Any]]

NAN = float("nan")
COLUMNS = [
    {"name": "age", "type": "numeric", "offset": 40, "scale": 20},
    {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
    {"name": "note", "type": "ignored"},
    {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
]
# Two of four rows lack something, and the last one everything.
AGES, PLANS, HEIGHTS = [25, None, 40, None], ["free", "paid", None, None], [180, 150, None, None]


@pytest.fixture(scope="module", params=["double-cap", "gaussian"])
def named(request: pytest.FixtureRequest) -> Randomizer:
    return Randomizer(Task(COLUMNS, epsilon=2.0, mechanism=request.param))


def explicit(randomizer: Randomizer) -> Any:
    """The reports of rows whose missing values are written out: the offset, and a value that is not listed."""
    rows = zip([25, 40, 40, 40], ["free", "paid", "?", "?"], [180, 150, 0, 0])
    records = [{"age": age, "plan": plan, "height": height} for age, plan, height in rows]
    return randomizer.randomize(records, insecure_seed=5)


def number(value: Any, missing: Any) -> Any:
    return missing if value is None else value


MISSING = {
    "None": None,
    "NaN": NAN,
    "a NaN with a payload": np.array([0x7FF0_0000_DEAD_BEEF], dtype="u8").view("f8")[0],
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "NumPy's NaN": np.float32("nan"),
    "NumPy's infinity": np.longdouble("1e4000"),
    "a masked value": np.ma.masked,
    "an array of NaN": np.array(NAN),
    "a masked array of a value": np.ma.masked_array(5.0, mask=True),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "NumPy's NaT": np.datetime64("NaT"),
    "a time that is none": np.timedelta64("NaT"),
    "a decimal NaN": Decimal("NaN"),
    "a signalling decimal NaN": Decimal("sNaN"),
    "an infinite decimal": Decimal("-Infinity"),
    "an integer that no float holds": 10**400,
    "Arrow's null": pa.scalar(None),
    "a null number of Arrow": pa.scalar(None, pa.float64()),
    "a NaN of Arrow": pa.scalar(NAN),
}


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING.keys())
def test_every_missing_value_of_a_mapping_contributes_nothing(named: Randomizer, missing: Any) -> None:
    records = [
        {"age": number(age, missing), "plan": number(plan, missing), "height": number(height, missing)}
        for age, plan, height in zip(AGES, PLANS, HEIGHTS)
    ]
    assert named.randomize(records, insecure_seed=5) == explicit(named)
    # The same as objects in a frame, which Arrow takes some of.
    frame = pd.DataFrame({name: pd.Series([row[name] for row in records], dtype=object) for name in records[0]})
    assert named.randomize(frame, insecure_seed=5) == explicit(named)


def test_every_missing_value_of_a_table_contributes_nothing(named: Randomizer) -> None:
    ages, heights = [number(age, NAN) for age in AGES], [number(height, math.inf) for height in HEIGHTS]
    plans = pd.Series(PLANS)
    frame = pd.DataFrame({"age": ages, "plan": plans, "height": heights})
    table = pa.table({"age": AGES, "plan": PLANS, "height": HEIGHTS})
    both = pa.table({"age": ages, "plan": PLANS, "height": pa.array(heights, pa.float64())})
    polars = pl.from_arrow(table)
    assert isinstance(polars, pl.DataFrame)
    decimals = [None if age is None else Decimal(age) for age in AGES]
    forms = {
        "pandas": frame,
        "pandas, texts as objects": frame.assign(plan=plans.astype(object)),
        "pandas, texts as categories": frame.assign(plan=plans.astype("category")),
        "pandas, numbers as categories": frame.assign(age=pd.Series(ages).astype("category")),
        "pandas, nullable": frame.assign(age=pd.array(AGES, "Int64"), height=pd.array(HEIGHTS, "Float32")),
        "pandas, Arrow within": frame.assign(age=pd.array(AGES, pd.ArrowDtype(pa.int16()))),
        "pandas, half floats": frame.assign(age=pd.array(AGES, pd.ArrowDtype(pa.float16()))),
        "pandas, decimals": frame.assign(age=decimals),
        "pandas, sparse": frame.assign(age=pd.arrays.SparseArray(ages)),
        "Arrow": table,
        "Arrow, NaN and infinity": both,
        "Arrow, a batch": table.to_batches()[0],
        "Arrow, in pieces": pa.concat_tables([table[:2], table[2:3], table[3:]]),
        "Arrow, coded": table.set_column(1, "plan", table["plan"].dictionary_encode()),
        "Arrow, coded numbers": table.set_column(0, "age", table["age"].dictionary_encode()),
        "Arrow, long texts": table.set_column(1, "plan", table["plan"].cast(pa.large_string())),
        "Arrow, views": table.set_column(1, "plan", [pa.array(PLANS, pa.string_view())]),
        "Arrow, wide decimals": table.set_column(0, "age", [pa.array(decimals, pa.decimal256(60, 30))]),
        "Arrow, small decimals": table.set_column(0, "age", [pa.array(decimals, pa.decimal128(4, 2))]),
        "polars": polars,
        "polars, NaN": polars.with_columns(pl.Series("age", ages, pl.Float64, strict=False)),
        "polars, categories": polars.with_columns(pl.col("plan").cast(pl.Categorical)),
        "polars, listed": polars.with_columns(pl.col("plan").cast(pl.Enum(["paid", "free"]))),
        "a code for null": table.set_column(
            1, "plan", pa.DictionaryArray.from_arrays(pa.array([1, 2, 0, None]), pa.array([None, "free", "paid"]))
        ),
    }
    for name, form in forms.items():
        assert named.randomize(form, insecure_seed=5) == explicit(named), name


def test_every_missing_value_by_position_contributes_nothing() -> None:
    task = Task([{**column, "type": "numeric"} for column in COLUMNS if "offset" in column], epsilon=2.0)
    randomizer = Randomizer(task)
    rows = list(zip(AGES, HEIGHTS))
    expected = randomizer.randomize([[25.0, 180.0], [40.0, 150.0], [40.0, 0.0], [40.0, 0.0]], insecure_seed=5)
    floats = np.array(rows, dtype=float)
    holes = np.isnan(floats)
    masked = np.ma.masked_array(np.where(holes, 77.0, floats), holes)
    whole = np.ma.masked_array(np.where(holes, 77, floats).astype(int), holes)
    frame = pd.DataFrame(floats)
    forms = {
        "floats": floats,
        "infinities": np.where(holes, -np.inf, floats),
        "half floats": floats.astype("f2"),
        "long floats": np.where(holes, np.longdouble("1e4000"), floats),
        "objects": np.array(rows, dtype=object),
        "objects of pandas": frame.astype("Float64").to_numpy(dtype=object),
        "masked": masked,
        "masked whole numbers": whole,
        "masked objects": np.ma.masked_array(np.where(holes, "x", floats.astype(object)), holes),
        "rows": rows,
        "rows of arrays": list(floats),
        "rows of masked arrays": list(masked),
        "rows of masked whole numbers": list(whole),
        "rows of series": [row for _, row in frame.iterrows()],
        "rows of nullable series": [row for _, row in frame.astype("Float64").iterrows()],
        "rows of Arrow": [pa.array(row, pa.float64()) for row in rows],
        "rows of polars": [pl.Series(row) for row in rows],
        "a large integer": [[10**400 if value is None else value for value in row] for row in rows],
    }
    forms |= {f"rows with {name}": [[number(v, one) for v in row] for row in rows] for name, one in MISSING.items()}
    for name, form in forms.items():
        assert randomizer.randomize(form, insecure_seed=5) == expected, name


@pytest.mark.parametrize("missing", ["", "NA", "nan", "<NA>", "null", " None "])
def test_files_of_the_command_line_have_the_same_reports(
    named: Randomizer, command: Command, tmp_path: Path, missing: str
) -> None:
    lines = [",".join(str(number(value, missing)) for value in row) for row in zip(AGES, PLANS, HEIGHTS)]
    (tmp_path / "records.csv").write_text("\n".join(["age,plan,height", *lines]) + "\n")
    named.task.save(tmp_path / "task.json")
    words = ["-t", tmp_path / "task.json", "-o", tmp_path / "reports", "--insecure-seed", 5]
    told = command("randomize", tmp_path / "records.csv", *words)
    assert (told["records"], told["missing_values"]) == (4, 6)
    assert (tmp_path / "reports").read_bytes() == explicit(named).to_bytes()


@pytest.mark.parametrize("bounding", ["unit-norm", 1.5])
@pytest.mark.parametrize("mechanism", ["double-cap", "gaussian"])
@pytest.mark.parametrize("centring", [None, True])
def test_a_record_without_any_value_has_a_report(bounding: Any, mechanism: str, centring: Any) -> None:
    task = Task(COLUMNS, epsilon=1.0, bounding=bounding, mechanism=mechanism, centring=centring)
    randomizer = Randomizer(task)
    nulls = {"age": [None] * 3, "plan": [None] * 3, "height": [None] * 3}
    forms = [
        [{name: None for name in nulls}] * 3,
        pd.DataFrame(nulls),
        pd.DataFrame(nulls, dtype="category"),
        # Of any type: without values, no type can differ from the task's.
        pd.DataFrame({name: pd.Series([pd.NaT] * 3) for name in nulls}),
        pd.DataFrame({name: [NAN] * 3 for name in nulls}),
        pa.table(nulls),
        pa.table({name: pa.array([None] * 3, pa.bool_()) for name in nulls}),
        pl.DataFrame(nulls),
        np.full((3, 4), NAN),
        np.full((3, 4), None),
        np.ma.masked_all((3, 4)),
    ]
    reports = [randomizer.randomize(form, insecure_seed=2) for form in forms]
    assert all(one == reports[0] for one in reports)
    aggregate = Aggregate(task)
    assert aggregate.update(randomizer.randomize(forms[0])) == 3


def test_what_overflows_is_the_nearest_number() -> None:
    column = {"name": "x", "type": "numeric", "offset": -1e100, "scale": 1e-100}
    randomizer = Randomizer(Task([column, {**column, "name": "y", "offset": 0}], epsilon=2.0))
    huge = randomizer.randomize([[1e308, 1.7e308], [5e-324, -1e300]], insecure_seed=1)
    assert huge == randomizer.randomize([[1e209, 1e250], [0.0, -1e250]], insecure_seed=1)


def test_a_text_of_any_kind_is_a_value() -> None:
    listed = {"name": "plan", "type": "categorical", "values": ["free", "other"], "unseen": "other"}
    randomizer = Randomizer(Task([listed, COLUMNS[0]], epsilon=2.0))
    for text, same in [
        ("gold", "other"),
        ("\ud800", "other"),
        ("x" * 100_000, "other"),
        ("", None),
        (" free ", "free"),
    ]:
        expected = randomizer.randomize([{"plan": same, "age": 30}], insecure_seed=1)
        assert randomizer.randomize([{"plan": text, "age": 30}], insecure_seed=1) == expected
        assert (
            randomizer.randomize(pd.DataFrame({"plan": pd.Series([text], dtype=object), "age": [30]}), insecure_seed=1)
            == expected
        )


def test_ignored_columns_are_not_looked_at(named: Randomizer) -> None:
    frame = pd.DataFrame({"age": AGES, "plan": PLANS, "height": HEIGHTS})
    for note in ([1, "x", b"y", None], ["\ud800"] * 4, [{}, [], object(), True], [10**400, 1, 2, 3]):
        noted = frame.assign(note=pd.Series(note, dtype=object))
        assert named.randomize(noted, insecure_seed=5) == explicit(named)
        assert named.randomize(noted.to_dict("records"), insecure_seed=5) == explicit(named)


values = st.one_of(
    st.none(),
    st.floats(width=64),
    st.integers(-(10**320), 10**320),
    st.decimals(),
    st.sampled_from([pd.NA, pd.NaT, np.float32(3.5), np.int8(-1), np.uint64(2**64 - 1), np.ma.masked]),
)
texts = st.one_of(st.none(), st.text(st.characters(codec=None)), st.sampled_from(["free", "paid", pd.NA, NAN]))
records_of_the_type = st.lists(st.fixed_dictionaries({"age": values, "plan": texts, "height": values}), max_size=5)


@settings(deadline=None)
@given(records_of_the_type, st.sampled_from(["unit-norm", 1.0]), st.sampled_from(["mappings", "frame"]))
def test_every_record_of_the_declared_types_has_a_report(
    records: list[dict[str, Any]], bounding: Any, form: str
) -> None:
    randomizer = Randomizer(Task(COLUMNS, epsilon=2.0, bounding=bounding))
    names = ["age", "plan", "height"]
    frame = {name: pd.Series([row[name] for row in records], dtype=object) for name in names}
    assert len(randomizer.randomize(records if form == "mappings" else pd.DataFrame(frame), threads=1)) == len(records)


@pytest.mark.parametrize("change", [{"scale": 5e-324}, {"scale": 1e-101}, {"scale": 1e101}, {"offset": -2e100}])
def test_hostile_scales_are_refused_before_any_record_is_there(change: dict[str, float]) -> None:
    column = {"name": "salary", "type": "numeric", "offset": 52_001, "scale": 1, **change}
    with pytest.raises(SchemaError, match="'salary' has offset"):
        Task([column], epsilon=1e-6)
    document = json.loads(Task([{**column, "offset": 0, "scale": 1}], epsilon=1e-6).to_json())
    document["schema"]["columns"] = [column]
    with pytest.raises(ldp_pca.TaskError, match="'salary' has offset"):
        Task.from_json(json.dumps(document))


# What no message may have.
SECRET, NUMBER = "s3cretw0rd", 7_315_524.5


def bad_records() -> Iterator[tuple[str, Any]]:
    good = {"age": NUMBER, "plan": SECRET, "height": NUMBER}
    odd = {
        "text for a number": {"age": SECRET},
        "bytes": {"age": SECRET.encode()},
        "numeric bytes": {"age": b"7315524.5"},
        "array of bytes": {"age": bytearray(b"7315524.5")},
        "NumPy bytes": {"age": np.bytes_("7315524.5")},
        "bool": {"age": True},
        "NumPy bool": {"age": np.True_},
        "complex": {"age": NUMBER + 1j},
        "NumPy complex": {"age": np.complex64(NUMBER)},
        "list": {"plan": [SECRET]},
        "mapping": {"plan": {SECRET: NUMBER}},
        "array": {"age": np.array([NUMBER, 1.0])},
        "time": {"age": pd.Timestamp(np.datetime64("7315-05-24", "s"))},
        "NumPy time": {"age": np.datetime64("7315-05-24")},
        "NumPy duration": {"age": np.timedelta64(7315524, "s")},
        "set": {"plan": {SECRET}},
        "exception": {"plan": ValueError(SECRET)},
        "a text of Arrow": {"age": pa.scalar(SECRET)},
        "unknown column": {"weight": NUMBER},
    }
    for name, change in odd.items():
        yield name, [good, {**good, **change}]
        # Among floats Arrow takes a bool of Python for 1 or 0.
        if name not in ("unknown column", "bool"):
            frame = {key: pd.Series([good[key], {**good, **change}[key]], dtype=object) for key in good}
            yield f"{name} in a frame", pd.DataFrame(frame)
            uniform = {key: pd.Series([{**good, **change}[key]] * 2, dtype=object) for key in good}
            yield f"{name} in all rows of a frame", pd.DataFrame(uniform)
    yield "missing column", [good, {"age": NUMBER, "plan": SECRET}]
    yield "no record", [good, SECRET]
    table = pa.table({"age": [NUMBER], "plan": [SECRET], "height": [NUMBER]})
    columns = {
        "texts": [SECRET],
        "structs": [{SECRET: NUMBER}],
        "lists": [[{SECRET: 1}]],
        "bools": [True],
        "times": pa.array(["7315-05-24"]).cast(pa.date32()),
        "bytes": [SECRET.encode()],
        "coded bools": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([True])),
    }
    for name, column in columns.items():
        yield f"Arrow {name}", table.set_column(0, "age", pa.array(column) if isinstance(column, list) else [column])
    yield "Arrow, no table", pa.array([[{SECRET: NUMBER}]])
    yield "polars, structs", pl.DataFrame({"age": [{SECRET: 1}], "plan": [SECRET], "height": [NUMBER]})
    yield "a row that is null", pa.array([{"age": NUMBER, "plan": SECRET, "height": NUMBER}, None])
    for one in (SECRET, b"7315524.5", True, NUMBER + 1j, [NUMBER], None.__class__, np.datetime64("7315-05-24")):
        yield f"rows with {type(one).__name__}", [[NUMBER] * 4, [one, NUMBER, NUMBER, NUMBER]]
        yield f"objects with {type(one).__name__}", np.array([[NUMBER] * 4, [NUMBER] * 3 + [one]], dtype=object)
    yield "texts as an array", np.full((2, 4), SECRET)
    yield "bytes as an array", np.full((2, 4), SECRET.encode())
    yield "a record of bytes", [b"7315", b"5245"]
    yield "a record of text", [[NUMBER] * 4, "7315"]
    yield "a set", [[NUMBER] * 4, {NUMBER, 1.0, 2.0, 3.0}]
    yield "a number", [[NUMBER] * 4, NUMBER]
    yield "rows of other lengths", [[NUMBER] * 4, [NUMBER] * 3]
    yield "too few columns", np.full((1, 3), NUMBER)
    yield "one record", np.full(3, NUMBER)
    yield "one list", [NUMBER] * 3
    yield "text", SECRET


BAD = dict(bad_records())


def said(error: BaseException | None) -> Iterator[str]:
    """The words of an error, and of all that it came from."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield str(error) + repr(error.args)
        yield from said(error.__cause__)
        error = error.__context__


def has_a_value(words: str) -> bool:
    return SECRET in words or "7315" in words.replace(",", "").replace("_", "")


@pytest.mark.parametrize("records", BAD.values(), ids=BAD.keys())
def test_no_message_has_a_value(named: Randomizer, records: Any) -> None:
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            named.randomize(records, insecure_seed=1)
        except (RecordError, SchemaError, TypeError) as error:
            told.extend(said(error))
    told.extend(str(warning.message) for warning in caught)
    assert told
    with pytest.raises((RecordError, SchemaError, TypeError)) as raised:
        named.randomize(records, insecure_seed=1, strict=True)
    for words in (*told, *said(raised.value)):
        assert not has_a_value(words), words


@pytest.mark.parametrize(
    "rows",
    [
        [[NUMBER, 1.0], [2.0, SECRET]],
        np.array([[NUMBER, 1.0], [2.0, SECRET]], dtype=object),
        np.array([[SECRET, "1"], ["2", "3"]]),
        pd.DataFrame({"a": [NUMBER, 1.0], "b": ["1", SECRET]}),
        pd.DataFrame({"a": [NUMBER, 1.0], "b": pd.Series([1, SECRET], dtype=object)}),
        np.array([[NUMBER + 1j, 1.0], [2.0, 3.0]]),
        [NUMBER, 1.0],
        np.array(NUMBER),
        np.array([NUMBER, 1.0]),
        pd.Series([NUMBER, 1.0]),
        [{"a": NUMBER}, {"a": SECRET}],
    ],
    ids=repr,
)
def test_no_message_of_an_estimator_has_a_value(rows: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        LocalPCA(1).fit(rows)
    for words in said(raised.value):
        assert not has_a_value(words), words


@pytest.mark.parametrize("kind", [LocalPCA, ldp_pca.LocalSparsePCA])
@pytest.mark.parametrize("radius", [None, 4.0])
def test_estimators_take_what_is_missing_for_zero(kind: Any, radius: float | None) -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3000, 4)) * [2, 1, 0.2, 0.2]
    holes = rng.random(rows.shape) < 0.3
    holes[7] = True
    model = kind(2, epsilon=4.0, radius=radius, random_state=1)
    assert get_tags(model).input_tags.allow_nan
    zeros, nans = np.where(holes, 0.0, rows), np.where(holes, NAN, rows)
    expected = model.fit(zeros)
    frame = pd.DataFrame(nans, columns=list("abcd"))
    # The task of a table has its names, and so another digest and other reports.
    of_table = kind(2, epsilon=4.0, radius=radius, random_state=1).fit(frame.fillna(0.0))
    assert of_table.task_.columns == list("abcd")
    objects = nans.astype(object)
    objects[holes] = None
    natural = frame.astype(object).where(~holes, pd.NA)
    forms = {
        "NaN": nans,
        "infinity": np.where(holes, np.inf, rows),
        "masked": np.ma.masked_array(np.where(holes, 9.0, rows), holes),
        "objects": objects,
        "lists": objects.tolist(),
        "a frame": frame,
        "a nullable frame": frame.astype("Float64"),
        "a frame of objects": natural,
        "polars": pl.DataFrame(nans, schema=list("abcd")).fill_nan(None),
    }
    for name, form in forms.items():
        fitted = kind(2, epsilon=4.0, radius=radius, random_state=1).fit(form)
        same = of_table if hasattr(form, "columns") else expected
        assert fitted.aggregate_ == same.aggregate_, name
        given = frame.fillna(0.0) if same is of_table else zeros
        np.testing.assert_array_equal(fitted.transform(form), same.transform(given), err_msg=name)


@pytest.mark.sampling
def test_missing_values_shrink_entries_by_the_share_of_records_that_have_both() -> None:
    """docs/records.md says so. 4.9 deviations of the noise, for 20 entries, are an error of 2e-5."""
    rng = np.random.default_rng(6)
    count, shares = 200_000, np.array([1.0, 0.8, 0.5, 0.8])
    spread, mean = np.array([0.3, 0.2, 0.2, 0.1]), np.array([0.2, 0.1, 0.0, -0.1])
    rows = rng.normal(size=(count, 1)) * spread + mean
    rows[rng.random(rows.shape) >= shares] = NAN
    both = np.where(np.eye(4, dtype=bool), shares, np.outer(shares, shares))
    present = np.nan_to_num(rows)
    moments = present.T @ present / count
    np.testing.assert_allclose(moments, both * (np.outer(spread, spread) + np.outer(mean, mean)), atol=0.001)
    np.testing.assert_allclose(present.mean(axis=0), shares * mean, atol=0.003)
    estimates = []
    for centring in (False, True):
        task = Task(4, epsilon=6.0, bounding=2.0, centring=centring)
        aggregate = ldp_pca.aggregate(Randomizer(task).randomize(rows, insecure_seed=1), task)
        estimates.append(ldp_pca.covariance(aggregate))
    found = estimates[1].mean
    assert np.abs(estimates[0].matrix - moments).max() < 4.9 * np.sqrt(2) * estimates[0].noise_deviation < 0.02
    assert np.abs(found.values - present.mean(axis=0)).max() < 4.9 * found.noise_deviation < 0.04


def test_a_schema_is_read_past_missing_values() -> None:
    frame = pd.DataFrame({"age": [1, None, -4.0], "plan": ["a", None, "b"], "none": [None] * 3, "full": [1, 2, 4]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    expected = infer_schema(frame)
    assert [column["type"] for column in expected["columns"]] == ["numeric", "categorical", "ignored", "numeric"]
    assert expected["columns"][0]["scale"] == 2.5
    assert expected["columns"][1] == {"name": "plan", "type": "categorical", "values": ["a", "b"], "unseen": "zero"}
    assert infer_schema(table) == infer_schema(pl.from_arrow(table)) == expected
    other = infer_schema(frame, unseen="other")
    assert other["columns"][1]["values"] == ["a", "b", "other"]
    assert len(Randomizer(Task(other, epsilon=1.0)).randomize(frame)) == 3
    numbers = np.array([[1.0, 5.0], [NAN, 7.0], [-4.0, math.inf]])
    masked = np.ma.masked_array(np.where(np.isfinite(numbers), numbers, 99.0), ~np.isfinite(numbers))
    for form in (numbers, masked, [[1, 5], [None, 7], [-4, None]]):
        assert [column["scale"] for column in infer_schema(form)["columns"]] == [2.5, 1]
    with pytest.raises(SchemaError, match="'error' is not a rule: use 'zero' or 'other'"):
        infer_schema(frame, unseen="error")
    with pytest.raises(SchemaError, match="neither of numbers nor of texts: age, full"):
        infer_schema(frame.assign(age=[1, "x", 2], full=[b"x", 1, 2]))
    with pytest.raises(SchemaError, match="a sequence of mappings"):
        infer_schema([{"age": 1.0}])


@pytest.mark.sampling
def test_components_come_back_from_records_with_missing_values() -> None:
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(40_000, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(40_000, 6))
    truth = PCA(2).fit(rows).components_
    rows[rng.random(rows.shape) < 0.2] = NAN
    fitted = LocalPCA(2, epsilon=6.0, radius=4.0, random_state=1).fit(rows)
    assert 2 - np.linalg.norm(fitted.components_ @ truth.T) ** 2 < 0.1


def test_a_column_of_dates_is_left_out_with_a_word() -> None:
    days = np.arange("2012-01-01", "2012-01-13", dtype="datetime64[D]")
    for dates in (
        pa.array(days),
        pa.array(days.astype("datetime64[ms]")).cast(pa.timestamp("us", "UTC")),
        pa.array(days.astype("datetime64[s]")),
        pa.array([None, *days[1:].tolist()], pa.date32()),
        pa.array(days).cast(pa.date64()),
    ):
        table = pa.table({"day": dates, "rain": np.arange(12.0)})
        with pytest.warns(ldp_pca.SchemaWarning, match="column 'day' holds dates and is left out"):
            schema = infer_schema(table)
        assert [column["type"] for column in schema["columns"]] == ["ignored", "numeric"]
        # And so such a table has reports.
        assert len(Randomizer(Task(schema, epsilon=1.0)).randomize(table)) == 12
