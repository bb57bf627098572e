"""Booleans and whole numbers are the same categories through every face: files, frames, mappings, arrays of NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ldp_pca import Randomizer, RecordError, Task, infer_schema

SMOKER = [True, False, None, True, False, True]
GRADE = [3, None, -1, 2, 3, -1]
PLAN = ["free", "paid", "free", None, "paid", "free"]
AGE = [30.0, 41.5, 29.0, 60.0, 33.0, 52.0]

#: As pandas writes it: an integer that can be missing is a float there.
CSV = "smoker,grade,plan,age\nTrue,3.0,free,30\nFalse,,paid,41.5\n,-1.0,free,29\nTrue,2.0,,60\nFalse,3.0,paid,33\n"
CSV += "True,-1.0,free,52\n"


def schema(*spellings: str) -> str:
    """With these spellings of the booleans and the numbers."""
    smoker, grade = list(spellings[:2]), list(spellings[2:])
    columns = [
        {"name": "smoker", "type": "categorical", "values": smoker, "unseen": "zero"},
        {"name": "grade", "type": "categorical", "values": grade, "unseen": "zero"},
        {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
        {"name": "age", "type": "numeric", "offset": 40, "scale": 20},
    ]
    return json.dumps({"columns": columns})


SCHEMAS = [
    schema("False", "True", "-1", "2", "3"),
    schema("false", "true", "-1.0", "2.0", "3.0"),
    schema("FALSE", "TRUE", "-1.0", "2", "3.00"),
]


def expected() -> np.ndarray:
    columns = [
        *([float(value is flag) for value in SMOKER] for flag in (False, True)),
        *([float(value == grade) for value in GRADE] for grade in (-1, 2, 3)),
        *([float(value == plan) for value in PLAN] for plan in ("free", "paid")),
        [(age - 40) / 20 for age in AGE],
    ]
    return np.array(columns).T


def frame(smoker: Any, grade: Any) -> pd.DataFrame:
    return pd.DataFrame({"smoker": smoker, "grade": grade, "plan": PLAN, "age": AGE})


def rows(*kinds: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """Mappings with values of these kinds, where there are any."""
    flag, number = kinds
    return [
        {
            "smoker": None if smoker is None else flag(smoker),
            "grade": None if grade is None else number(grade),
            "plan": plan,
            "age": age,
        }
        for smoker, grade, plan, age in zip(SMOKER, GRADE, PLAN, AGE)
    ]


def forms() -> list[Any]:
    """The records in memory."""
    nullable = frame(pd.array(SMOKER, dtype="boolean"), pd.array(GRADE, dtype="Int16"))
    table = pa.table({"smoker": SMOKER, "grade": GRADE, "plan": PLAN, "age": AGE})
    polar = pl.DataFrame({"smoker": SMOKER, "grade": GRADE, "plan": PLAN, "age": AGE})
    return [
        nullable,
        frame(SMOKER, [np.nan if grade is None else float(grade) for grade in GRADE]),
        frame(pd.Categorical(SMOKER), pd.Categorical(GRADE)),
        frame(pd.Series(SMOKER, dtype=object), pd.Series(GRADE, dtype=object)),
        # Of two types, which no column of Arrow has.
        frame(pd.Series(["TRUE", False, None, True, "false", True], dtype=object), GRADE),
        nullable.astype({"smoker": "string", "grade": "string"}),
        table,
        table.set_column(1, "grade", table["grade"].cast(pa.int8())),
        table.set_column(1, "grade", table["grade"].cast(pa.decimal128(21, 2))),
        table.set_column(1, "grade", table["grade"].dictionary_encode()),
        polar,
        polar.with_columns(pl.col("grade").cast(pl.Float32)),
        rows(bool, int),
        rows(np.bool_, np.int8),
        rows(str, float),
        rows(lambda flag: str(flag).lower(), np.float32),
        rows(np.array, np.array),
        rows(pa.scalar, pa.scalar),
        rows(bool, Decimal),
        rows(bool, lambda grade: f"{grade}.0"),
    ]


@pytest.mark.parametrize("columns", SCHEMAS)
def test_forms_in_memory_have_the_same_features_and_reports(columns: str) -> None:
    task = Task(columns, epsilon=2)
    reports = Randomizer(task).randomize(rows(bool, int), insecure_seed=7, threads=1)
    for place, records in enumerate(forms()):
        np.testing.assert_array_equal(task.encode(records), expected(), err_msg=str(place))
        assert Randomizer(task).randomize(records, insecure_seed=7, threads=1) == reports, place


def files(folder: Path) -> list[Path]:
    nullable = frame(pd.array(SMOKER, dtype="boolean"), pd.array(GRADE, dtype="Int16"))
    nullable.to_csv(folder / "nullable.csv", index=False)
    nullable.to_parquet(folder / "nullable.parquet", index=False)
    frame(SMOKER, GRADE).to_parquet(folder / "floats.parquet", index=False)
    # Parquet's reader has no dictionaries of booleans.
    frame(SMOKER, pd.Categorical(GRADE)).to_parquet(folder / "coded.parquet", index=False)
    frame(pd.Categorical(SMOKER), pd.Categorical(GRADE)).to_feather(folder / "coded.feather")
    table = pa.Table.from_pandas(nullable.astype({"age": "float32"}), preserve_index=False)
    options = {"data_page_version": "2.0", "use_dictionary": False, "row_group_size": 4}
    pa.parquet.write_table(table, folder / "second.parquet", **options)
    with pa.ipc.new_stream(folder / "stream.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=4)
    polar = pl.DataFrame({"smoker": SMOKER, "grade": GRADE, "plan": PLAN, "age": AGE})
    polar.write_parquet(folder / "polars.parquet")
    polar.write_csv(folder / "polars.csv")
    polar.write_ipc(folder / "polars.arrow", compression="zstd")
    polar.write_ipc_stream(folder / "polars.arrows")
    (folder / "pandas.csv").write_text(CSV)
    (folder / "shouted.csv").write_text(CSV.replace("True", "TRUE").replace("False", "FALSE"))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("columns", SCHEMAS)
def test_files_have_the_same_features(tmp_path: Path, command, columns: str) -> None:
    records = files(tmp_path)
    task, output = tmp_path / "task.json", tmp_path / "features.npy"
    Task(columns, epsilon=2).save(task)
    for path in records:
        command("encode", path, "--task", task, "-o", output)
        np.testing.assert_array_equal(np.load(output), expected(), err_msg=path.name)


def test_each_face_infers_categories_that_all_others_find(tmp_path: Path, command) -> None:
    schemas = []
    for path in files(tmp_path):
        command("schema", "infer", path, "--categorical", "grade", "-o", tmp_path / "schema.json", "--force")
        schemas.append((tmp_path / "schema.json").read_text())
    for sample in forms()[:3] + forms()[6:12]:
        schemas.append(json.dumps(infer_schema(sample, categorical=["grade"])))
    for text in schemas:
        columns = json.loads(text)["columns"]
        assert [column["type"] for column in columns] == ["categorical"] * 3 + ["numeric"]
        columns[3].update(offset=40, scale=20)
        # A dictionary of Arrow has the order in which the grades come.
        columns[1]["values"].sort(key=float)
        task = Task({"columns": columns}, epsilon=2)
        for records in (forms()[0], forms()[10], rows(bool, int)):
            np.testing.assert_array_equal(task.encode(records), expected())


def test_no_value_decides_whether_there_is_a_report() -> None:
    task = Task(SCHEMAS[0], epsilon=2)
    for smoker in (True, 7, -0.5, 10**400, "maybe", float("nan"), float("inf"), np.uint64(2**64 - 1)):
        features = task.encode({"smoker": smoker, "grade": smoker, "plan": smoker, "age": 40})
        assert features.sum() == (1 if smoker is True else 0), smoker
    long = Task(schema("False", "True", "9007199254740993", "2", "3"), epsilon=2)
    for number in (9007199254740993, np.int64(9007199254740993), Decimal(9007199254740993)):
        assert long.encode({"smoker": 1, "grade": number, "plan": "", "age": 40})[0, 2] == (type(number) is not Decimal)
    # Their types decide.
    with pytest.raises(RecordError, match="'age' holds bool"):
        task.encode({"smoker": True, "grade": 3, "plan": "free", "age": True}, strict=True)
    with pytest.raises(RecordError, match="'smoker' holds list"):
        task.encode({"smoker": [True], "grade": 3, "plan": "free", "age": 1}, strict=True)
