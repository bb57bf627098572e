"""Records of every form into reports."""

from __future__ import annotations

import json
import pickle
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import ldp_pca
from ldp_pca import Aggregate, Collection, Randomizer, RecordError, Reports, SchemaError, Task, infer_schema

COLUMNS = [
    {"name": "age", "type": "numeric", "offset": 0, "scale": 100},
    {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
    {"name": "note", "type": "ignored"},
]
FRAME = pd.DataFrame({"plan": ["free", "paid", "paid"], "age": [25, 50, 0]})


@pytest.fixture(scope="module")
def named() -> Randomizer:
    return Randomizer(Task(COLUMNS, epsilon=2.0, bounding=1.5))


def test_every_dtype_and_layout_gives_the_reports_of_its_values(task: Task) -> None:
    randomizer = Randomizer(task)
    whole = np.arange(1, 8001).reshape(1000, 8) % 97
    expected = randomizer.randomize(whole.astype(float), insecure_seed=1, threads=1)
    forms = [whole.astype(kind) for kind in ("i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", "longdouble")]
    strided = np.zeros((2000, 16))
    strided[::2, ::2] = whole
    read_only = whole.astype(float)
    read_only.flags.writeable = False
    # Neither aligned nor a multiple of eight bytes apart.
    packed = np.zeros(1000, dtype=[("id", "u1"), ("x", "f8", (8,))])["x"]
    packed[:] = whole
    assert not packed.flags.aligned
    backwards = whole[::-1].astype(float)[::-1]
    assert backwards.strides[0] < 0
    forms += [
        np.asfortranarray(whole, dtype=float),
        strided[::2, ::2],
        read_only,
        whole.tolist(),
        packed,
        backwards,
        np.ma.masked_array(whole, mask=False),
        list(np.ma.masked_array(whole, mask=False)),
    ]
    for form in forms:
        assert randomizer.randomize(form, insecure_seed=1, threads=2) == expected


def by_the_command_line(command, task: Task, records: np.ndarray, folder: Path, *words: Any) -> bytes:
    """The reports of these records from seed 7."""
    np.save(folder / "records.npy", records)
    task.save(folder / "task.json")
    output = ("-t", folder / "task.json", "-o", folder / "reports", "--insecure-seed", 7)
    command("randomize", folder / "records.npy", *output, *words)
    return (folder / "reports").read_bytes()


def test_a_seed_gives_the_reports_of_the_command_line_whatever_the_threads(
    command, task, records, tmp_path: Path
) -> None:
    expected = by_the_command_line(command, task, records, tmp_path)
    randomizer = Randomizer(task)
    for threads in (1, 3, None):
        assert randomizer.randomize(records, threads=threads, insecure_seed=7).to_bytes() == expected
    halves = [randomizer.randomize(records[at : at + 3000], insecure_seed=7, first=at).to_bytes() for at in (0, 3000)]
    assert b"".join(halves) == expected


def test_a_randomizer_that_was_pickled_draws_anew(task: Task, records: np.ndarray) -> None:
    randomizer = Randomizer(task)
    copies = [randomizer, copy(randomizer), *pickle.loads(pickle.dumps([randomizer, Randomizer(task)]))]
    assert {one.task for one in copies} == {task}
    reports = [report for one in copies for report in one.randomize(records[:100])]
    assert len({report[13:29] for report in reports}) == 400
    seeded = {one.randomize(records[:9], insecure_seed=3).to_bytes() for one in copies}
    assert len(seeded) == 1


def test_a_generator_of_numpy_draws_the_seed(task: Task, records: np.ndarray) -> None:
    def reports(seed: int) -> list[Reports]:
        rng = np.random.default_rng(seed)
        return [Randomizer(task).randomize(records[:9], insecure_seed=rng) for _ in range(2)]

    first, second = reports(1)
    assert [first, second] == reports(1)
    assert first != second
    for seed in (-1, "1", 1.5, np.random.RandomState(1)):
        with pytest.raises((TypeError, ValueError), match=r"^insecure_seed is .*: give a whole number of at least 0,"):
            Randomizer(task).randomize(records[:9], insecure_seed=seed)


def test_what_comes_of_a_seed_says_so(task: Task, records: np.ndarray) -> None:
    seeded = Randomizer(task).randomize(records, insecure_seed=1)
    drawn = Randomizer(task).randomize(records)
    assert (seeded.seeded, seeded[:9].seeded, pickle.loads(pickle.dumps(seeded)).seeded) == (True, True, True)
    assert not drawn.seeded
    assert not Reports.from_bytes(seeded.to_bytes(), seeded.width).seeded
    sums = {name: ldp_pca.aggregate(reports, task) for name, reports in (("seeded", seeded), ("drawn", drawn))}
    both = sums["drawn"] + sums["seeded"]
    pieces = Collection(task)
    pieces.merge(sums["seeded"])
    for one in (sums["seeded"], both, copy(both), pickle.loads(pickle.dumps(both)), pieces.aggregate()):
        assert one.seeded
        assert "drawn from a seed, and are not private" in repr(ldp_pca.recover(one, 1))
    for one in (sums["drawn"], Aggregate.from_bytes(both.to_bytes(), task)):
        assert not one.seeded
        assert not ldp_pca.recover(one, 1).seeded
        assert "private" not in repr(ldp_pca.recover(one, 1))


def test_reports_have_the_ids_that_were_issued(command, task: Task, records: np.ndarray, tmp_path: Path) -> None:
    ids = [f"{place:032X}" for place in range(len(records))]
    randomizer = Randomizer(task)
    reports = randomizer.randomize(records, ids=ids, insecure_seed=7, threads=3)
    assert [report[13:29].hex() for report in reports] == [id.lower() for id in ids]
    (tmp_path / "ids.json").write_text(json.dumps({"ids": ids}))
    assert reports.to_bytes() == by_the_command_line(command, task, records, tmp_path, "--ids", tmp_path / "ids.json")
    private = randomizer.randomize(records[:2], ids=ids[:2])
    assert [report[13:29].hex() for report in private] == [id.lower() for id in ids[:2]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ids": ["0" * 32]}, "1 id for 2 records"),
        ({"ids": ["0" * 32, "0" * 31]}, "id 1 is not 32 hexadecimal digits"),
        ({"ids": ["0" * 32, "é" * 16]}, "id 1 is not 32 hexadecimal digits"),
        ({"ids": ["0" * 32, "0" * 32]}, "id 1 was there before"),
        ({"threads": 0}, "0 threads"),
    ],
)
def test_odd_options_are_refused(task: Task, records: np.ndarray, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Randomizer(task).randomize(records[:2], **options)


def test_no_records_are_no_reports(task: Task) -> None:
    for nothing in ([], np.empty((0, 8)), pa.table({name: pa.array([], pa.float64()) for name in task.columns})):
        assert len(Randomizer(task).randomize(nothing)) == 0


def test_the_first_bad_row_is_named_however_far_down_it_is(task: Task) -> None:
    texts = np.full(50_000, None)
    texts[[40_001, 40_000, 49_000]] = "x"
    records = pa.table({name: pa.array(texts, pa.string()) for name in task.columns})
    for strict, error in ((False, SchemaError), (True, RecordError)):
        with pytest.raises(error, match=r"^row 40000: column 'c1' is numeric but holds a text") as raised:
            Randomizer(task).randomize(records, strict=strict)
        assert raised.value.row == 40_000


@pytest.mark.parametrize(
    ("records", "error", "words"),
    [
        (np.ones((2, 2, 2)), RecordError, "shape"),
        (np.full((1, 8), "1"), RecordError, "holds no numbers"),
        (np.ones((1, 8), dtype=bool), RecordError, "array of bool"),
        (np.ones((1, 8), dtype=complex), RecordError, "array of complex128"),
        ("records.csv", RecordError, "not as str"),
        (b"records", RecordError, "not as bytes"),
        (bytearray(8), RecordError, "not as bytearray"),
        (1, RecordError, "not as int"),
        (None, RecordError, "not as NoneType"),
        (pd.DataFrame(np.ones((2, 3))), SchemaError, "unknown columns: 3; the schema has c1, c2"),
        (pd.DataFrame(np.ones((2, 8))), SchemaError, "unknown columns: 8; .* numbers its columns: .* as an array"),
        (pd.DataFrame({"c1": [1.0]}), SchemaError, "'c2' is missing"),
        (pa.array([1.0, None]), TypeError, "as a table, not as an array of Float64"),
    ],
)
def test_what_are_no_records_is_refused(task: Task, records, error, words: str) -> None:
    with pytest.raises(error, match=words):
        Randomizer(task).randomize(records)


def test_columns_of_many_records_are_no_record(named: Randomizer) -> None:
    columns = FRAME.to_dict("list")
    words = "'age' holds list: give a number, a text or None, as one record has; the columns of many are a table"
    with pytest.warns(ldp_pca.RecordWarning, match=words):
        assert len(named.randomize(columns)) == 1
    assert len(named.randomize(pd.DataFrame(columns))) == 3
    with pytest.raises(RecordError, match="row 0: 2 of its keys are no texts: values are found by the names"):
        named.randomize({0: 1.0, 1: 2.0}, strict=True)
    with pytest.raises(SchemaError, match=r"a sequence of mappings, .*: make a frame of it first, pandas\.DataFrame"):
        infer_schema(columns)


def test_one_record_is_a_row_of_one(task: Task, records: np.ndarray) -> None:
    names = [f"c{place}" for place in range(1, 9)]
    row = records[0]
    expected = Randomizer(task).randomize(records[:1], insecure_seed=3)
    for record in (
        row,
        row.tolist(),
        tuple(row),
        dict(zip(names, row)),
        pd.Series(row, index=names),
        pd.DataFrame([row], columns=names).iloc[0],
        pl.DataFrame([dict(zip(names, row))]).lazy(),
    ):
        assert Randomizer(task).randomize(record, insecure_seed=3) == expected, type(record)
    assert Randomizer(task).randomize([None, *row[1:]], insecure_seed=3).width == 35


def test_a_dataset_is_its_table(task: Task, records: np.ndarray, tmp_path: Path) -> None:
    table = pa.table({f"c{place + 1}": records[:50, place] for place in range(8)})
    pa.parquet.write_table(table, tmp_path / "records.parquet")
    found = Randomizer(task).randomize(pa.dataset.dataset(tmp_path / "records.parquet"), insecure_seed=3)
    assert found == Randomizer(task).randomize(records[:50], insecure_seed=3)


def test_more_records_than_there_is_memory_for_are_refused(task: Task) -> None:
    # Records that take no memory themselves.
    with pytest.raises(MemoryError, match="give fewer"):
        Randomizer(task).randomize(np.broadcast_to(np.ones(8), (1 << 42, 8)))


def test_a_schema_is_read_out_of_a_public_sample(named: Randomizer) -> None:
    schema = infer_schema(FRAME, scaling="range", unseen="zero")
    assert schema["columns"] == [
        {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
        {"name": "age", "type": "numeric", "offset": 0, "scale": 50},
    ]
    assert infer_schema(pl.from_pandas(FRAME), scaling="range", unseen="zero") == schema
    numbers = np.zeros(2, dtype=[("id", "u1"), ("x", "f8", (2,))])["x"]
    numbers[:] = [[1, -4], [3, 2]]
    for form in (numbers, numbers.tolist(), np.array(numbers, dtype=int)):
        assert [column["scale"] for column in infer_schema(form)["columns"]] == [1, 3]
    task = Task(schema, epsilon=1)
    assert len(Randomizer(task).randomize(FRAME)) == 3
    codes = pd.DataFrame({"c1": [1, 2], "c2": [3, 4]})
    coded = Randomizer(Task(infer_schema(codes, categorical=["c1"]), epsilon=1))
    assert coded.randomize(codes.astype({"c1": str}), insecure_seed=1) == coded.randomize(codes.values, insecure_seed=1)
    assert coded.randomize(codes, insecure_seed=1) == coded.randomize(codes.values, insecure_seed=1)
    for sample, words in [(FRAME[:0], "no rows"), (np.array([[np.nan]]), "0 features")]:
        with pytest.raises(SchemaError, match=words):
            infer_schema(sample)
    with pytest.raises(SchemaError, match="'log' is not a scaling"):
        infer_schema(FRAME, scaling="log")


def test_columns_to_ignore_are_not_looked_at() -> None:
    odd = {
        "lasted": pd.to_timedelta([1, 2, 3], unit="h"),
        "list": [[1], [2, 3], []],
        "mixed": [1, "x", object()],
        "range": pd.interval_range(0, 3),
        "month": pd.period_range("2019-01", periods=3, freq="M"),
    }
    frame = FRAME.assign(**odd)
    before = frame.copy()
    schema = infer_schema(frame, ignore=list(odd))
    assert [column["type"] for column in schema["columns"]] == ["categorical", "numeric"] + ["ignored"] * 5
    pd.testing.assert_frame_equal(frame, before)
    table = pa.table({"age": [25, 50, 0], "list": [[1], [2], []], "lasted": pa.array([1, 2, 3], pa.duration("s"))})
    objects = pl.Series([b"", {}, 1], dtype=pl.Object)
    polar = pl.DataFrame({"age": [25, 50, 0], "list": [[1], [2], []], "lasted": objects})
    for form in (table, polar):
        found = infer_schema(form, ignore=["list", "lasted"])["columns"]
        assert [column["type"] for column in found] == ["numeric", "ignored", "ignored"]
    named = pl.DataFrame({"self": [1.0, 2.0], "age": [3.0, 4.0]})
    assert [column["type"] for column in infer_schema(named, ignore=["self"])["columns"]] == ["ignored", "numeric"]
    with pytest.raises(RecordError, match=r"'list' is List: give numbers, .*, or ignore it"):
        infer_schema(table, ignore=["lasted"])
    with pytest.raises(SchemaError, match="neither of numbers nor of texts: mixed: ignore them"):
        infer_schema(frame[["age", "mixed"]])


def test_a_period_is_a_date_and_no_number() -> None:
    frame = FRAME.assign(month=pd.period_range("2019-01", periods=3, freq="M"))
    with pytest.warns(ldp_pca.SchemaWarning, match="'month' holds dates and is left out"):
        assert infer_schema(frame)["columns"][2] == {"name": "month", "type": "ignored"}
    table = pa.Table.from_pandas(frame[["month"]])
    with pytest.raises(RecordError, match=r"'month' is pandas\.period: give numbers"):
        infer_schema(table)
    for records, words in [(frame[["month"]], "is Timestamp"), (table, r"is pandas\.period")]:
        for columns in (["month"], [{"name": "month", "type": "categorical", "values": ["588"], "unseen": "zero"}]):
            with pytest.raises(SchemaError, match=f"'month' {words}"):
                Randomizer(Task(columns, epsilon=1)).randomize(records)


def test_declared_categories_are_those_of_the_schema() -> None:
    def columns(sample: Any, **options: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = infer_schema(sample, **options)["columns"]
        return found

    age = [25.0, 50.0, 0.0]
    grade = pd.Categorical([3, 1, 3], categories=[3, 2, 1], ordered=True)
    [grades, _] = columns(pd.DataFrame({"grade": grade, "age": age}))
    assert grades == {"name": "grade", "type": "categorical", "values": ["3", "2", "1"], "unseen": "zero"}
    [grades, _] = columns(pd.DataFrame({"grade": grade, "age": age}), unseen="other")
    assert grades["values"] == ["3", "2", "1", "other"]
    [stated, _] = columns(pd.DataFrame({"grade": grade, "age": age}), categories={"grade": [1, 2]})
    assert stated["values"] == ["1", "2"]
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["c", "b", "a"]))
    chunks = pa.chunked_array([coded, pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["d"]))])
    [letters, _] = columns(pa.table({"letter": chunks, "age": [*age, 1.0]}))
    assert letters["values"] == ["c", "b", "a", "d"]
    size = pl.Series(["L", "S", "L"], dtype=pl.Enum(["S", "M", "L"]))
    [sizes, _] = columns(pl.DataFrame({"size": size, "age": age}))
    assert sizes["values"] == ["S", "M", "L"]
    # Of a Categorical of polars those of other columns may be in its memory.
    other = pl.Series(["somebody", "2"], dtype=pl.Categorical)
    [digits, _] = columns(pl.DataFrame({"digit": pl.Series(["1", "3", "1"], dtype=pl.Categorical), "age": age}))
    assert (sorted(digits["values"]), len(other)) == (["1", "3"], 2)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["ann@example.org"], "holds"),
        (["123e4567-e89b-12d3-a456-426614174000"], "holds"),
        (["x" * 65], "holds"),
        ([f"person{row}" for row in range(40)], "(declares more than 32 categories|has more than 32 different texts)"),
    ],
)
def test_texts_that_may_identify_people_stay_out_of_a_schema(texts: list[str], words: str) -> None:
    plans: list[Any] = [pd.Categorical(["a", "b", "a"] * 3, categories=["a", "b", *texts]), ["a", "b", *texts]]
    for plan in plans:
        frame = pd.DataFrame({"plan": plan, "age": range(len(plan))})
        with pytest.warns(
            ldp_pca.SchemaWarning, match=f"^column 'plan' {words} .*is left out: name it as categorical"
        ) as told:
            assert infer_schema(frame)["columns"][0] == {"name": "plan", "type": "ignored"}
        assert all(text not in str(warning.message) for text in texts for warning in told)
        assert {*infer_schema(frame, categorical=["plan"])["columns"][0]["values"]} == {"a", "b", *texts}
        assert infer_schema(frame, categories={"plan": ["a"]})["columns"][0]["values"] == ["a"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ignore": "age"}, "^ignore is 'age': give the names of columns in a list"),
        ({"categorical": "age"}, "^categorical is 'age': give the names"),
        ({"categories": ["age"]}, "^categories is list: give a mapping"),
        ({"categories": {"whom": ["a"]}}, "no column 'whom' among its 2"),
        ({"categories": {"plan": "free"}}, r"^categories\['plan'\] is 'free': give a list of texts"),
        ({"scaling": 2}, "^scaling is 2: give a text"),
    ],
)
def test_options_of_a_schema_are_refused_by_their_names(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        infer_schema(FRAME, **options)


def test_the_schema_is_that_of_the_command_line(command, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.1, -2.5, 3.0], "zero": [0, 0, 0], "kind": ["a", "b", "a"], "code": [1, 2, 1]})
    frame.to_csv(tmp_path / "sample.csv", index=False)
    for scaling in ("robust", "max-abs", "range", "standard", "none"):
        words = ["--scaling", scaling, "--categorical", "code"]
        answer = command("schema", "infer", tmp_path / "sample.csv", *words)
        with pytest.warns(ldp_pca.SchemaWarning, match="only zeros or missing values are ignored: zero; give"):
            assert infer_schema(frame, scaling=scaling, categorical=["code"]) == answer["schema"]
