"""What is missing contributes nothing to a report."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils import get_tags

import ldp_pca
from ldp_pca import Aggregate, LocalPCA, Randomizer, SchemaError, Task, infer_schema

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
        "pandas, in another order": frame[["height", "plan", "age"]],
        "pandas, with an index": frame.set_index(pd.Index([7, 8, 9, 10], name="somebody")),
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
        "Arrow, a reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2)),
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
    command, named: Randomizer, tmp_path: Path, missing: str
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
        "masked": np.ma.masked_array(np.where(holes, 9.0, rows), holes),
        "lists": objects.tolist(),
        "a frame": frame,
        "a frame of objects": natural,
        "polars": pl.DataFrame(nans, schema=list("abcd")).fill_nan(None),
    }
    for name, form in forms.items():
        fitted = kind(2, epsilon=4.0, radius=radius, random_state=1).fit(form)
        same = of_table if hasattr(form, "columns") else expected
        assert fitted.aggregate_ == same.aggregate_, name
        given = frame.fillna(0.0) if same is of_table else zeros
        np.testing.assert_array_equal(fitted.transform(form), same.transform(given), err_msg=name)


def test_a_schema_is_read_past_missing_values() -> None:
    frame = pd.DataFrame({"age": [1, None, -4.0], "plan": ["a", None, "b"], "none": [None] * 3, "full": [1, 2, 4]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    told = "only zeros or missing values are ignored: none; give"
    with pytest.warns(ldp_pca.SchemaWarning, match=told):
        expected = infer_schema(frame)
    for form in (table, pl.from_arrow(table)):
        with pytest.warns(ldp_pca.SchemaWarning, match=told):
            assert infer_schema(form) == expected
    with pytest.warns(ldp_pca.SchemaWarning, match=told):
        other = infer_schema(frame, unseen="other")
    # A column that is to be ignored needs no word: warnings are errors here.
    assert infer_schema(frame, ignore=["none"]) == expected
    assert [column["type"] for column in expected["columns"]] == ["numeric", "categorical", "ignored", "numeric"]
    assert expected["columns"][0]["scale"] == 2.5
    assert expected["columns"][1] == {"name": "plan", "type": "categorical", "values": ["a", "b"], "unseen": "zero"}
    assert other["columns"][1]["values"] == ["a", "b", "other"]
    assert len(Randomizer(Task(other, epsilon=1.0)).randomize(frame)) == 3
    numbers = np.array([[1.0, 5.0], [NAN, 7.0], [-4.0, math.inf]])
    masked = np.ma.masked_array(np.where(np.isfinite(numbers), numbers, 99.0), ~np.isfinite(numbers))
    for form in (numbers, masked, [[1, 5], [None, 7], [-4, None]]):
        assert [column["scale"] for column in infer_schema(form)["columns"]] == [2.5, 1]
    with pytest.raises(SchemaError, match="'error' is not a rule: use 'zero' or 'other'"):
        infer_schema(frame, unseen="error")


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
