"""Two waves of people: the task of the second, the components of both, and what the second's sums alone do not give."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pyarrow as pa
import pytest

import ldp_pca
from ldp_pca import Aggregate, PlanError, PublicSample, Randomizer, RecoveryError, Task, TaskError, plan, recover

RANK = 2
RECORDS = 6000
PLAN: dict[str, Any] = {"dimension": 40, "spectrum": [0.48, 0.215, 0.13, 0.067], "rank": 3}


def people(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(RECORDS, 16)) * [4, 2, *[0.4] * 14]


def turned() -> np.ndarray:
    """Other people, whose first component has a part along another feature."""
    records = people(6)
    records[:, 5] += 0.4 * records[:, 0]
    return records


def sums(task: Task, seed: int) -> Aggregate:
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(people(seed), insecure_seed=seed), task)
    return aggregate


def error(recovery: ldp_pca.Recovery) -> float:
    return recovery.compare(np.eye(16)[:RANK])


@pytest.fixture(scope="module")
def first() -> Aggregate:
    return sums(Task(16, epsilon=2.0, folds=3), 1)


@pytest.fixture(scope="module")
def second(first: Aggregate) -> Aggregate:
    return sums(first.task.refine(first, RANK), 2)


def test_a_second_waves_task_says_what_it_refines(first: Aggregate) -> None:
    task = first.task
    assert (task.refinement, task.campaign) == (None, task.digest)
    refined = task.refine(first, RANK)
    assert (refined.campaign, refined.mechanism) == (task.digest, "signed-cap")
    assert refined != task
    assert (refined.epsilon, refined.delta, refined.folds, refined.columns) == (2.0, 0.0, 3, task.columns)
    assert refined.refinement["parent"] == task.digest
    directions = refined.refinement["directions"]
    assert directions.shape == (RANK, 16)
    np.testing.assert_allclose(directions @ directions.T, np.eye(RANK), atol=1e-5)
    assert recover(first, RANK, method="pca").compare(directions) < 1e-9
    assert refined.refinement["weights"].shape == (RANK,)
    assert refined.refinement["clip"] > 0
    assert task.refine(first, RANK) == refined
    assert pickle.loads(pickle.dumps(refined)) == Task.from_json(refined.to_json()) == refined
    assert "mechanism='signed-cap'" in repr(refined)
    with pytest.raises(TaskError, match="second wave say nothing about second moments"):
        _ = refined.entry_deviation


def test_both_waves_are_the_command_lines(command, first: Aggregate, second: Aggregate, tmp_path: Path) -> None:
    first.save(tmp_path / "one")
    first.task.save(tmp_path / "one.json")
    second.save(tmp_path / "two")
    refine = ("task", "refine", "--aggregate", tmp_path / "one", "-t", tmp_path / "one.json", "--rank", RANK)
    made = command(*refine, "-o", tmp_path / "two.json")
    assert made["digest"] == second.task.digest
    assert Task.from_file(tmp_path / "two.json") == second.task
    command(*refine, "--records", 100, "--anyway", "-o", tmp_path / "few.json")
    assert Task.from_file(tmp_path / "few.json") == first.task.refine(first, RANK, records=100, anyway=True)
    waves = ("--refined", tmp_path / "two", "--refined-task", tmp_path / "two.json")
    answer = command("recover", tmp_path / "one", "-t", tmp_path / "one.json", "--rank", RANK, *waves)
    found = recover(first, RANK, refined=second)
    assert found.refined == answer["refined"]
    assert found.refined["task"] == second.task.digest
    assert found.records == answer["records"] == 2 * RECORDS
    np.testing.assert_array_equal(found.components, answer["components"])
    np.testing.assert_array_equal(found.eigenvalues, answer["eigenvalues"])
    assert (found.noise_deviation, found.noise_edge) == (answer["noise_deviation"], answer["noise_edge"])


def test_a_second_wave_makes_the_error_smaller(first: Aggregate, second: Aggregate) -> None:
    alone = recover(first, RANK, method="pca")
    both = recover(first, RANK, refined=second)
    assert error(both) < 0.7 * error(alone)
    assert both.refined["waves"]["sin_theta_squared"] < 0.7 * both.refined["waves"]["first_wave"]
    assert alone.refined is None
    assert (both.held_out, both.confidence, both.rank_test, both.variances) == (None, None, None, None)
    assert "Recovery(" in repr(both)
    assert "<table>" in both._repr_html_()
    with pytest.raises(RecoveryError, match="no picture of two waves"):
        both.plot()


ALONE: dict[str, Callable[[Aggregate], Any]] = {
    "recover": lambda sums: recover(sums, RANK),
    "covariance": ldp_pca.covariance,
    "plan": lambda sums: plan(sums, rank=RANK),
    "predict": lambda sums: ldp_pca.predict(1000, sums, rank=RANK),
    "LocalPCA": ldp_pca.LocalPCA(RANK).fit_aggregate,
    "LocalSparsePCA": ldp_pca.LocalSparsePCA(RANK).fit_aggregate,
    "from_aggregate": ldp_pca.LocalPCA.from_aggregate,
}


@pytest.mark.parametrize("asked", ALONE.values(), ids=ALONE.keys())
def test_a_second_waves_sums_alone_give_no_second_moments(second: Aggregate, asked: Callable[[Aggregate], Any]) -> None:
    with pytest.raises(ldp_pca.LdpPcaError, match=r"sums are those of a refinement, .* give the sums of the first"):
        asked(second)


@pytest.fixture(scope="module")
def sample(first: Aggregate) -> PublicSample:
    return PublicSample(first.task, turned())


def test_a_public_sample_and_its_wave_are_the_command_lines(
    command, first: Aggregate, sample: PublicSample, tmp_path: Path
) -> None:
    task = first.task
    np.save(tmp_path / "public.npy", turned())
    task.save(tmp_path / "task.json")
    options = ("-t", tmp_path / "task.json", "--rank", RANK, "--sample", tmp_path / "public.npy")
    for name, stated in [("wave.json", None), ("stated.json", 0.15)]:
        off = () if stated is None else ("--sample-error", stated)
        made = command("task", "refine", *options, "--records", RECORDS, *off, "-o", tmp_path / name, "--anyway")
        refined = task.refine(sample, RANK, records=RECORDS, sample_error=stated, anyway=True)
        assert Task.from_file(tmp_path / name) == refined
        predicted = sample.predict(RECORDS, RANK, sample_error=stated)
        assert predicted == {"waves": made["waves"], "otherwise": made["sample"]["otherwise"]}
        assert sample.records == made["sample"]["records"] == RECORDS
    wave = sums(refined, 7)
    wave.save(tmp_path / "wave")
    waves = ("--refined", tmp_path / "wave", "--refined-task", tmp_path / "stated.json")
    answer = command("recover", *options, *waves)
    found = recover(sample, RANK, refined=wave)
    assert found.refined == answer["refined"]
    np.testing.assert_array_equal(found.components, answer["components"])
    np.testing.assert_array_equal(found.eigenvalues, answer["eigenvalues"])
    assert (found.records, found.noise_edge) == (answer["records"], answer["noise_edge"])
    assert found.noise_deviation == answer["noise_deviation"]
    # The wave finds what the sample has wrong.
    before = RANK - np.sum(refined.refinement["directions"][:, :RANK] ** 2)
    assert error(found) < 0.3 * before
    assert 0.5 * before < found.refined["sample"]["error"] < 2 * before


def test_a_sample_is_read_as_records_of_the_task(first: Aggregate) -> None:
    task, records = first.task, people(6)
    names = {f"c{column + 1}": records[:, column] for column in range(16)}
    ours = PublicSample(task, records)
    assert ours.predict(RECORDS, RANK) == PublicSample(task, pa.table(names)).predict(RECORDS, RANK)
    assert ours.task == task
    assert repr(ours) == f"PublicSample(records={RECORDS}, task='{task.digest[:16]}…')"
    records[0, 0] = np.nan
    assert PublicSample(task, records).records == RECORDS
    with pytest.raises(ldp_pca.SchemaError, match="row 0: "):
        PublicSample(task, records[:, :3])


def test_what_has_no_second_wave_or_none_that_pays_is_refused(
    first: Aggregate, second: Aggregate, sample: PublicSample
) -> None:
    task, gaussian = first.task, Task(16, epsilon=4.0, mechanism="gaussian")
    other, beside = sums(Task(16, epsilon=3.0), 1), {"refined": second}
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        # The third component is noise.
        (lambda: task.refine(first, 3), PlanError, r"first wave leaves an error of .* \(anyway=True makes"),
        (lambda: task.refine(first, RANK, records=100), PlanError, r"one wave of everybody would be .* \(anyway=True"),
        (lambda: task.refine(first, RANK, records=0), PlanError, "records is 0"),
        (lambda: gaussian.refine(sums(gaussian, 1), RANK, anyway=True), PlanError, "double-cap without centring"),
        (lambda: Task(16, epsilon=4.0, mechanism="signed-cap"), TaskError, "'signed-cap' is not a mechanism"),
        (lambda: recover(first, RANK, refined=first), RecoveryError, "not a second wave's"),
        (lambda: recover(other, RANK, **beside), TaskError, "refinement is of task"),
        # Of the same task, but not those that the second wave's was made from.
        (lambda: recover(sums(task, 4), RANK, **beside), RecoveryError, "directions of the second wave are not"),
        (lambda: recover(first, RANK, select=0.1, time_limit=5.0, **beside), RecoveryError, "^select and time_limit b"),
        (lambda: recover(first, RANK, method="pca", **beside), RecoveryError, "^method beside refined"),
        (lambda: recover(first, "auto", sparse=True, **beside), RecoveryError, "^rank='auto' and sparse beside"),
        (lambda: recover(sample, RANK), RecoveryError, "nobody's reports are in a public sample"),
        (lambda: PublicSample(second.task, people(6)), TaskError, "is a refinement itself|centring"),
        (lambda: task.refine(sample, RANK), PlanError, "a sample needs records"),
        (lambda: task.refine(first, RANK, sample_error=0.1), PlanError, "sample_error is of a PublicSample"),
        (lambda: task.refine(sample, RANK, records=RECORDS, sample_error=0.9), PlanError, "sample is off by"),
        (lambda: other.task.refine(sample, RANK, records=9), RecoveryError, "stands for the people of task"),
        (lambda: task.refine(people(6), RANK), TypeError, "PublicSample"),
        (lambda: plan(**PLAN, epsilon=2.0, waves=2), PlanError, "waves=2 needs records"),
    ]
    for refused, error, words in cases:
        with pytest.raises(error, match=words):
            refused()
    assert task.refine(first, 3, anyway=True).campaign == task.digest
    with pytest.raises(RecoveryError, match=r"must be above 0 and below 1\.75"):
        task.refine(sample, RANK, records=RECORDS, sample_error=1.75)
    with pytest.raises(PlanError, match="double-cap without centring"):
        plan(**PLAN, epsilon=2.0, records=1000, waves=2, centring=True)


def test_plans_of_two_waves_are_the_command_lines(command, first: Aggregate) -> None:
    words = ["--dimension", 40, "--rank", 3, "--spectrum", "0.48,0.215,0.13,0.067", "--waves", 2]
    for epsilon, records in [(2.0, 100_000), (1.0, 5000)]:
        answer = command("plan", *words, "--epsilon", epsilon, "--records", records)
        found = plan(**PLAN, epsilon=epsilon, records=records, waves=2)
        assert found.waves == answer["waves"]
        assert ("refused" in found.waves) == (records == 5000)
        assert ("one wave: the first wave leaves an error of" in repr(found)) == (records == 5000)
    assert plan(**PLAN, epsilon=2.0, records=5000).waves is None
    assert plan(first, rank=RANK, records=10_000, waves=2).waves is not None
    json.dumps(found.waves)
