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


def test_a_second_wave_that_does_not_pay_is_refused(first: Aggregate) -> None:
    # The third component is noise.
    with pytest.raises(PlanError, match=r"first wave leaves an error of .* \(anyway=True makes the task all the same"):
        first.task.refine(first, 3)
    with pytest.raises(PlanError, match=r"one wave of everybody would be .* \(anyway=True"):
        first.task.refine(first, RANK, records=100)
    with pytest.raises(PlanError, match="records is 0"):
        first.task.refine(first, RANK, records=0)
    assert first.task.refine(first, 3, anyway=True).campaign == first.task.digest


def test_what_has_no_second_wave_is_refused(first: Aggregate, second: Aggregate) -> None:
    with pytest.raises(RecoveryError, match="sums are those of a refinement"):
        second.task.refine(second, RANK, anyway=True)
    gaussian = Task(16, epsilon=4.0, mechanism="gaussian")
    with pytest.raises(PlanError, match="double-cap without centring"):
        gaussian.refine(sums(gaussian, 1), RANK, anyway=True)
    with pytest.raises(TaskError, match="'signed-cap' is not a mechanism"):
        Task(16, epsilon=4.0, mechanism="signed-cap")


def test_waves_that_do_not_belong_together_are_refused(first: Aggregate, second: Aggregate) -> None:
    with pytest.raises(RecoveryError, match="not a second wave's"):
        recover(first, RANK, refined=first)
    other = sums(Task(16, epsilon=3.0), 1)
    with pytest.raises(TaskError, match="refinement is of task"):
        recover(other, RANK, refined=second)
    # Of the same task, but not those that the second wave's was made from.
    with pytest.raises(RecoveryError, match="directions of the second wave are not those"):
        recover(sums(first.task, 4), RANK, refined=second)
    beside: dict[str, Any] = {"sparse": True, "bootstrap": 200, "select": 0.1, "method": "pca", "time_limit": 5.0}
    for name, value in beside.items():
        with pytest.raises(RecoveryError, match=f"^{name} beside refined"):
            recover(first, RANK, refined=second, **{name: value})
    with pytest.raises(RecoveryError, match=r"^select and time_limit beside refined"):
        recover(first, RANK, refined=second, select=0.1, time_limit=5.0)
    with pytest.raises(RecoveryError, match="rank='auto' and sparse beside refined"):
        recover(first, "auto", refined=second, sparse=True)


ALONE: dict[str, Callable[[Aggregate], Any]] = {
    "recover": lambda sums: recover(sums, RANK),
    "of a tested rank": lambda sums: recover(sums, "auto"),
    "of sparse components": lambda sums: recover(sums, RANK, sparse=True),
    "with a selection": lambda sums: recover(sums, RANK, select=0.1),
    "covariance": ldp_pca.covariance,
    "of a fold": lambda sums: ldp_pca.covariance(sums, fold=0),
    "without noise": lambda sums: ldp_pca.covariance(sums, denoise="frobenius"),
    "plan": lambda sums: plan(sums, rank=RANK),
    "of two waves": lambda sums: plan(sums, rank=RANK, records=1000, waves=2),
    "predict": lambda sums: ldp_pca.predict(1000, sums, rank=RANK),
    "LocalPCA": ldp_pca.LocalPCA(RANK).fit_aggregate,
    "with a share": ldp_pca.LocalPCA(0.5).fit_aggregate,
    "with a rank": ldp_pca.LocalPCA("auto").fit_aggregate,
    "LocalSparsePCA": ldp_pca.LocalSparsePCA(RANK).fit_aggregate,
    "from_aggregate": ldp_pca.LocalPCA.from_aggregate,
}


@pytest.mark.parametrize("asked", ALONE.values(), ids=ALONE.keys())
def test_a_second_waves_sums_alone_give_no_second_moments(second: Aggregate, asked: Callable[[Aggregate], Any]) -> None:
    with pytest.raises(ldp_pca.LdpPcaError, match=r"sums are those of a refinement, .* give the sums of the first"):
        asked(second)


def test_a_second_waves_sums_are_merged_and_written_like_others(second: Aggregate, tmp_path: Path) -> None:
    rest = sums(second.task, 5)
    whole = second + rest
    assert whole.records == 2 * RECORDS
    assert whole == rest + second == Aggregate.from_bytes(whole.to_bytes(), second.task)
    reports = Randomizer(second.task).randomize(people(5), insecure_seed=5)
    (tmp_path / "reports").write_bytes(reports.to_bytes())
    assert ldp_pca.aggregate(tmp_path / "reports", second.task) == rest
    assert pickle.loads(pickle.dumps(rest)) == rest


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


def test_samples_that_no_wave_can_be_about_are_refused(first: Aggregate, sample: PublicSample) -> None:
    task = first.task
    with pytest.raises(PlanError, match="sample has no records"):
        PublicSample(task, np.zeros((0, 16)))
    for other in (task.refine(first, RANK), Task(16, epsilon=4.0, centring=True)):
        with pytest.raises(TaskError, match=r"is a refinement itself|centring"):
            PublicSample(other, people(6))
    with pytest.raises(PlanError, match="a sample needs records"):
        task.refine(sample, RANK)
    with pytest.raises(PlanError, match="sample_error is of a PublicSample"):
        task.refine(first, RANK, sample_error=0.1)
    with pytest.raises(PlanError, match="weakest component of the sample is off by"):
        task.refine(sample, RANK, records=RECORDS, sample_error=0.9)
    for odd in (0.0, -1.0, 1.75, float("nan")):
        with pytest.raises(RecoveryError, match=r"must be above 0 and below 1\.75"):
            task.refine(sample, RANK, records=RECORDS, sample_error=odd)
    with pytest.raises(RecoveryError, match="stands for the people of task"):
        Task(16, epsilon=3.0).refine(sample, RANK, records=RECORDS)
    with pytest.raises(RecoveryError, match="nobody's reports are in a public sample"):
        recover(sample, RANK)
    with pytest.raises(TypeError, match="PublicSample"):
        task.refine(people(6), RANK)  # type: ignore[arg-type]


def test_plans_of_two_waves_are_the_command_lines(command) -> None:
    words = ["--dimension", 40, "--rank", 3, "--spectrum", "0.48,0.215,0.13,0.067", "--waves", 2]
    for epsilon, records in [(2.0, 100_000), (1.0, 5000)]:
        answer = command("plan", *words, "--epsilon", epsilon, "--records", records)
        found = plan(**PLAN, epsilon=epsilon, records=records, waves=2)
        assert found.waves == answer["waves"]
        assert ("refused" in found.waves) == (records == 5000)
        assert ("one wave: the first wave leaves an error of" in repr(found)) == (records == 5000)
    assert plan(**PLAN, epsilon=2.0, records=5000).waves is None
    json.dumps(found.waves)


def test_plans_of_two_waves_are_of_people_and_double_cap(first: Aggregate) -> None:
    assert plan(first, rank=RANK, records=10_000, waves=2).waves is not None
    with pytest.raises(PlanError, match="waves=2 needs records"):
        plan(**PLAN, epsilon=2.0, waves=2)
    with pytest.raises(PlanError, match="waves is 3"):
        plan(**PLAN, epsilon=2.0, records=1000, waves=3)  # type: ignore[arg-type]
    for other in ({"mechanism": "gaussian"}, {"centring": True}):
        with pytest.raises(PlanError, match="double-cap without centring"):
            plan(**PLAN, epsilon=2.0, records=1000, waves=2, **other)
