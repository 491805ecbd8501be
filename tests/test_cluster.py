"""The estimator: scikit-learn's contract, the steps of the paper, and what it says to bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ldssc
from ldssc import SemidefiniteSpectralClustering
from ldssc.affinity import gaussian_affinity, knn_affinity, pca, polynomial_affinity
from ldssc.datasets import iris, two_moons
from ldssc.normalization import NORMALIZATIONS

CHECKED = [SemidefiniteSpectralClustering(), SemidefiniteSpectralClustering(assign_labels="kmeans")]


@parametrize_with_checks(CHECKED)
def test_scikit_learns_common_checks_pass_without_exceptions(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.7, random_state=0)
    return X, y


@pytest.mark.parametrize("normalization", sorted(NORMALIZATIONS))
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_planted_blobs_are_recovered_by_every_normalisation(normalization: str, affinity: str) -> None:
    X, y = blobs()
    gamma = 0.5 if affinity == "rbf" else None
    model = SemidefiniteSpectralClustering(
        3, affinity=affinity, gamma=gamma, n_neighbors=20, normalization=normalization, random_state=0
    )
    if normalization == "ratio-cut":  # K − D + I singles points out: only that it ends with three clusters is asked
        assert len(np.unique(model.fit_predict(X))) == 3
    else:
        assert ldssc.error_rate(y, model.fit_predict(X)) == 0


def test_fit_is_the_chain_of_the_public_steps() -> None:
    X, _ = blobs()
    model = SemidefiniteSpectralClustering(3, random_state=0, solver_params={"max_iter": 400}).fit(X)
    K = gaussian_affinity(X)
    result = ldssc.project(K, tol=1e-2, max_iter=400)
    embedding = ldssc.spectral_embedding(result.F, 3)
    assert np.array_equal(model.affinity_matrix_, K)
    assert np.array_equal(model.normalized_affinity_, result.F)
    assert np.array_equal(model.embedding_, embedding.vectors)
    assert np.array_equal(model.eigenvalues_, embedding.values)
    assert np.array_equal(model.labels_, ldssc.discretize(embedding.vectors, random_state=0))
    assert model.result_.certificate == ldssc.certify(result.F, K, result.u, result.Q, result.Z)
    assert model.result_.certificate.distance <= model.tol == 1e-2


def test_result_is_none_where_nothing_is_proven() -> None:
    assert SemidefiniteSpectralClustering(3, normalization="sinkhorn").fit(blobs()[0]).result_ is None


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"gamma": 0.3}, lambda X: gaussian_affinity(X, 1 / np.sqrt(0.3))),
        ({"affinity": "poly", "degree": 2, "coef0": 2, "gamma": 0.01}, lambda X: polynomial_affinity(X, 2, 0.01, 2)),
        ({"affinity": "nearest_neighbors", "n_neighbors": 7}, lambda X: knn_affinity(X, 7)),
        (
            {
                "affinity": "nearest_neighbors",
                "kernel_params": {"weights": "binary", "mode": "mutual", "self_loops": False},
            },
            lambda X: knn_affinity(X, 10, weights="binary", mode="mutual", self_loops=False),
        ),
        ({"affinity": "precomputed"}, lambda X: X),
        ({"affinity": lambda a, b: float(np.exp(-abs(a - b).sum() / 9))}, None),
        ({"affinity": "laplacian"}, None),
        ({"pca": 1}, lambda X: gaussian_affinity(pca(X, 1))),
    ],
)
def test_each_affinity_parameter_does_what_it_says(parameters: dict[str, Any], expected: Any) -> None:
    X = blobs(30)[0]
    X = gaussian_affinity(X, 3.0) if parameters.get("affinity") == "precomputed" else X
    model = SemidefiniteSpectralClustering(3, normalization="frobenius", **parameters).fit(X)
    if expected is not None:
        np.testing.assert_allclose(model.affinity_matrix_, expected(X), atol=1e-14)
    assert sorted(set(model.labels_)) == [0, 1, 2]
    assert model.affinity_description_


def test_gamma_means_what_it_means_in_scikit_learn() -> None:
    X, y = blobs()
    ours = SemidefiniteSpectralClustering(3, gamma=0.4, normalization="normalized-cut", random_state=0).fit(X)
    theirs = SpectralClustering(3, gamma=0.4, assign_labels="discretize", random_state=0).fit(X)
    np.testing.assert_allclose(ours.affinity_matrix_, theirs.affinity_matrix_, atol=1e-12)
    assert ldssc.error_rate(theirs.labels_, ours.labels_) == 0 == ldssc.error_rate(y, ours.labels_)


def test_scikit_learns_parameters_keep_their_names() -> None:
    theirs = set(SpectralClustering().get_params())
    ours = set(SemidefiniteSpectralClustering().get_params())
    assert theirs - ours == {"eigen_solver", "eigen_tol"}  # one dense solver, to rounding
    assert len(ours) < 20


def test_paper_preset_clusters_the_unrepaired_matrix() -> None:
    X = blobs(40)[0]
    model = SemidefiniteSpectralClustering(3, solver="ld-ssc2", solver_params={"paper": True}, random_state=0).fit(X)
    assert model.result_.n_iter == 20
    assert np.array_equal(model.normalized_affinity_, model.result_.iterate)
    assert np.abs(model.normalized_affinity_.sum(axis=1) - 1).max() > 1e-9


def test_unproven_answer_is_used_and_said() -> None:
    model = SemidefiniteSpectralClustering(3, gamma=0.02, solver="ld-ssc1", tol=1e-9, solver_params={"max_iter": 3})
    with pytest.warns(ConvergenceWarning, match="distance proven"):
        model.fit(blobs(30)[0])
    assert model.labels_.max() == 2


def test_more_parts_than_clusters_is_said() -> None:
    K = np.kron(np.eye(4), np.ones((3, 3)))
    with pytest.warns(UserWarning, match="falls into 4 parts"):
        SemidefiniteSpectralClustering(2, affinity="precomputed", random_state=0).fit(K)


def test_distances_passed_as_affinities_are_said() -> None:
    X = blobs(20)[0]
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    with pytest.warns(UserWarning, match="distances"):
        SemidefiniteSpectralClustering(3, affinity="precomputed", normalization="frobenius", random_state=0).fit(D)


def test_same_seed_same_labels_and_parameters_untouched() -> None:
    X, _ = two_moons(80, random_state=1).X, None
    params = {"weights": "gaussian"}
    model = SemidefiniteSpectralClustering(
        2, affinity="nearest_neighbors", kernel_params=params, normalization="frobenius", random_state=3
    )
    first = model.fit_predict(X)
    assert np.array_equal(first, clone(model).fit_predict(X))
    assert model.kernel_params is params
    assert params == {"weights": "gaussian"}


def test_sparse_lists_and_small_types_give_the_same_labels() -> None:
    X = np.round(blobs(30)[0])
    model = SemidefiniteSpectralClustering(3, gamma=0.2, normalization="frobenius", random_state=0)
    expected = model.fit_predict(X)
    for other in (sparse.csr_matrix(X), X.tolist(), X.astype(np.float32), X.astype(int), np.asfortranarray(X)):
        assert np.array_equal(model.fit_predict(other), expected)


def test_pipeline_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs(30)
    pipeline = make_pipeline(StandardScaler(), SemidefiniteSpectralClustering(3, verbose=True, random_state=0))
    assert ldssc.error_rate(y, pipeline.fit_predict(X)) == 0
    assert "proven within" in capsys.readouterr().out


X3 = iris().X[::10]


@pytest.mark.parametrize(
    ("X", "parameters", "sentence"),
    [
        (np.where(np.arange(60).reshape(15, 4) == 9, np.nan, 1.0), {}, r"NaN or infinite, the first at \[2, 1\]"),
        (X3, {"n_clusters": 0}, "n_clusters must be at least 1"),
        (X3, {"n_clusters": 16}, "n_clusters=16 is more than n_samples=15"),
        (X3, {"n_clusters": 2.5}, "n_clusters must be a whole number"),
        (np.repeat(X3[:2], 5, axis=0), {"n_clusters": 3}, "only 2 distinct rows, too few for n_clusters=3"),
        (X3, {"n_components": 16}, "n_components=16 is more than n_samples=15"),
        (X3, {"affinity": "rbd"}, "affinity='rbd' is not known; valid names: .*nearest_neighbors"),
        (X3, {"normalization": "ncut"}, "normalization='ncut' is not known; valid names: .*normalized-cut"),
        (X3, {"solver": "fast"}, "solver='fast' is not known; valid names: accelerated, auto, conic"),
        (X3, {"assign_labels": "qr"}, "assign_labels='qr' is not known; valid names"),
        (X3, {"tol": 0}, "tol must be a number > 0"),
        (X3, {"gamma": -1}, "gamma must be a number >= 0"),
        (X3, {"pca": 5}, "n_components=5 is more than"),
        (X3 @ X3.T, {"affinity": "precomputed", "pca": 2}, "pca=2 needs data"),
        (X3, {"affinity": "precomputed"}, r"must be square, and has shape \(15, 4\)"),
        (X3, {"kernel_params": "weights"}, "kernel_params must be a dictionary"),
        (X3, {"solver_params": {"tolerance": 1}}, "solver_params has 'tolerance'.*valid names: max_iter"),
        (X3, {"solver_params": {"tol": 1}}, "solver_params has 'tol'"),
        (X3, {"normalization": "frobenius", "solver_params": {"max_iter": 1}}, "valid names: none"),
        (-X3 @ X3.T, {"affinity": "precomputed", "normalization": "normalized-cut"}, "negative entries"),
        (X3[:, 0], {}, "Expected 2D array, got 1D array"),
        (X3[:0], {}, "minimum of 1 is required"),
        ([["a", "b"], ["c", "d"]], {}, "could not convert string to float"),
        (X3 + 1j, {}, "Complex data not supported"),
    ],
)
def test_bad_input_is_one_sentence(X: Any, parameters: dict[str, Any], sentence: str) -> None:
    model = SemidefiniteSpectralClustering(**{"n_clusters": 2, **parameters})
    with pytest.raises(ldssc.InputError, match=sentence) as raised:
        model.fit(X)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("k", [1, 6])
def test_one_cluster_and_as_many_as_points(k: int) -> None:
    X = blobs(6)[0]
    labels = SemidefiniteSpectralClustering(k, gamma=0.1, normalization="frobenius").fit_predict(X)
    assert len(set(labels)) == k


def test_one_sample_is_one_cluster() -> None:
    assert SemidefiniteSpectralClustering(1).fit_predict([[3.0, 4.0]]).tolist() == [0]


def test_a_kernel_so_narrow_that_every_point_is_alone_is_said() -> None:
    with pytest.warns(UserWarning, match="parts"):
        labels = SemidefiniteSpectralClustering(3, gamma=1e4, random_state=0).fit_predict(iris().X)
    assert sorted(set(labels)) == [0, 1, 2]


@pytest.mark.parametrize("name", ["weights", "trace", "tol", "solver"])
def test_solver_params_that_are_not_the_estimators_are_refused(name: str) -> None:
    with pytest.raises(ldssc.InputError, match=f"solver_params has '{name}'"):
        SemidefiniteSpectralClustering(2, solver_params={name: 2}).fit(X3)
