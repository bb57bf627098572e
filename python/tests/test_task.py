"""Tasks: what they state, how they are written and read, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from ldp_pca import SchemaError, Task, TaskError

SCHEMA = {
    "columns": [
        {"name": "age", "type": "numeric", "offset": 20, "scale": 100},
        {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
        {"name": "comment", "type": "ignored"},
    ]
}


def test_a_task_says_what_it_promises() -> None:
    task = Task(SCHEMA, epsilon=2.0, bounding=1.5, centring=True, folds=5)
    assert (task.epsilon, task.delta, task.radius, task.centring, task.folds) == (2.0, 0.0, 1.5, 0.25, 5)
    assert task.columns == ["age", "plan", "comment"]
    assert task.feature_names == ["age", "plan=free", "plan=paid"]
    assert task.dimension == 3
    assert task.report_bytes == 35
    assert task.mechanism == "double-cap"
    assert "(2, 0)-local differential privacy" in task.guarantee
    assert "one record in one report" in task.guarantee
    assert task.entry_deviation > 0
    assert repr(task).startswith("Task(dimension=3, mechanism='double-cap', epsilon=2")


def test_a_gaussian_task_has_the_delta_of_the_command_line() -> None:
    assert Task(4, epsilon=1, mechanism="gaussian").delta == 1e-6
    task = Task(4, epsilon=1, mechanism="gaussian", delta=1e-5)
    assert (task.delta, task.mechanism, task.report_bytes) == (1e-5, "gaussian", 33 + 4 * 5 // 2)
    assert Task(4, epsilon=1, mechanism="wang-xu").mechanism == "wang-xu"


def test_the_forms_of_columns_and_of_bounding_are_the_same_task() -> None:
    by_name = Task(["c1", "c2"], epsilon=1)
    for columns in (2, np.int64(2), ("c1", "c2"), np.array(["c1", "c2"], dtype=object)):
        assert Task(columns, epsilon=1) == by_name
    for columns in (SCHEMA, SCHEMA["columns"], json.dumps(SCHEMA)):
        assert Task(columns, epsilon=1) == Task(SCHEMA, epsilon=1)
    assert Task(2, epsilon=1, bounding="clip:1.5") == Task(2, epsilon=1, bounding=1.5)
    assert Task(2, epsilon=1, bounding="unit-norm") == by_name
    assert Task(2, epsilon=1, centring=False) == by_name
    assert Task(2, epsilon=1, centring=0.25) == Task(2, epsilon=1, centring=True)


def test_a_task_survives_files_pickles_and_sets(tmp_path: Path) -> None:
    task = Task(SCHEMA, epsilon=2.0)
    task.save(tmp_path / "task.json")
    assert (tmp_path / "task.json").read_text() == task.to_json() + "\n"
    copies = [Task.from_file(tmp_path / "task.json"), Task.from_json(task.to_json()), pickle.loads(pickle.dumps(task))]
    (tmp_path / "marked.json").write_text(task.to_json(), encoding="utf-8-sig")
    copies.append(Task.from_file(tmp_path / "marked.json"))
    assert {task, *copies} == {task}
    assert {copy.digest for copy in copies} == {task.digest}
    assert task != Task(SCHEMA, epsilon=1.0)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        Task.from_file(tmp_path / "nowhere.json")


def test_it_is_the_task_of_the_command_line(command, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    for arguments, parameters in [
        (["--epsilon", 2], {"epsilon": 2}),
        (["--epsilon", 0.5, "--candidates", 16], {"epsilon": 0.5, "candidates": 16}),
        (["--epsilon", 1, "--bounding", "clip:3", "--centre"], {"epsilon": 1, "bounding": 3, "centring": True}),
        (
            ["--epsilon", 1, "--mechanism", "gaussian", "--folds", 4],
            {"epsilon": 1, "mechanism": "gaussian", "folds": 4},
        ),
        (["--epsilon", 1, "--mechanism", "wang-xu"], {"epsilon": 1, "mechanism": "wang-xu"}),
        (["--epsilon", 1, "--period", "2026-W48"], {"epsilon": 1, "period": "2026-W48"}),
    ]:
        output = tmp_path / "task.json"
        written = ["-o", output, "--force"]
        answer = command("task", "new", "--schema", tmp_path / "schema.json", *arguments, *written)
        task = Task(SCHEMA, **parameters)
        assert (task.digest, task.period) == (answer["digest"], answer.get("period"))
        assert task.entry_deviation == answer["entry_deviation"]
        assert Task.from_file(output) == task


@pytest.mark.parametrize(
    ("columns", "parameters", "error", "words"),
    [
        (0, {}, SchemaError, "0 features"),
        (True, {}, SchemaError, "columns is True"),
        ([{"name": "a"}], {}, SchemaError, "^column 1: missing field 'type'$"),
        ([{"name": "a", "type": "numeric", "offset": 0, "scale": 1e101}], {}, SchemaError, "'a' has offset"),
        ({"columns": 5}, {}, SchemaError, "columns is {'columns': 5}: give a number of features, names, or a schema"),
        ({}, {}, SchemaError, "the schema has no 'columns'"),
        ([{"name": "a", "type": "ignored"}, 2], {}, SchemaError, "column 2 is int: give the names"),
        ("height", {}, SchemaError, "columns is a text, but not the JSON of a schema: give names in a list"),
        (2, {"mechanism": "no-such-mechanism"}, TaskError, "'no-such-mechanism' is not a mechanism"),
        (2, {"delta": 1e-6}, TaskError, "delta does not go with double-cap"),
        (2, {"bounding": "sphere"}, TaskError, "'sphere' is not a bounding"),
        (2, {"bounding": -1.0}, TaskError, "clipping radius"),
        (2, {"period": "week 48"}, TaskError, "^the period is 'week 48': use 1 to 64 ASCII letters"),
        (2, {"period": 48}, TaskError, "^period is 48: give a text"),
        (2, {"folds": -1}, TaskError, "^folds is -1: give a whole number of at least 0"),
        (2, {"epsilon": "4"}, TypeError, "^epsilon is '4': give a number"),
        (2, {"delta": [1e-6]}, TypeError, "^delta is list: give a number"),
        (2, {"cap": 1.5}, TypeError, "^cap is 1.5: give a whole number of at least 0"),
        (2, {"mechanism": 3}, TaskError, "^mechanism is 3: give a text"),
        (2, {"centring": "yes"}, TypeError, "^centring is 'yes': give True, False or a number"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(columns, parameters, error, words) -> None:
    with pytest.raises(error, match=words):
        Task(columns, **{"epsilon": 1.0, **parameters})


def test_the_radius_of_lengths_is_one_of_a_task() -> None:
    with pytest.raises(TaskError, match="clipping radius"):
        Task.norms(2, epsilon=1.0, radius=-1.0)
    with pytest.raises(TypeError, match=r"^radius is '5': give a number"):
        Task.norms(2, epsilon=1.0, radius="5")


def test_json_that_is_no_task_is_refused() -> None:
    for text, words in [("{", "not a valid task"), ('{"version": 2}', "version 2"), ("[]", "not a valid task")]:
        with pytest.raises(TaskError, match=words):
            Task.from_json(text)
