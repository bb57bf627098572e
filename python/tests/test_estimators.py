"""The estimators, by scikit-learn's own checks and by what they estimate."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import ldp_pca
from ldp_pca import LocalPCA, LocalSparsePCA, Randomizer, RecoveryError, Task, recover
from ldp_pca._recovery import _warn_of_noise

KINDS = (LocalPCA, LocalSparsePCA)
OPTIONS: dict[str, Any] = {"epsilon": 4.0, "radius": 7.0, "random_state": 1}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"n_components": 1, "radius": None},
    {"n_components": None},
    {"n_components": 0.5},
    {"n_components": "auto"},
    {"whiten": True},
    {"centring": False},
    {"mechanism": "gaussian", "delta": 1e-5},
    {"folds": 5, "n_jobs": 2},
]
ESTIMATORS = [kind(**setting) for kind in KINDS for setting in SETTINGS] + [LocalSparsePCA(1, penalty=0.01)]


# No check is expected to fail. (They set random_state: without it two fits differ, as they must.)
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_object_to(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(20_000, 6)) * [2, 1, 0.1, 0.1, 0.1, 0.1] + [1, 0, 0, 0, 0, -1]


@pytest.mark.parametrize("centring", [True, False])
def test_it_comes_near_the_components_without_privacy(rows: np.ndarray, centring: bool) -> None:
    # In 40 seeds the largest errors are 0.04 about the origin, where the second component is hard to tell from the
    # third.
    ours = LocalPCA(2, epsilon=8.0, radius=5.0, centring=centring, random_state=1).fit(rows)
    theirs = PCA(2).fit(rows)
    if centring:
        np.testing.assert_allclose(ours.mean_, rows.mean(axis=0), atol=0.15)
        np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=0.2)
        expected = theirs.components_
    else:
        assert not ours.mean_.any()
        expected = np.linalg.eigh(rows.T @ rows)[1][:, -2:].T
    assert 2 - np.linalg.norm(ours.components_ @ expected.T) ** 2 < 0.1
    assert ours.explained_variance_.min() > ours.noise_edge_
    assert (ours.n_components_, ours.n_samples_, ours.n_features_in_) == (2, 20_000, 6)
    # The ratios are of the trace, or of what the components hold where the noise leaves the trace less than that.
    total = max(ours.get_covariance().trace(), ours.explained_variance_.sum())
    # About the origin the trace comes from what the reports say of the records' lengths.
    np.testing.assert_allclose(total * ours.explained_variance_ratio_, ours.explained_variance_, rtol=1e-3)


def test_a_seed_is_the_sum_of_the_same_reports_in_any_threads_batches_and_fits(rows, monkeypatch) -> None:
    monkeypatch.setattr("ldp_pca.estimators._BATCH_BYTES", 35 * 1000)
    batched = LocalPCA(epsilon=2.0, random_state=5, n_jobs=2).fit(rows)
    monkeypatch.undo()
    whole = LocalPCA(epsilon=2.0, random_state=5).fit(rows)
    parts = LocalPCA(epsilon=2.0, random_state=5)
    for first in range(0, 20_000, 5_000):
        parts.partial_fit(rows[first : first + 5_000])
    assert batched.aggregate_ == whole.aggregate_ == parts.aggregate_
    parts.epsilon = 4.0
    with pytest.raises(ldp_pca.TaskError, match="others than those of the first fit"):
        parts.partial_fit(rows)
    assert LocalPCA(epsilon=2.0, random_state=6).fit(rows).aggregate_ != whole.aggregate_
    drawn = [LocalPCA(random_state=np.random.default_rng(seed)).fit(rows).aggregate_ for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    private = [LocalPCA(epsilon=2.0, n_jobs=-1).fit(rows).aggregate_ for _ in range(2)]
    assert private[0] != private[1]


def test_sparse_components_live_on_few_features_and_have_the_names_of_the_table(rows: np.ndarray) -> None:
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    sparse = LocalSparsePCA(2, epsilon=4.0, radius=5.0, centring=False, penalty=0.2, random_state=1).fit(frame)
    assert sparse.support_.tolist() == [True, True, False, False, False, True]
    assert (sparse.components_[:, ~sparse.support_] == 0).all()
    assert sparse.relative_gap_ <= 1e-3
    assert sparse.penalty_ == 0.2
    assert sparse.recovery_.support == ["a", "b", "f"]
    assert sparse.task_.feature_names == list("abcdef")
    assert sparse.recovery_.to_frame().loc["c"].tolist() == [0.0, 0.0]
    # A name that no task has.
    odd = frame.rename(columns={"a": ""})
    assert LocalPCA(radius=5.0, random_state=1).fit(odd).task_.feature_names[0] == "c1"


@pytest.mark.parametrize("kind", [LocalPCA, LocalSparsePCA])
def test_collected_reports_are_fitted_as_they_are(rows: np.ndarray, kind: Any) -> None:
    task = Task(list("abcdef"), epsilon=2.0, bounding=7.0)
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(rows, insecure_seed=1), task)
    fitted = kind.from_aggregate(aggregate, 2)
    expected = recover(aggregate, 2, **({"sparse": True} if kind is LocalSparsePCA else {"method": "pca"}))
    assert np.array_equal(fitted.components_, expected.components)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    assert fitted.transform(frame).shape == (20_000, 2)
    with pytest.raises(ldp_pca.SchemaError, match="a"):
        fitted.transform(frame.rename(columns={"a": "z"}))
    assert (fitted.epsilon, fitted.radius, fitted.folds, fitted.centring) == (2.0, 7.0, task.folds, False)
    assert fitted.guarantee_ == "none: seeded (insecure_seed)"
    written = ldp_pca.Aggregate.from_bytes(aggregate.to_bytes(), task)
    assert kind.from_aggregate(written, 2).guarantee_ == task.guarantee
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(frame), fitted.transform(frame))
    assert again.aggregate_ == aggregate


def test_parameters_that_make_no_sense_are_refused(rows: np.ndarray) -> None:
    for parameters, error, words in [
        ({"n_components": 7}, RecoveryError, "n_components=7 is not between 1 and n_features=6"),
        ({"n_components": 1.5}, RecoveryError, "n_components=1.5 is no share"),
        ({"n_components": "all"}, RecoveryError, "n_components='all'"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"radius": -1.0}, ValueError, "radius"),
    ]:
        with pytest.raises(error, match=words):
            LocalPCA(**parameters).fit(rows)


SCHEMA = {
    "columns": [
        {"name": "age", "type": "numeric", "offset": 50.0, "scale": 40.0},
        {"name": "plan", "type": "categorical", "values": ["free", "paid", "other"], "unseen": "other"},
        {"name": "note", "type": "ignored"},
        {"name": "spent", "type": "numeric", "offset": 0.0, "scale": 200.0},
    ]
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    age = rng.normal(50.0, 20.0, 3000)
    plans = rng.choice(["free", "paid", "trial"], 3000, p=[0.5, 0.4, 0.1])
    spent = 2.0 * age + rng.normal(0.0, 30.0, 3000) + 60.0 * (plans == "paid")
    return pd.DataFrame({"spent": spent, "plan": plans, "age": age, "note": "-"})


def features_of(people: pd.DataFrame) -> np.ndarray:
    """The features as the task defines them."""
    plans = [(people["plan"] == value).to_numpy(float) for value in ("free", "paid")]
    other = (~people["plan"].isin(["free", "paid"])).to_numpy(float)
    return np.column_stack([(people["age"] - 50.0) / 40.0, *plans, other, people["spent"] / 200.0])


@pytest.mark.parametrize("bounding", ["unit-norm", 1.0])
def test_records_of_a_schema_are_encoded_as_their_reports_were(people: pd.DataFrame, bounding: Any) -> None:
    task = Task(SCHEMA, epsilon=4.0, bounding=bounding, folds=2)
    features = features_of(people)
    np.testing.assert_allclose(task.encode(people), features, rtol=0, atol=1e-12)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    bounded = features / (norms if bounding == "unit-norm" else np.maximum(norms, 1.0))
    np.testing.assert_allclose(task.encode(people, bounded=True), bounded, rtol=0, atol=1e-6)
    missing = people.head(3).assign(age=np.nan, plan=None)
    assert not task.encode(missing)[:, :4].any()
    assert task.encode([{"age": 90.0, "plan": "paid", "note": None, "spent": 100.0}]).tolist() == [[1, 0, 1, 0, 0.5]]
    assert task.encode(people.head(0)).shape == (0, 5)
    with pytest.raises(ldp_pca.RecordError, match=r"row 0: .*age") as refused:
        task.encode([{"age": "elderly", "plan": "paid", "note": None, "spent": 1.0}], strict=True)
    assert "elderly" not in str(refused.value)

    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(people, insecure_seed=1), task)
    fitted = LocalPCA.from_aggregate(aggregate, 2)
    rows = bounded if bounding == "unit-norm" else features
    np.testing.assert_allclose(fitted.transform(people), rows @ fitted.components_.T, rtol=0, atol=1e-6)
    assert fitted.feature_names_in_.tolist() == ["age", "plan", "note", "spent"]
    share = np.sum((rows @ fitted.components_.T) ** 2) / np.sum(rows**2)
    assert fitted.score(people) == pytest.approx(share)


@pytest.mark.parametrize("options", [{"bounding": "unit-norm"}, {"bounding": 1.0, "centring": True}])
def test_published_components_give_what_the_fit_gives(people: pd.DataFrame, tmp_path: Path, options: Any) -> None:
    task = Task(SCHEMA, epsilon=4.0, folds=2, **options)
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(people, insecure_seed=1), task)
    fitted = LocalPCA.from_aggregate(aggregate, 2)
    text = fitted.recovery_.to_json()
    published = LocalPCA.from_components(text)
    np.testing.assert_array_equal(published.transform(people), fitted.transform(people))
    for name in ("components", "explained_variance", "explained_variance_ratio", "singular_values", "noise_variance"):
        np.testing.assert_allclose(getattr(published, f"{name}_"), getattr(fitted, f"{name}_"), rtol=1e-9, err_msg=name)
    for name in ("noise_edge_", "n_components_", "n_samples_", "n_features_in_", "radius", "n_components"):
        assert getattr(published, name) == getattr(fitted, name), name
    assert published.feature_names_in_.tolist() == ["age", "plan", "note", "spent"]
    assert published.score(people) == fitted.score(people)
    path = tmp_path / "components.json"
    path.write_text(text, "utf-8")
    again = pickle.loads(pickle.dumps(LocalPCA.from_components(path)))
    came, expected = (model.inverse_transform(model.transform(people)) for model in (again, fitted))
    pd.testing.assert_frame_equal(pd.DataFrame(came), pd.DataFrame(expected))
    with pytest.raises(RecoveryError, match="without the covariance"):
        published.get_covariance()
    with pytest.raises(RecoveryError, match="'feature_names' are not those of the schema"):
        LocalPCA.from_components(text.replace('"age"', '"years"', 1))
    assert published.fit(features_of(people)).get_covariance().shape == (5, 5)


def test_scores_are_those_of_the_vectors() -> None:
    vectors = Path(__file__).parents[2] / "tests" / "vectors" / "components" / "scores.json"
    for case in json.loads(vectors.read_text("utf-8"))["cases"]:
        published = LocalPCA.from_components(case["text"])
        for vector in case["records"]:
            scores = published.transform([vector["record"]])[0]
            most = 1e-12 * max(1.0, *map(abs, vector["scores"]))
            np.testing.assert_allclose(scores, vector["scores"], rtol=0, atol=most, err_msg=case["name"])


def test_a_first_component_that_may_be_the_mean_is_announced() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal([5.0, 3.0, 4.0, 2.0, 6.0, 3.0], size=(20_000, 6))
    about_zero = LocalPCA(2, epsilon=4.0, radius=12.0, centring=False, random_state=1).fit(rows)
    words = "has loadings of one sign and holds"
    shown = [repr(about_zero), repr(about_zero.recovery_), about_zero.recovery_._repr_html_()]
    shown.append(about_zero._repr_mimebundle_()["text/html"])
    assert all(words in text and "it may be the mean" in text for text in shown)
    # Then more reports are not the first remedy.
    beside_noise = replace(about_zero.recovery_, variances=np.array([50.0, np.nan]))
    with pytest.warns(ldp_pca.NoiseWarning, match=r"component 2 of 2 .* its offset in the schema .* centring=True"):
        _warn_of_noise(beside_noise)
    # Where the mean is estimated, and on data about zero.
    about_mean = LocalPCA(2, epsilon=4.0, radius=12.0, random_state=1).fit(rows)
    signed = rng.normal(size=(20_000, 6)) + 1.5 * rng.normal(size=(20_000, 1)) * [1, -1, 1, -1, 1, -1]
    centred = LocalPCA(2, epsilon=4.0, radius=12.0, centring=False, random_state=1).fit(signed)
    for quiet in (about_mean, centred):
        assert quiet.recovery_.notice is None
        assert "may be the mean" not in repr(quiet) + repr(quiet.recovery_) + quiet.recovery_._repr_html_()
    assert "may be the mean" not in repr(LocalPCA())


def test_the_same_warning_of_many_batches_is_given_once() -> None:
    rows = np.random.default_rng(3).normal(size=(1000, 5)) * 3
    estimator = LocalPCA(2, epsilon=0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in np.split(rows, 20):
            estimator.partial_fit(batch)
    assert sorted(found.category.__name__ for found in caught) == ["BoundingWarning", "NoiseWarning"]
    assert {found.filename for found in caught} == {__file__}
    # A fit begins anew.
    with pytest.warns(ldp_pca.BoundingWarning):
        estimator.fit(rows)


def test_projections_come_back_in_the_units_of_the_columns(people: pd.DataFrame) -> None:
    task = Task(SCHEMA, epsilon=4.0, bounding=8.0, centring=True)
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(people, insecure_seed=1), task)
    fitted = LocalPCA.from_aggregate(aggregate, None)
    assert fitted.noise_variance_ == 0.0
    back = fitted.inverse_transform(fitted.transform(people))
    np.testing.assert_allclose(back[:, 0].astype(float), people["age"], atol=1e-9)
    np.testing.assert_allclose(back[:, 3].astype(float), people["spent"], atol=1e-9)
    assert back[:, 1].tolist() == people["plan"].replace("trial", "other").tolist()
    assert np.isnan(back[:, 2].astype(float)).all()
    with pytest.raises(ValueError, match="matmul"):
        fitted.inverse_transform(np.ones((2, 9)))


def test_components_of_noise_are_told_with_what_to_do() -> None:
    rng = np.random.default_rng(1)
    few = rng.normal(size=(200, 10)) * 0.2
    for estimator in (LocalPCA(2, random_state=1), LocalSparsePCA(2, random_state=1)):
        with pytest.warns(ldp_pca.NoiseWarning, match=r"components 1 and 2 of 2 cannot be .* collect more reports"):
            estimator.fit(few)
        assert estimator.recovery_.noise == [0, 1]
        assert "noise='components 1 and 2'" in repr(estimator.recovery_)
        assert "noise" in estimator.recovery_._repr_html_()
        assert not estimator.explained_variance_[0] > estimator.noise_edge_
    strong = rng.normal(size=(20_000, 4)) * [2.0, 0.1, 0.1, 0.1] / 4
    with warnings.catch_warnings():
        warnings.simplefilter("error", ldp_pca.NoiseWarning)
        assert LocalPCA(1, epsilon=4.0, random_state=1).fit(strong).recovery_.noise == []


def test_a_radius_that_shortens_many_rows_is_told() -> None:
    rows = np.random.default_rng(1).normal(size=(500, 5)) * 300.0
    with pytest.warns(ldp_pca.BoundingWarning, match=r"100% of the rows .* radius=1 .* 1000 leaves 95 %"):
        LocalPCA(1, random_state=1).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ldp_pca.BoundingWarning)
        LocalPCA(1, radius=1000.0, random_state=1).fit(rows)
        LocalPCA(1, radius=None, random_state=1).fit(rows)


def test_a_seeded_fit_has_no_guarantee(rows: np.ndarray) -> None:
    with pytest.warns(ldp_pca.SeededWarning, match="not private") as told:
        seeded = LocalPCA(epsilon=2.0, random_state=0).fit(rows)
    with pytest.warns(ldp_pca.SeededWarning) as also:
        LocalSparsePCA(2, random_state=0).fit_transform(rows[:100])
    assert {warning.filename for warning in [*told, *also]} == {__file__}, "the caller's"
    assert seeded.guarantee_.startswith("none: seeded")
    seeded.random_state = None
    assert seeded.partial_fit(rows).guarantee_.startswith("none: seeded"), "of the reports before"
    with warnings.catch_warnings():
        warnings.simplefilter("error", ldp_pca.SeededWarning)
        assert LocalPCA(epsilon=2.0).fit(rows).guarantee_.startswith("(2, 0)-local differential privacy")


def test_a_budget_counts_fits_and_refuses_what_exceeds_it(rows: np.ndarray) -> None:
    with ldp_pca.budget(epsilon=8.0) as whole, ldp_pca.budget(epsilon=5.0, delta=1e-5) as inner:
        LocalPCA(epsilon=4.0).fit(rows)
        with pytest.raises(ldp_pca.BudgetError, match="exceed what is left of the budget, epsilon=1 and"):
            LocalPCA(epsilon=4.0).fit(rows)
        # What one refuses is booked in none, and nothing of a Gaussian report in one without delta.
        assert (whole.spent, inner.spent) == ((4.0, 0.0), (4.0, 0.0))
        with pytest.raises(ldp_pca.BudgetError, match="delta=1e-06"):
            LocalPCA(epsilon=0.5, mechanism="gaussian").fit(rows)
        assert whole.remaining == (4.0, 0.0)
        for _ in range(10):
            whole.spend(0.1)
        with pytest.raises(ldp_pca.BudgetError):
            whole.spend(3.0)
    assert LocalPCA(epsilon=4.0).fit(rows).n_samples_ == 20_000
    thirds = ldp_pca.Budget(1.0)
    for _ in range(3):
        thirds.spend(0.1)
    # The sum of the three floats is a little more than 0.3, and no float.
    assert Fraction(thirds.spent[0]) >= 3 * Fraction(0.1)
    assert Fraction(thirds.remaining[0]) <= 1 - 3 * Fraction(0.1)
    assert f"spent=({thirds.spent[0]!r}, 0)" in repr(thirds)
    assert repr(inner) == "Budget(epsilon=5, delta=1e-05, spent=(4, 0))"


@pytest.mark.parametrize("amount", [-4.0, 0.0, float("inf"), float("nan"), "4", None, 10**400])
def test_an_amount_that_is_none_is_refused_by_its_name(amount: Any) -> None:
    spent = ldp_pca.Budget(8.0, 1e-5)
    for refused in (ldp_pca.Budget, spent.check, spent.spend):
        with pytest.raises(ldp_pca.BudgetError, match=r"^epsilon is .*: give a finite number above 0"):
            refused(amount)
        if amount != 0.0:
            with pytest.raises(ldp_pca.BudgetError, match=r"^delta is .*: give a finite number of at least 0"):
                refused(1.0, amount)
    assert spent.spent == (0.0, 0.0)
    with pytest.raises(ldp_pca.BudgetError, match="delta is 1: give a number below 1"):
        ldp_pca.Budget(1.0, 1)


@pytest.mark.parametrize("amount", [Fraction(1, 3), Decimal("0.3"), np.longdouble(1) / 3, np.float32(0.3), np.int64(3)])
def test_an_amount_of_any_type_is_not_rounded_down(amount: Any) -> None:
    exact = Fraction(amount) if isinstance(amount, np.int64) else Fraction(*amount.as_integer_ratio())
    spent = ldp_pca.Budget(4)
    spent.spend(amount)
    assert Fraction(spent.spent[0]) >= exact
    assert Fraction(spent.remaining[0]) <= 4 - exact
    with pytest.raises(ldp_pca.BudgetError, match=r"^epsilon=[\d.]+ and delta=0 exceed what is left of the budget"):
        spent.check(amount + 4)
    whole = ldp_pca.Budget(amount)
    whole.spend(amount)
    assert whole.remaining == (0.0, 0.0)


def test_a_budget_counts_the_fits_of_every_thread(rows: np.ndarray) -> None:
    with ldp_pca.budget(epsilon=100.0) as spent, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: LocalPCA(epsilon=1.0).fit(rows[:50]), range(8)))
        list(threads.map(lambda _: spent.spend(0.5), range(100)))
    assert spent.spent == (58.0, 0.0)
    tight = ldp_pca.Budget(2.0)
    with ThreadPoolExecutor(8) as threads:
        booked = [threads.submit(tight.spend, 1.0) for _ in range(8)]
    assert sum(one.exception() is None for one in booked) == 2


FORK_WHILE_COUNTING = """
import os, signal, sys, threading
from ldp_pca import Budget, _budget
held, done = threading.Event(), threading.Event()
def count():
    with _budget._lock:
        held.set()
        done.wait()
threading.Thread(target=count).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    Budget(1.0).spend(1.0)
    os._exit(0)
done.set()
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_budget_counts_in_a_fork_whatever_threads_held() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK_WHILE_COUNTING], check=True)


def test_a_fit_in_another_process_is_refused_where_a_budget_would_not_see_it(rows: np.ndarray) -> None:
    code = "import contextlib, ldp_pca, pickle, sys; m, X = pickle.load(sys.stdin.buffer)\nwith {}: clone(m).fit(X)"

    def fitted_elsewhere(model: LocalPCA, block: str = "contextlib.nullcontext()") -> str:
        sent = pickle.dumps((model, rows[:50]))
        command = [sys.executable, "-W", "ignore", "-c", f"from sklearn.base import clone; {code.format(block)}"]
        done = subprocess.run(command, input=sent, capture_output=True, check=False)
        return done.stderr.decode()

    with ldp_pca.budget(epsilon=8.0) as spent:
        refused = fitted_elsewhere(LocalPCA())
        assert "BudgetError: a budget counts in the process that opened it" in refused
        assert "or open a budget in this process" in refused
        # One of its own counts there in place of this one.
        assert fitted_elsewhere(LocalPCA(), "ldp_pca.budget(1)") == ""
        assert "exceed what is left" in fitted_elsewhere(LocalPCA(epsilon=2.0), "ldp_pca.budget(1)")
        for same in (clone(LocalPCA(epsilon=2.0)), pickle.loads(pickle.dumps(LocalPCA(epsilon=2.0)))):
            same.fit(rows[:50])
        assert (copy(spent), deepcopy(spent), spent.spent) == (spent, spent, (4.0, 0.0))
        with pytest.raises(ldp_pca.BudgetError, match="nor in a file"):
            pickle.dumps(spent)
    assert fitted_elsewhere(LocalPCA()) == ""


def test_a_sparse_matrix_is_its_rows(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = np.where(np.abs(rows[:1000]) < 1, 0.0, rows[:1000])
    dense = LocalPCA(2, **OPTIONS).fit(zeros)
    monkeypatch.setattr("ldp_pca.estimators._BATCH", 300)
    for form in (scipy.sparse.csr_array(zeros), scipy.sparse.csc_matrix(zeros), scipy.sparse.coo_array(zeros)):
        model = LocalPCA(2, **OPTIONS).fit(form)
        assert model.aggregate_ == dense.aggregate_
        np.testing.assert_allclose(model.transform(form), dense.transform(zeros), atol=1e-12)
        assert model.score(form) == pytest.approx(dense.score(zeros))
        collected = LocalPCA.from_aggregate(dense.aggregate_, 2)
        np.testing.assert_allclose(collected.transform(form), dense.transform(zeros), atol=1e-12)
        with pytest.raises(ldp_pca.RecordError, match=r"records are dense, and this is .*: give its rows in parts"):
            Randomizer(dense.task_).randomize(form)


DAYS = pd.date_range("2024-01-01", periods=3)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (pd.DataFrame({"a": [1.0, 2, 3], "day": DAYS}), ValueError, "column 'day' holds datetime64.*: give numbers"),
        (pd.DataFrame({"took": DAYS - DAYS[0]}), ValueError, "column 'took' holds timedelta64"),
        (pd.DataFrame({"month": DAYS.to_period("M")}), ValueError, "column 'month' holds period"),
        (pl.DataFrame({"a": [1.0, 2, 3], "day": DAYS.to_numpy()}), ValueError, "column 'day' holds Datetime: give"),
        (pa.table({"a": [1.0, 2, 3], "day": pa.array(DAYS)}), ValueError, "column 'day' holds timestamp"),
        (DAYS.to_numpy()[:, None], ValueError, "the array holds datetime64"),
        (DAYS.to_pydatetime()[:, None], TypeError, "row 0: position 1 holds datetime: give a number"),
        (pd.DataFrame({"a": [1.0, 2, 3], "b": ["x", "y", "z"]}), ValueError, "column 'b' of type .*give numbers"),
        (pl.DataFrame({"a": [1.0, 2, 3], "b": ["x", "y", "z"]}), ValueError, "column 'b' of type String"),
        (pl.DataFrame({"a": [1.0, 2], "b": [{"x": 1}] * 2}), ldp_pca.RecordError, "column 'b' of type Struct"),
        ([[1.0, 2.0], [3.0, "x"]], ValueError, "row 1: position 2 holds str"),
        ([[1.0, 2.0], [3.0]], ldp_pca.RecordError, "row 1: the record has 1 values"),
        (scipy.sparse.csr_array(np.eye(3) * 1j), ValueError, r"a sparse matrix of complex128\): give numbers"),
        ({"a": [1.0, 2, 3]}, ValueError, "this is a mapping: pandas.DataFrame"),
    ],
)
def test_what_is_no_number_is_refused_with_its_column(rows: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LocalPCA(1).fit(rows)


def test_the_index_of_a_frame_is_no_column_of_its_table(rows: np.ndarray) -> None:
    frame = pd.DataFrame(rows[:500], columns=list("abcdef"), index=np.arange(500) * 2)
    named = frame.rename_axis("person")
    fitted = LocalPCA(2, **OPTIONS).fit(frame)
    reports = Randomizer(fitted.task_).randomize(frame, insecure_seed=1)
    for table in (pa.Table.from_pandas(frame), pa.Table.from_pandas(named), pa.RecordBatch.from_pandas(named)):
        assert table.num_columns == 7
        assert Randomizer(fitted.task_).randomize(table, insecure_seed=1) == reports
        assert [column["name"] for column in ldp_pca.infer_schema(table)["columns"]] == list("abcdef")
    assert Randomizer(fitted.task_).randomize(table_reader(named), insecure_seed=1) == reports
    # One that the task names is a column of it.
    indexed = frame.set_index("a")
    for table in (pa.Table.from_pandas(indexed), table_reader(indexed)):
        assert Randomizer(fitted.task_).randomize(table, insecure_seed=1) == reports
    again = LocalPCA(2, **OPTIONS).fit(pa.Table.from_pandas(named))
    assert (list(again.feature_names_in_), again.aggregate_) == (list("abcdef"), fitted.aggregate_)


def table_reader(frame: pd.DataFrame) -> pa.RecordBatchReader:
    return pa.Table.from_pandas(frame).to_reader()


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_of_other_packages_point_to_those_here(kind: Any) -> None:
    for name, words in [
        ("data_norm", "radius is the largest norm"),
        ("centered", "centring=False takes the rows to be centred"),
        ("accountant", "ldp_pca.budget"),
    ]:
        with pytest.raises(TypeError, match=f"^{kind.__name__} has no parameter '{name}': .*{words}"):
            kind(**{name: 1.0})
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        kind(other=1.0)


@pytest.mark.sampling
def test_the_number_of_components_may_be_left_to_the_reports(rows: np.ndarray) -> None:
    options = {"epsilon": 8.0, "radius": 7.0, "random_state": 1}
    assert LocalPCA(None, **options).fit(rows).n_components_ == 6
    assert LocalPCA("auto", **options).fit(rows).n_components_ == 2
    ratios = LocalPCA(6, **options).fit(rows).explained_variance_ratio_
    assert LocalPCA(float(ratios[0]) - 0.01, **options).fit(rows).n_components_ == 1
    assert LocalPCA(float(ratios[:2].sum()) - 0.01, **options).fit(rows).n_components_ == 2
    # Before any work.
    with pytest.raises(RecoveryError, match="n_components=7"):
        LocalPCA(7, epsilon=-1.0).fit(rows)


@pytest.mark.sampling
def test_variances_are_those_of_scikit_learn_and_whitened_projections_have_the_variance_1(rows: np.ndarray) -> None:
    white = LocalPCA(2, epsilon=8.0, radius=7.0, whiten=True, random_state=1).fit(rows)
    np.testing.assert_allclose(white.transform(rows).var(axis=0), [1.0, 1.0], rtol=0.2)
    plain = LocalPCA(2, epsilon=8.0, radius=7.0, random_state=1).fit(rows)
    np.testing.assert_allclose(plain.singular_values_, PCA(2).fit(rows).singular_values_, rtol=0.1)
    # Four variances of 0.01, beside an edge of the noise of some 0.5.
    assert np.isnan(plain.noise_variance_) or plain.noise_variance_ < plain.noise_edge_
    np.testing.assert_allclose(
        white.inverse_transform(white.transform(rows)), plain.inverse_transform(plain.transform(rows)), atol=1e-9
    )
    noise = LocalPCA(2, epsilon=1.0, whiten=True, random_state=1).fit(rows[:100] / 10)
    assert noise.recovery_.noise == [0, 1]
    assert not noise.transform(rows[:5]).any()
    np.testing.assert_array_equal(noise.inverse_transform(noise.transform(rows[:5])), np.tile(noise.mean_, (5, 1)))


def test_a_recovery_is_shown(rows: np.ndarray) -> None:
    task = Task(["a<b", *"bcdef"], epsilon=4.0, bounding=7.0)
    aggregate = ldp_pca.aggregate(Randomizer(task).randomize(rows, insecure_seed=1), task)
    found = recover(aggregate, 2, method="pca", bootstrap=200)
    frame = found.to_frame()
    assert frame.shape == (6, 4)
    assert np.array_equal(frame["component 1"], found.components[0])
    picture = found.plot()
    assert [len(axes.get_lines()) > 0 for axes in picture.axes] == [True, True]
    # What a notebook shows, also where pyplot was never imported.
    assert picture._repr_png_().startswith(b"\x89PNG")
    model = LocalPCA.from_aggregate(aggregate, 2)
    assert len(found.plot(scores=model.transform(rows[:50])).axes) == 3
    with pytest.raises(RecoveryError, match=r"the scores have the shape \(50, 6\): give \(n, 2\)"):
        found.plot(scores=rows[:50])
    # In axes of one's own: each panel in one, or all in the place of one.
    figure = Figure()
    rows_of_axes = figure.subplots(2, 2)
    assert found.plot(ax=rows_of_axes[0]) is figure
    labels = ["component", "loading, with two root mean squared errors"]
    assert [axes.get_xlabel() for axes in rows_of_axes[0]] == labels
    assert found.plot(ax=rows_of_axes[1, 0], scores=model.transform(rows[:50])) is figure
    assert len(figure.axes) == 7
    with pytest.raises(ValueError, match=r"ax has 1 axes for 2 panels: give those of plt.subplots\(1, 2\)"):
        found.plot(ax=Figure().add_axes((0.1, 0.1, 0.8, 0.8)))
    assert "a&lt;b" in found._repr_html_()
    assert repr(found.confidence).startswith("Confidence(95%: ")
    plan = ldp_pca.plan(dimension=5, spectrum=[0.5, 0.2], rank=2, epsilon=0.1, records=100, target=1e-6)
    assert plan.epsilon_for_target is None
    assert any("at no epsilon up to 16" in reason for reason in plan.reasons)
    assert "at no epsilon" in repr(plan)
    curve = ldp_pca.plan(dimension=5, spectrum=[0.5, 0.2], rank=2, epsilon=4.0, records=100, target=0.1).plot()
    counts, shares = curve.axes[0].get_lines()[0].get_data()
    assert counts[0] < 100 < counts[-1]
    assert shares[0] < 0.9 < shares[-1]
    part = Figure().subfigures(1, 2)[0]
    assert ldp_pca.plan(dimension=5, spectrum=[0.5], rank=1, epsilon=4.0, records=9).plot(ax=part.subplots()).axes
    with pytest.raises(ldp_pca.PlanError, match="nothing to draw"):
        ldp_pca.plan(dimension=5, spectrum=[0.2], rank=1, epsilon=4.0).plot()


def test_without_scikit_learn_the_remedy_is_named() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import ldp_pca; ldp_pca.recover; ldp_pca.LocalPCA"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    remedy = "ImportError: the estimators need scikit-learn 1.6 or later: pip install 'ldp-pca[sklearn]'"
    assert done.stderr.endswith(f"{remedy}\n")


def test_where_nothing_stands_out_there_is_one_component_and_a_word(rows: np.ndarray) -> None:
    for wanted, words in (("auto", "no component stands out"), (0.5, "explain 0.000 of the variance, not 0.5")):
        with pytest.warns(ldp_pca.NoiseWarning, match=words):
            model = LocalPCA(wanted, epsilon=0.1, radius=7.0, random_state=1).fit(rows[:50])
        assert (model.n_components_, model.recovery_.noise) == (1, [0])
        with pytest.raises(RecoveryError, match="no component stands out"):
            recover(model.aggregate_, "auto")


def test_a_lazy_frame_is_read(rows: np.ndarray) -> None:
    frame = pl.DataFrame(rows[:500], schema=list("abcdef"))
    lazy, eager = (LocalPCA(2, **OPTIONS).fit(form) for form in (frame.lazy(), frame))
    assert np.array_equal(lazy.components_, eager.components_)
    assert list(lazy.feature_names_in_) == list("abcdef")
    reports = Randomizer(eager.task_).randomize(frame, insecure_seed=1)
    held = pl.DataFrame({"report": list(reports)})
    assert ldp_pca.aggregate(held.lazy(), eager.task_) == ldp_pca.aggregate(reports, eager.task_)
