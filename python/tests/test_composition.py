"""What several reports of one person lose together: the table that Rust and JavaScript read, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ldp_pca import Task

Command = Callable[..., dict[str, Any]]

TABLE = Path(__file__).parents[2] / "tests" / "vectors" / "accounting" / "composition.json"


def test_the_command_line_says_the_same_of_reports_of_one_task(command: Command, tmp_path: Path) -> None:
    [case] = [case for case in json.loads(TABLE.read_text())["cases"] if case["name"] == "three caps"]
    [part] = case["parts"]
    loss = part["loss"]
    document = {
        "version": 1,
        "schema": {"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1}]},
        "bounding": {"type": "unit-norm"},
        "mechanism": {"type": "double-cap", **{name: loss[name] for name in ("epsilon", "candidates", "cap")}},
        "folds": 1,
    }
    file = tmp_path / "task.json"
    file.write_text(json.dumps(document))
    # The wheel states of one report what is added up here.
    task = Task.from_file(file)
    assert (task.epsilon, task.delta) == (part["guarantee"]["epsilon"], part["guarantee"]["delta"])
    answer = command("account", "--task", file, "--reports", part["reports"], "--delta", case["delta"])
    assert case["pure"] <= answer["pure_epsilon"] <= case["pure"] * (1 + 1e-8)
    found = {method["method"]: method["epsilon"] for method in answer["methods"]}
    assert found.keys() == case["methods"].keys()
    for name, truth in case["methods"].items():
        assert truth is found[name] or truth <= found[name] <= truth * (1 + 1e-8), name
