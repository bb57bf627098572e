"""The estimators, by scikit-learn's own checks and by what they estimate."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ldp_pca import (
    Aggregate,
    LocalPCA,
    LocalSparsePCA,
    Randomizer,
    RecoveryError,
    Task,
    TaskError,
    recover,
)

ESTIMATORS = [LocalPCA(), LocalPCA(n_components=1, radius=None), LocalSparsePCA(), LocalSparsePCA(1, penalty=0.01)]


# No check is expected to fail. (They set random_state: without it two fits differ, as they must.)
@parametrize_with_checks([estimator for estimator in ESTIMATORS if estimator.radius is not None])
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
    np.testing.assert_allclose(ours.get_covariance().trace() * ours.explained_variance_ratio_, ours.explained_variance_)


def test_projections_come_back(rows: np.ndarray) -> None:
    pca = LocalPCA(6, epsilon=2.0, radius=7.0, random_state=1).fit(rows)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(rows)), rows, atol=1e-9)
    with pytest.raises(ValueError, match="matmul"):
        pca.inverse_transform(np.ones((2, 5)))


def test_a_seed_is_the_sum_of_the_same_reports_whatever_the_threads_and_batches(rows, monkeypatch) -> None:
    monkeypatch.setattr("ldp_pca.estimators._BATCH_BYTES", 35 * 1000)
    batched = LocalPCA(epsilon=2.0, random_state=5, n_jobs=2).fit(rows)
    monkeypatch.undo()
    whole = LocalPCA(epsilon=2.0, random_state=5).fit(rows)
    assert batched.aggregate_ == whole.aggregate_
    assert LocalPCA(epsilon=2.0, random_state=6).fit(rows).aggregate_ != whole.aggregate_
    private = [LocalPCA(epsilon=2.0, n_jobs=-1).fit(rows).aggregate_ for _ in range(2)]
    assert private[0] != private[1]


def test_sparse_components_live_on_few_features(rows: np.ndarray) -> None:
    sparse = LocalSparsePCA(2, epsilon=4.0, radius=5.0, centring=False, penalty=0.2, random_state=1)
    sparse.fit(rows)
    assert sparse.support_.tolist() == [True, True, False, False, False, True]
    assert (sparse.components_[:, ~sparse.support_] == 0).all()
    assert sparse.relative_gap_ <= 1e-6
    assert sparse.penalty_ == 0.2


@pytest.mark.parametrize("kind", [LocalPCA, LocalSparsePCA])
def test_collected_reports_are_fitted_as_they_are(rows: np.ndarray, kind: Any) -> None:
    task = Task(list("abcdef"), epsilon=2.0, bounding=7.0)
    aggregate = Aggregate(task)
    aggregate.update(Randomizer(task).randomize(rows, insecure_seed=1))
    fitted = kind.from_aggregate(aggregate, 2)
    expected = recover(aggregate, 2, **({"sparse": True} if kind is LocalSparsePCA else {"method": "pca"}))
    assert np.array_equal(fitted.components_, expected.components)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    assert fitted.transform(frame).shape == (20_000, 2)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(frame.rename(columns={"a": "z"}))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(frame), fitted.transform(frame))
    assert again.aggregate_ == aggregate


def test_it_works_with_pipelines_frames_and_clones(rows: np.ndarray) -> None:
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), LocalPCA(epsilon=2.0, radius=4.0, random_state=1))
    pipeline.set_output(transform="pandas")
    out = pipeline.fit_transform(frame)
    assert list(out.columns) == ["localpca0", "localpca1"]
    assert pipeline[-1].feature_names_in_.tolist() == list("abcdef")
    assert LocalSparsePCA(1, random_state=1).fit(frame).get_feature_names_out().tolist() == ["localsparsepca0"]
    original = LocalSparsePCA(3, penalty=0.2, epsilon=2.0, radius=9.0)
    assert clone(original).get_params() == original.get_params()


def test_parameters_that_make_no_sense_are_refused(rows: np.ndarray) -> None:
    for parameters, error, words in [
        ({"n_components": 7}, RecoveryError, "n_components=7 is not between 1 and n_features=6"),
        ({"n_components": 0}, RecoveryError, "n_components=0"),
        ({"epsilon": 0.0}, TaskError, "epsilon"),
        ({"delta": 1e-6}, TaskError, "delta does not go with double-cap"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"radius": -1.0}, ValueError, "radius"),
    ]:
        with pytest.raises(error, match=words):
            LocalPCA(**parameters).fit(rows)
