"""Each affinity against its definition, its invariances, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ldssc.affinity import (
    AFFINITIES,
    build_affinity,
    fully_connected_affinity,
    gaussian_affinity,
    knn_affinity,
    median_distance,
    pca,
    polynomial_affinity,
    precomputed_affinity,
    precomputed_knn,
)
from ldssc.exceptions import InputError

# Half-integers: duplicates and ties are frequent, and distances are computed exactly.
tables = st.tuples(st.integers(2, 12), st.integers(1, 3)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(-6, 6).map(lambda i: i / 2))
)
POINTS = np.random.default_rng(0).standard_normal((25, 3))


def distance_table(X: np.ndarray) -> np.ndarray:
    n = len(X)
    return np.array([[np.sqrt(((X[i] - X[j]) ** 2).sum()) for j in range(n)] for i in range(n)])


def neighbours_by_brute_force(D: np.ndarray, k: int) -> list[set[int]]:
    """The k nearest others of each point, itself left out by its number, ties to the first."""
    return [set(sorted((j for j in range(len(D)) if j != i), key=lambda j: (D[i, j], j))[:k]) for i in range(len(D))]


def knn_by_brute_force(D: np.ndarray, k: int, mode: str) -> np.ndarray:
    near, n = neighbours_by_brute_force(D, k), len(D)
    join = any if mode == "union" else all
    return np.array([[i != j and join((j in near[i], i in near[j])) for j in range(n)] for i in range(n)])


MAKERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gaussian": gaussian_affinity,
    "gaussian, given": lambda X: gaussian_affinity(X, 0.7),
    "polynomial": polynomial_affinity,
    "knn": lambda X: knn_affinity(X, 4),
    "knn, mutual": lambda X: knn_affinity(X, 4, mode="mutual", self_loops=False),
    "knn, 0/1": lambda X: knn_affinity(X, 4, weights="binary"),
    "fully connected": lambda X: fully_connected_affinity(X, self_loops=False),
    "precomputed knn": lambda X: precomputed_knn(distance_table(X), 4),
    **{name: lambda X, name=name: build_affinity(np.abs(X), name).K for name in ("laplacian", "chi2", "cosine")},
}

# --- theorems for all --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_affinity_is_exactly_symmetric_and_leaves_the_data_alone(name: str) -> None:
    X = POINTS.copy()
    K = MAKERS[name](X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(X, POINTS)
    assert K.dtype == np.float64
    assert K.shape == (25, 25)


@pytest.mark.parametrize("name", MAKERS)
def test_permuting_the_points_permutes_the_affinity(name: str) -> None:
    order = np.random.default_rng(1).permutation(25)
    np.testing.assert_allclose(
        MAKERS[name](POINTS[order]), MAKERS[name](POINTS)[np.ix_(order, order)], rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("name", ["gaussian", "knn", "knn, mutual", "knn, 0/1", "fully connected"])
def test_moving_turning_and_scaling_the_points_changes_nothing_at_the_default_width(name: str) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))
    np.testing.assert_allclose(MAKERS[name](7 * POINTS @ turn + 2.0), MAKERS[name](POINTS), rtol=1e-11, atol=1e-14)


# --- Gaussian ----------------------------------------------------------------------------------------------------


@given(tables)
@settings(deadline=None, max_examples=40)
def test_median_distance_is_the_median_over_pairs_or_over_the_positive_ones(X: np.ndarray) -> None:
    pairs = distance_table(X)[np.triu_indices(len(X), 1)]
    positive = pairs[pairs > 0]
    expected = np.median(pairs) or (np.median(positive) if len(positive) else 1.0)
    assert median_distance(X) == pytest.approx(expected, rel=1e-14)


def test_median_distance_of_a_single_or_a_constant_set_is_one() -> None:
    assert median_distance(np.array([[3.0, 4.0]])) == 1.0
    assert median_distance(np.full((5, 2), 0.1)) == 1.0


@given(tables, st.none() | st.floats(0.1, 10))
@settings(deadline=None, max_examples=40)
def test_gaussian_is_its_definition_with_unit_diagonal_and_positive_semidefinite(
    X: np.ndarray, delta: float | None
) -> None:
    K = gaussian_affinity(X, delta)
    width = median_distance(X) if delta is None else delta
    np.testing.assert_allclose(K, np.exp(-(distance_table(X) ** 2) / width**2), rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert np.linalg.eigvalsh(K)[0] >= -1e-13 * len(X)


def test_gaussian_closed_forms() -> None:
    np.testing.assert_allclose(gaussian_affinity(np.array([[0.0], [2.0]])), [[1, np.exp(-1)], [np.exp(-1), 1]])
    np.testing.assert_array_equal(gaussian_affinity(np.zeros((3, 2))), np.ones((3, 3)))
    np.testing.assert_array_equal(gaussian_affinity(np.array([[0.0], [1.0]]), 1e-300), np.eye(2))
    np.testing.assert_array_equal(gaussian_affinity(np.array([[5.0]])), [[1.0]])


def test_duplicates_have_affinity_one_exactly_even_far_from_the_origin() -> None:
    X = 1e8 + np.array([[0.1, 0.2], [0.3, 0.1], [0.1, 0.2]])
    assert gaussian_affinity(X)[0, 2] == 1.0
    assert gaussian_affinity(X)[0, 1] < 0.9


# --- polynomial --------------------------------------------------------------------------------------------------


@given(tables, st.integers(0, 5), st.floats(0, 2), st.floats(-2, 2))
@settings(deadline=None, max_examples=40)
def test_polynomial_is_its_definition(X: np.ndarray, degree: int, gamma: float, coef0: float) -> None:
    expected = [[(gamma * sum(a * b) + coef0) ** degree for b in X] for a in X]
    scale = (gamma * (X**2).sum(axis=1).max() + abs(coef0)) ** degree
    np.testing.assert_allclose(polynomial_affinity(X, degree, gamma, coef0), expected, rtol=1e-10, atol=1e-13 * scale)


def test_the_papers_polynomial_kernel_is_the_default_of_gamma_and_coef0() -> None:
    np.testing.assert_array_equal(polynomial_affinity(np.array([[1.0], [2.0]]), 2), [[4.0, 9.0], [9.0, 25.0]])


@given(tables, st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_polynomial_with_nonnegative_coef0_is_positive_semidefinite(X: np.ndarray, degree: int) -> None:
    eigenvalues = np.linalg.eigvalsh(polynomial_affinity(X, degree))
    assert eigenvalues[0] >= -1e-12 * max(eigenvalues[-1], 1)


# --- graphs ------------------------------------------------------------------------------------------------------


@given(
    tables,
    st.integers(1, 11),
    st.sampled_from(["union", "mutual"]),
    st.sampled_from(["gaussian", "binary"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_knn_is_brute_force_with_duplicates_and_ties(
    X: np.ndarray, k: int, mode: str, weights: str, loops: bool
) -> None:
    k = min(k, len(X) - 1)
    edges = knn_by_brute_force(distance_table(X), k, mode)
    W = gaussian_affinity(X) if weights == "gaussian" else np.ones(edges.shape)
    K = knn_affinity(X, k, weights=weights, mode=mode, self_loops=loops)
    np.testing.assert_array_equal(K, np.where(edges, W, 0.0) + (np.eye(len(X)) if loops else 0.0))


@given(tables, st.integers(1, 11))
@settings(deadline=None, max_examples=40)
def test_every_point_has_k_neighbours_in_the_union_and_at_most_k_in_the_mutual_graph(X: np.ndarray, k: int) -> None:
    k = min(k, len(X) - 1)
    union, mutual = (
        knn_affinity(X, k, mode=m, weights="binary", self_loops=False).sum(axis=1) for m in ("union", "mutual")
    )
    assert (union >= k).all()
    assert (mutual <= k).all()


def test_a_duplicate_is_a_neighbour_and_the_point_itself_is_not() -> None:
    X = np.array([[0.0], [0.0], [0.0], [9.0]])
    K = knn_affinity(X, 1, mode="mutual", weights="binary", self_loops=False)
    np.testing.assert_array_equal(K, [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


def test_with_all_others_as_neighbours_the_graph_is_fully_connected() -> None:
    np.testing.assert_array_equal(knn_affinity(POINTS, 24), fully_connected_affinity(POINTS))
    np.testing.assert_array_equal(knn_affinity(POINTS, 24, delta=0.3), gaussian_affinity(POINTS, 0.3))


def test_fully_connected_graphs() -> None:
    np.testing.assert_array_equal(fully_connected_affinity(POINTS, weights="binary"), np.ones((25, 25)))
    K = fully_connected_affinity(POINTS, self_loops=False, delta=2.0)
    np.testing.assert_array_equal(K, gaussian_affinity(POINTS, 2.0) - np.eye(25))


# --- precomputed -------------------------------------------------------------------------------------------------


def test_precomputed_is_returned_as_a_copy_and_symmetric_to_the_last_bit() -> None:
    K = gaussian_affinity(POINTS)
    K[0, 1] *= 1 + 1e-12
    found = precomputed_affinity(K)
    np.testing.assert_array_equal(found, found.T)
    assert found is not K
    np.testing.assert_allclose(found, K, rtol=1e-11)
    np.testing.assert_array_equal(build_affinity(sparse.csr_array(np.eye(3)), "precomputed").K, np.eye(3))


@given(tables, st.integers(1, 11), st.sampled_from(["union", "mutual"]))
@settings(deadline=None, max_examples=40)
def test_precomputed_knn_of_dense_and_sparse_distances_is_knn_of_the_points(X: np.ndarray, k: int, mode: str) -> None:
    k = min(k, len(X) - 1)
    D = distance_table(X)
    rows, columns = np.indices(D.shape).reshape(2, -1)
    everything = sparse.coo_array((D.ravel(), (rows, columns)), shape=D.shape)  # zeros stored
    expected = knn_affinity(X, k, mode=mode, weights="binary")
    for distances in (D, everything, everything.tocsr(), sparse.csr_matrix(everything)):
        np.testing.assert_array_equal(precomputed_knn(distances, k, mode=mode), expected)


def test_what_a_sparse_distance_matrix_does_not_store_is_no_neighbour() -> None:
    D = sparse.csr_array(([1.0, 0.0, 2.0, 3.0], ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(4, 4))
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(precomputed_knn(D, 1), expected)
    with pytest.raises(InputError, match="row 0 of D has distances to 1 others, fewer than n_neighbors=2; lower"):
        precomputed_knn(D, 2)


def test_distances_need_not_be_symmetric_and_are_not_changed() -> None:
    D = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [1.0, 9.0, 0.0]])
    before = D.copy()
    np.testing.assert_array_equal(precomputed_knn(D, 1, mode="mutual"), np.eye(3))
    np.testing.assert_array_equal(precomputed_knn(D, 1), np.ones((3, 3)))
    np.testing.assert_array_equal(D, before)


# --- PCA ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 5), (6, 40), (8, 8)])
def test_pca_is_the_projection_on_the_leading_eigenvectors_of_the_covariance(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(4).standard_normal(shape) * np.linspace(1, 3, shape[1])
    values, vectors = np.linalg.eigh(np.cov(X.T))
    scores = pca(X, 3)
    expected = (X - X.mean(axis=0)) @ vectors[:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-10)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), values[::-1][:3], rtol=1e-10)
    np.testing.assert_array_less(0, scores[np.abs(scores).argmax(axis=0), range(3)])


def test_pca_keeps_distances_when_all_components_are_kept() -> None:
    np.testing.assert_allclose(distance_table(pca(POINTS, 3)), distance_table(POINTS), atol=1e-12)
    np.testing.assert_allclose(pca(POINTS + 100, 2), pca(POINTS, 2), atol=1e-10)
    np.testing.assert_array_equal(pca(np.ones((4, 2)), 1), np.zeros((4, 1)))


# --- by name -----------------------------------------------------------------------------------------------------


def test_the_table_holds_ours_and_every_kernel_of_scikit_learn() -> None:
    ours = {"nearest_neighbors", "fully_connected", "precomputed", "precomputed_nearest_neighbors"}
    assert set(AFFINITIES) == ours | set(PAIRWISE_KERNEL_FUNCTIONS)


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
def test_kernels_are_those_of_scikit_learn_at_the_same_parameters(name: str) -> None:
    X = np.abs(POINTS)
    expected = pairwise_kernels(X, metric=name, filter_params=True, gamma=0.3, degree=2, coef0=0.5)
    found = build_affinity(X, name, gamma=0.3, degree=2, coef0=0.5)
    np.testing.assert_allclose(found.K, expected, rtol=1e-12, atol=1e-14)
    assert found.description


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
def test_kernels_have_a_default_gamma(name: str) -> None:
    assert np.isfinite(build_affinity(np.abs(POINTS), name).K).all()


def test_defaults_and_descriptions_say_what_was_chosen() -> None:
    delta = f"delta = {median_distance(POINTS):.4g} (median distance)"
    precomputed_graph = build_affinity(distance_table(POINTS), "precomputed_nearest_neighbors")
    for found, K, description in [
        (build_affinity(POINTS), gaussian_affinity(POINTS), f"Gaussian, {delta}"),
        (build_affinity(POINTS, gamma=0.25), gaussian_affinity(POINTS, 2.0), "Gaussian, gamma = 0.25 (given)"),
        (build_affinity(POINTS, gamma=0.0), np.ones((25, 25)), "Gaussian, gamma = 0 (given)"),
        (build_affinity(POINTS, "poly", degree=2), polynomial_affinity(POINTS, 2), "polynomial, (1 a.b + 1)^2"),
        (
            build_affinity(POINTS, "nearest_neighbors"),
            knn_affinity(POINTS, 10),
            f"graph of 10 nearest neighbours, union, Gaussian weights, {delta}, self-loops",
        ),
        (
            build_affinity(POINTS, "fully_connected", kernel_params={"delta": 2.0}),
            gaussian_affinity(POINTS, 2.0),
            "fully connected graph, Gaussian weights, delta = 2 (given), self-loops",
        ),
        (
            precomputed_graph,
            knn_affinity(POINTS, 10, weights="binary"),
            "graph of 10 nearest neighbours of the given distances, union, 0/1 weights, self-loops",
        ),
        (build_affinity(np.eye(3), "precomputed"), np.eye(3), "precomputed"),
    ]:
        np.testing.assert_allclose(found.K, K, rtol=1e-13)
        assert found.description == description


def test_kernel_params_reach_the_graph_and_are_not_changed() -> None:
    params = {"weights": "binary", "mode": "mutual", "self_loops": False, "delta": 3.0}
    before = dict(params)
    found = build_affinity(POINTS, "nearest_neighbors", n_neighbors=3, kernel_params=params)
    np.testing.assert_array_equal(found.K, knn_affinity(POINTS, 3, weights="binary", mode="mutual", self_loops=False))
    assert found.description == "graph of 3 nearest neighbours, mutual, 0/1 weights, no self-loops"
    assert params == before


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "precomputed_nearest_neighbors"])
def test_by_name_n_neighbors_is_cut_to_what_there_is_and_that_is_said(affinity: str) -> None:
    X = POINTS[:4] if affinity == "nearest_neighbors" else distance_table(POINTS[:4])
    found = build_affinity(X, affinity, n_neighbors=10)
    assert (found.K > 0).all()
    assert "3 nearest neighbours (10 asked for)" in found.description
    np.testing.assert_array_equal(build_affinity(np.zeros((1, 1)), affinity).K, [[1.0]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((3, 1)), "delta = 1 (all points are equal)"),
        (np.array([[0.0]] * 6 + [[2.0], [10.0]]), "delta = 8 (median of the positive distances)"),
    ],
)
def test_a_median_of_zero_is_said(X: np.ndarray, words: str) -> None:
    assert build_affinity(X).description == f"Gaussian, {words}"


def test_a_function_of_two_points_is_an_affinity() -> None:
    params = {"power": 2}
    found = build_affinity(POINTS, lambda a, b, power: float(a @ b) ** power, kernel_params=params)
    np.testing.assert_allclose(found.K, (POINTS @ POINTS.T) ** 2, rtol=1e-12)
    assert params == {"power": 2}


def test_a_matrix_that_looks_like_distances_is_warned_about() -> None:
    D = distance_table(POINTS)
    with pytest.warns(UserWarning, match="if these are distances D, pass exp"):
        assert build_affinity(D, "precomputed").description == "precomputed"
    assert build_affinity(1 - np.eye(2), "precomputed").description == "precomputed"  # an edge, as likely as not


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gaussian_affinity(POINTS, 0), "delta must be a number > 0, and is 0"),
        (lambda: gaussian_affinity(POINTS, np.inf), "delta must be a number > 0, and is inf"),
        (
            lambda: gaussian_affinity(np.zeros((0, 2))),
            r"X is empty \(shape \(0, 2\)\); at least one row and one column",
        ),
        (lambda: gaussian_affinity(np.zeros((2, 0))), r"X is empty \(shape \(2, 0\)\)"),
        (
            lambda: gaussian_affinity([[1.0], [np.nan]]),
            r"X has 1 entries that are NaN or infinite, the first at \[1, 0\]",
        ),
        (lambda: gaussian_affinity([[0.0], [1e300]]), r"X has entries as large as 1e\+300, whose squares overflow"),
        (lambda: gaussian_affinity([[0.0], [1e-300]]), "X varies by 1e-300 at most, and the squares of that vanish"),
        (lambda: median_distance([[0.0], [1j]]), "X is complex"),
        (lambda: pca([[0.0], [1e300]], 1), r"X has entries as large as 1e\+300"),
        (lambda: pca(POINTS, 4), "n_components=4 is more than the smaller side of X, 3"),
        (lambda: pca(POINTS, 0), "n_components must be at least 1, and is 0"),
        (
            lambda: polynomial_affinity(1e9 * POINTS, 40),
            "the polynomial affinity overflows: .* and degree is 40; divide X",
        ),
        (lambda: polynomial_affinity([[1e150, 1e150]], 200), "the polynomial affinity overflows"),
        (lambda: polynomial_affinity(POINTS, 0.5), "degree=0.5 of a negative number: .* use a whole degree"),
        (lambda: polynomial_affinity(POINTS, -1), "degree must be a number >= 0, and is -1"),
        (lambda: polynomial_affinity(POINTS, 2, -1), "gamma must be a number >= 0, and is -1"),
        (lambda: polynomial_affinity(POINTS, 2, 1, np.nan), "coef0 must be a finite number, and is nan"),
        (lambda: polynomial_affinity(POINTS, 2, 1, "1"), "coef0 must be a finite number, and is '1'"),
        (lambda: knn_affinity(POINTS, 25), "n_neighbors=25 is more than the number of other points, 24"),
        (lambda: knn_affinity(POINTS, 0), "n_neighbors must be at least 1, and is 0"),
        (lambda: knn_affinity(POINTS[:1], 1), "n_neighbors=1 is more than the number of other points, 0"),
        (lambda: knn_affinity(POINTS, mode="both"), "mode='both' is not known; valid names: mutual, union"),
        (lambda: knn_affinity(POINTS, weights="heat"), "weights='heat' is not known; valid names: binary, gaussian"),
        (lambda: knn_affinity(POINTS, self_loops="no"), "self_loops must be True or False, and is 'no'"),
        (lambda: precomputed_affinity(POINTS), r"K must be square, and has shape \(25, 3\)"),
        (lambda: precomputed_affinity([[1.0, 2.0], [0.0, 1.0]]), "K is not symmetric"),
        (lambda: precomputed_knn(POINTS), r"D must be square, and has shape \(25, 3\)"),
        (lambda: precomputed_knn(-np.ones((3, 3))), r"D has a negative distance, -1 at \[0, 0\]; for affinities"),
        (lambda: precomputed_knn(np.eye(3), 1), r"D\[0, 0\] is 1, and the distance to itself is 0; for affinities"),
        (lambda: precomputed_knn(np.zeros((3, 3)), 3), "n_neighbors=3 is more than the number of other points, 2"),
        (lambda: build_affinity(POINTS, "gauss"), "affinity='gauss' is not known; valid names: additive_chi2, chi2, "),
        (lambda: build_affinity(POINTS, gamma=-1), "gamma must be a number >= 0, and is -1"),
        (lambda: build_affinity(POINTS, n_neighbors=0), "n_neighbors must be at least 1, and is 0"),
        (
            lambda: build_affinity(POINTS, kernel_params=[1]),
            r"kernel_params must be a dictionary or None, and is \[1\]",
        ),
        (
            lambda: build_affinity(POINTS, kernel_params={"sigma": 1}),
            "kernel_params has 'sigma', which affinity='rbf' does not take; it takes delta",
        ),
        (
            lambda: build_affinity(POINTS, "sigmoid", kernel_params={"gamma": 1}),
            "'gamma', which affinity='sigmoid' does not take; it takes none .gamma, degree and coef0 are arguments",
        ),
        (
            lambda: build_affinity(POINTS, gamma=1.0, kernel_params={"delta": 1}),
            "gamma and kernel_params.'delta'. are both given",
        ),
        (lambda: build_affinity(POINTS, "chi2"), "the chi2 kernel cannot take X: "),
        (lambda: build_affinity(1e100 * POINTS, "linear"), "K has entries as large as"),
        (lambda: build_affinity(POINTS, lambda a, b: np.nan), "K has 625 entries that are NaN"),  # noqa: ARG005
    ],
)
def test_bad_input_is_named(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call()


def test_an_affinity_that_does_not_fit_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.memory.available_memory", lambda: 1000)
    for call in (gaussian_affinity, lambda X: build_affinity(X, "laplacian")):
        with pytest.raises(InputError, match=r"the affinity of 25 points needs about 19.5 KiB of memory"):
            call(POINTS)
