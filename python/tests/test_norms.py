"""The lengths of records, as the command line finds them, and plans for a radius."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldp_pca
from ldp_pca import Aggregate, PlanError, Randomizer, RecoveryError, Task, TaskError, norms, plan

PLAN: dict[str, Any] = {"dimension": 12, "spectrum": [0.3, 0.2, 0.1], "epsilon": 2.0}
WORDS = ["--dimension", 12, "--spectrum", "0.3,0.2,0.1", "--epsilon", 2]


def collected(task: Task, people: int = 4000) -> Aggregate:
    """Of people whose records are lognormally long, 1 in the median."""
    rng = np.random.default_rng(4)
    records = rng.normal(size=(people, 12))
    records *= np.exp(0.5 * rng.normal(size=(people, 1))) / np.linalg.norm(records, axis=1, keepdims=True)
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(records, insecure_seed=4), task)
    return aggregate


@pytest.fixture(scope="module")
def sums() -> Aggregate:
    return collected(Task.norms(12, epsilon=2.0, radius=20.0))


def test_the_task_is_the_command_lines(command, tmp_path: Path) -> None:
    columns = [{"name": f"c{place}", "type": "numeric", "offset": 0, "scale": 1} for place in range(1, 13)]
    (tmp_path / "schema.json").write_text(json.dumps({"columns": columns}))
    made = ("task", "norms", "--schema", tmp_path / "schema.json", "--radius", 20, "--epsilon", 2)
    digest = command(*made, "-o", tmp_path / "norms.json")["digest"]
    task = Task.norms({"columns": columns}, epsilon=2.0, radius=20.0)
    assert task == Task.from_file(tmp_path / "norms.json") == pickle.loads(pickle.dumps(task))
    assert (task.digest, task.mechanism, task.radius, task.folds) == (digest, "norm-cap", 20.0, 1)


def test_the_lengths_are_the_command_lines(command, sums: Aggregate, tmp_path: Path) -> None:
    sums.save(tmp_path / "sums")
    sums.task.save(tmp_path / "task.json")
    for radius in (None, 3.2):
        options = () if radius is None else ("--radius", radius)
        answer = command("norms", tmp_path / "sums", "-t", tmp_path / "task.json", *options)
        found = norms(sums, radius=radius)
        assert found.guarantee == sums.task.guarantee
        ours = {name: getattr(found, name) for name in ("records", "confidence", "quantiles", "radii")}
        assert ours == {name: answer[name] for name in ours}
        assert list(found.quantiles[0]) == list(answer["quantiles"][0]) == ["share", "length", "lower", "upper"]
        assert [at["radius"] for at in found.radii[2:]] == ([] if radius is None else [radius])
    # Of 4,000 people at epsilon 2 the median of 1 is found within a third: by simulation beforehand, in 20 of 20.
    median = found.quantiles[1]
    assert 0.75 < median["length"] < 1.33
    assert median["lower"] < 1 < median["upper"]
    # 41 times, by the integral; an upper radius is priced very roughly.
    assert found.radii[2]["people"] > 10
    assert repr(found).startswith("Norms(records=4000, lengths 25%: ")


def test_a_plan_for_a_radius_is_the_command_lines(command, sums: Aggregate, tmp_path: Path) -> None:
    sums.save(tmp_path / "sums")
    sums.task.save(tmp_path / "task.json")
    for radius, is_too_large in [(1.0, False), (3.2, True)]:
        options = ("--radius", radius, "--norms", tmp_path / "sums", "--norms-task", tmp_path / "task.json")
        answer = command("plan", *WORDS, *options, "--records", 20_000, "--target", 0.1)
        found = plan(**PLAN, radius=radius, norms=sums, records=20_000, target=0.1)
        assert found.clipping == answer["clipping"]
        assert found.predicted.sin_theta_squared == answer["predicted"]["sin_theta_squared"]
        assert found.records_for_target == answer["records_for_target"]
        assert list(found.signals) == answer["signals"]
        warned = [reason for reason in found.reasons if "choose one that half of the records reach" in reason]
        assert bool(warned) == is_too_large
        assert ("choose one" in repr(found)) == is_too_large
        again = ldp_pca.predict(20_000, **PLAN, radius=radius, norms=sums)
        assert again.sin_theta_squared == found.predicted.sin_theta_squared
    assert plan(**PLAN).clipping is None


@pytest.mark.sampling
def test_a_plan_for_another_clipped_collection_has_what_its_radius_costs(command, tmp_path: Path) -> None:
    task = Task(12, epsilon=8.0, bounding=4.0)
    sums = collected(task, 20_000)
    sums.save(tmp_path / "sums")
    task.save(tmp_path / "task.json")
    found = plan(sums, rank=1)
    answer = command("plan", "--aggregate", tmp_path / "sums", "-t", tmp_path / "task.json", "--rank", 1)
    assert found.clipping == answer["clipping"]
    assert "radius 4: " in repr(found)
    assert plan(collected(Task(12, epsilon=8.0)), rank=1).clipping is None


def test_what_makes_no_sense_is_refused(sums: Aggregate) -> None:
    with pytest.raises(TaskError, match="'norm-cap' is not a mechanism"):
        Task(12, epsilon=2.0, mechanism="norm-cap")
    with pytest.raises(RecoveryError, match="not about lengths"):
        norms(collected(Task(12, epsilon=2.0)))
    with pytest.raises(RecoveryError, match=r"radius 30 is outside the lengths"):
        norms(sums, radius=30.0)
    with pytest.raises(ldp_pca.RecordError, match="radius"):
        norms(sums, radius=-1.0)
    for alone in ({"radius": 1.0}, {"norms": sums}):
        with pytest.raises(PlanError, match="radius and norms go together"):
            plan(**PLAN, **alone)
    with pytest.raises(PlanError, match="radius and norms beside an aggregate"):
        plan(collected(Task(12, epsilon=2.0)), radius=1.0, norms=sums)
