"""Discretisation and k-means: planted partitions come back, no cluster is ever empty, nothing hangs on rounding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ldssc import labels as module
from ldssc.exceptions import InputError
from ldssc.labels import LABELLERS, assign_labels, discretize, kmeans
from ldssc.metrics import error_rate

METHODS = sorted(LABELLERS)


def haar(k: int, seed: int) -> np.ndarray:
    return module._haar(k, np.random.RandomState(seed))


def planted(k: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One-hot rows of every class in random order, rotated, and the classes."""
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.r_[np.arange(k), rng.randint(k, size=n - k)])
    return np.eye(k)[y] @ haar(k, seed), y


def objective(vectors: np.ndarray, labels: np.ndarray) -> float:
    """Sum of the singular values of X^T V for unit rows V."""
    V = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float(np.linalg.svd(np.eye(V.shape[1])[labels].T @ V, compute_uv=False).sum())


# --- planted partitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 3, 7, 15, 40])
def test_rotated_partitions_are_recovered_exactly(method: str, k: int) -> None:
    for seed in range(3):
        V, y = planted(k, 5 * k, seed)
        assert error_rate(y, assign_labels(V, k, method, random_state=seed)) == 0


@given(st.integers(2, 6), st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_row_lengths_do_not_matter_to_the_normalised_discretisation(k: int, seed: int) -> None:
    V, y = planted(k, 4 * k, seed)
    lengths = np.random.default_rng(seed).uniform(0.01, 100, size=(len(V), 1))
    assert error_rate(y, discretize(V * lengths, random_state=seed)) == 0


def test_row_normalisation_is_optional() -> None:
    rng = np.random.default_rng(0)
    V = rng.standard_normal((60, 3)) * rng.uniform(0.01, 10, size=(60, 1))
    assert (discretize(V, random_state=0) != discretize(V, random_state=0, row_normalize=False)).any()
    on, off = (assign_labels(V, 3, "kmeans", row_normalize=flag, random_state=0) for flag in (True, False))
    assert (on != off).any()
    np.testing.assert_array_equal(off, assign_labels(V, 3, "kmeans", random_state=0))
    np.testing.assert_array_equal(
        discretize(V, random_state=0), assign_labels(V, 3, "discretize", row_normalize=True, random_state=0)
    )


# --- the optimisation --------------------------------------------------------------------------------------------


def test_haar_rotations_are_orthogonal_and_uniform() -> None:
    rng = np.random.RandomState(0)
    draws = np.array([module._haar(3, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws @ draws.transpose(0, 2, 1), np.broadcast_to(np.eye(3), draws.shape), atol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.04)  # QR without the sign fix: diagonal at -0.5
    np.testing.assert_allclose((draws**2).mean(axis=0), 1 / 3, atol=0.03)
    assert abs((np.linalg.det(draws) > 0).mean() - 0.5) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_a_fixed_point_and_no_single_move_beats_its_rotation(seed: int) -> None:
    V = np.random.default_rng(seed).standard_normal((40, 4))
    V = np.vstack([V, *[V[:5]] * 20]) / np.linalg.norm(np.vstack([V, *[V[:5]] * 20]), axis=1, keepdims=True)
    labels = discretize(V, random_state=seed)
    U, s, Wt = np.linalg.svd(np.eye(4)[labels].T @ V)
    np.testing.assert_array_equal((V @ (U @ Wt).T).argmax(axis=1), labels)
    assert s.sum() == pytest.approx(objective(V, labels))


@pytest.mark.parametrize("seed", range(5))
def test_more_starts_never_lower_the_objective(seed: int) -> None:
    V = np.random.default_rng(seed).standard_normal((50, 6))
    one, many = (objective(V, discretize(V, n_init=m, random_state=seed)) for m in (1, 20))
    assert many >= one * (1 - 1e-10)


def test_the_objective_is_the_best_over_all_partitions_of_a_small_set() -> None:
    V = np.random.default_rng(1).standard_normal((8, 2))
    every = ((np.arange(1, 2**7)[:, None] >> np.arange(8)) & 1).astype(np.int64)
    best = max(objective(V, labels) for labels in every)
    assert objective(V, discretize(V, n_init=50, random_state=0)) == pytest.approx(best)


def test_one_round_is_allowed_and_more_are_better() -> None:
    V = np.random.default_rng(2).standard_normal((80, 5))
    assert objective(V, discretize(V, max_iter=1, n_init=1, random_state=0)) < objective(
        V, discretize(V, n_init=1, random_state=0)
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_fixes_the_labels_and_the_input_is_left_alone(method: str) -> None:
    V = np.random.default_rng(3).standard_normal((50, 4))
    before = V.copy()
    first = assign_labels(V, 4, method, random_state=5)
    np.testing.assert_array_equal(first, assign_labels(V, 4, method, random_state=5))
    np.testing.assert_array_equal(first, assign_labels(V, 4, method, random_state=np.random.RandomState(5)))
    np.testing.assert_array_equal(V, before)
    assert first.dtype == np.int64


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_rounding_and_order_of_the_points_do_not_change_the_clusters(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, y = planted(4, 60, seed)
    V = V + 0.15 * rng.standard_normal(V.shape)
    labels = assign_labels(V, 4, method, random_state=0)
    noisy = assign_labels(V * (1 + 1e-15 * rng.standard_normal(V.shape)), 4, method, random_state=0)
    np.testing.assert_array_equal(noisy, labels)
    order = rng.permutation(len(V))
    assert error_rate(labels[order], assign_labels(V[order], 4, method, random_state=0)) == 0
    assert error_rate(y, labels) < 0.2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 5, 12])
def test_labels_do_not_depend_on_the_basis_of_the_space_of_the_vectors(method: str, k: int) -> None:
    """Where eigenvalues are equal, rounding and the number of threads choose the basis."""
    V, _ = np.linalg.qr(np.random.default_rng(k).standard_normal((90, k)))
    labels = assign_labels(V, k, method, random_state=0)
    for seed in range(3):
        np.testing.assert_array_equal(assign_labels(V @ haar(k, seed), k, method, random_state=0), labels)


@pytest.mark.parametrize("method", METHODS)
def test_clusters_are_numbered_as_they_appear(method: str) -> None:
    V, _ = planted(5, 40, 0)
    labels = assign_labels(V, 5, method, random_state=0)
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()
    assert labels[0] == 0


# --- exactly k non-empty clusters --------------------------------------------------------------------------------

entries = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0, 2.0, 1e-13, 1e-200, 1e200]) | st.floats(-1, 1, width=32)
tables = st.tuples(st.integers(1, 14), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=entries)
)


@given(tables, st.booleans(), st.sampled_from(METHODS))
@settings(deadline=None, max_examples=150)
def test_exactly_k_clusters_wherever_there_are_k_distinct_rows(V: np.ndarray, normalize: bool, method: str) -> None:
    k, distinct = V.shape[1], len(np.unique(V + 0.0, axis=0))
    options: dict[str, Any] = {"row_normalize": normalize, "random_state": 0, "n_init": 2}
    if distinct < k:
        with pytest.raises(InputError, match=f"only {distinct} distinct rows, which cannot make {k} non-empty"):
            assign_labels(V, k, method, **options)
        return
    labels = assign_labels(V, k, method, **options)
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))
    assert labels.shape == (len(V),)
    for row in V:
        same = (row == V).all(axis=1)
        assert len(set(labels[same])) == 1, "equal rows fell into different clusters"


ADVERSARIAL = {
    "15 clusters, 15 rows": np.random.default_rng(0).standard_normal((15, 15)),
    "15 clusters, 16 nearly equal rows": 1 + 1e-9 * np.random.default_rng(1).standard_normal((16, 15)),
    "15 clusters, differences at rounding level": 1 + 1e-15 * np.random.default_rng(1).integers(0, 9, (16, 15)),
    "rank one": np.outer(np.arange(1.0, 31), np.ones(5)),
    "rank two of six": np.random.default_rng(2).standard_normal((40, 2)) @ np.eye(2, 6),
    "half zero rows": np.vstack([np.zeros((20, 4)), np.random.default_rng(3).standard_normal((20, 4))]),
    "all zero but k - 1": np.vstack([np.zeros((20, 3)), np.eye(3)[:2]]),
    "first row zero": np.vstack([np.zeros((1, 3)), np.eye(3), np.eye(3)]),
    "a zero column": np.random.default_rng(4).standard_normal((30, 3)) * [1.0, 1.0, 0.0],
    "identity": np.eye(9),
    "one huge row": np.vstack([np.random.default_rng(5).standard_normal((9, 3)), [[1e300, 1e300, -1e300]]]),
    "tiny": 1e-300 * np.random.default_rng(6).standard_normal((9, 3)),
    "subnormal": 5e-324 * np.arange(12.0).reshape(6, 2),
    "largest floats": np.array([[1.7e308, -1.7e308], [1.7e308, 1.7e308], [0.0, 1.0]]),
    "many copies of three points": np.repeat(np.random.default_rng(7).standard_normal((3, 3)), 50, axis=0),
    "opposite rows": np.vstack([np.eye(2), -np.eye(2)] * 5),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_vectors_get_k_clusters(name: str, normalize: bool, method: str) -> None:
    V = ADVERSARIAL[name]
    k = V.shape[1]
    labels = assign_labels(V, k, method, row_normalize=normalize, random_state=0)
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))


@pytest.mark.parametrize("method", METHODS)
def test_n_clusters_equal_to_n_gives_every_point_its_own(method: str) -> None:
    V, _ = np.linalg.qr(np.random.default_rng(8).standard_normal((12, 12)))
    np.testing.assert_array_equal(assign_labels(V, 12, method, random_state=0), np.arange(12))


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_holds_everything(method: str) -> None:
    np.testing.assert_array_equal(assign_labels(np.array([[1.0], [-1.0], [1.0]]), 1, method), np.zeros(3))
    np.testing.assert_array_equal(assign_labels(np.zeros((4, 1)), 1, method), np.zeros(4))


def test_an_empty_cluster_gets_the_row_furthest_from_its_centre() -> None:
    points = module._distinct(np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.9], [5.0, 5.0]]), 3, False)
    far = int(points.inverse[2])
    alone = int(points.inverse[3])
    labels = np.where(np.arange(4) == alone, 1, 0)
    filled = module._fill_empty(labels, points, 3)
    np.testing.assert_array_equal(np.flatnonzero(filled != labels), [far])
    assert filled[far] == 2


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_differ_by_rounding_stay_together(method: str) -> None:
    rng = np.random.default_rng(9)
    V = np.repeat(rng.standard_normal((6, 3)), 10, axis=0)
    labels = assign_labels(V * (1 + 1e-15 * rng.standard_normal(V.shape)), 3, method, random_state=0)
    np.testing.assert_array_equal(labels, np.repeat(labels[::10], 10))


def test_whole_groups_of_nearly_equal_rows_move_when_a_cluster_is_refilled() -> None:
    rng = np.random.default_rng(9)
    V = np.repeat([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0], [1.0, 0.0, 1e-3]], 10, axis=0)
    labels = discretize(V + 1e-15 * rng.standard_normal(V.shape), random_state=0)
    np.testing.assert_array_equal(labels, np.repeat([0, 1, 2], 10))


def test_ties_are_not_decided_by_rounding() -> None:
    V = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5 + [[1.0, 1.0]])
    noise = 1e-15 * np.random.default_rng(12).standard_normal((20, *V.shape))
    assert len({tuple(discretize(V + e, random_state=0)) for e in noise}) == 1


@pytest.mark.parametrize(("p", "k"), [(1, 2), (2, 3), (3, 2), (5, 3)])
def test_as_many_vectors_as_clusters_are_not_needed(p: int, k: int) -> None:
    angles = np.linspace(0, np.pi if p == 1 else 2 * np.pi, k, endpoint=p == 1)
    centres = np.pad(np.column_stack([np.cos(angles), np.sin(angles)]), ((0, 0), (0, max(p, 2) - 2)))[:, :p]
    y = np.arange(12) % k
    np.testing.assert_array_equal(discretize(centres[y], k, random_state=0), y)


def test_yu_and_shis_start_picks_one_row_of_each_direction() -> None:
    V, y = planted(12, 60, 0)
    noise = 0.01 * np.random.default_rng(0).standard_normal(V.shape)
    points = module._distinct(np.vstack([V + noise, np.zeros((1, 12))]), 12, True)
    scores = V @ module._orthogonal_rows(points, 12)
    np.testing.assert_allclose(np.sort(scores, axis=1), np.sort(np.eye(12)[y], axis=1), atol=0.1)


def test_yu_and_shis_start_takes_no_row_twice_when_there_are_fewer_vectors_than_clusters() -> None:
    points = module._distinct(np.array([[1.0], [-0.5]]), 2, False)
    np.testing.assert_allclose(module._orthogonal_rows(points, 2), np.array([[2.0, -1.0]]) / np.sqrt(5))


def test_one_random_start_beside_that_one_suffices_for_many_noisy_groups() -> None:
    for seed in range(10):
        V, y = planted(40, 400, seed)
        noise = 0.02 * np.random.default_rng(seed).standard_normal(V.shape)
        assert error_rate(y, discretize(V + noise, n_init=1, random_state=seed)) == 0


def test_kmeans_counts_every_copy_of_a_point() -> None:
    V = np.array([[0.0]] * 20 + [[1.0], [2.2]])
    np.testing.assert_array_equal(kmeans(V, 2, n_init=40, random_state=0), [0] * 20 + [1, 1])
    np.testing.assert_array_equal(kmeans(V[19:], 2, random_state=0), [0, 0, 1])


def test_each_point_is_nearest_to_the_mean_of_its_own_cluster() -> None:
    V = np.random.default_rng(10).standard_normal((20, 3))
    weighted = np.vstack([V, V[:5], V[:5]])
    labels = kmeans(weighted, 3, random_state=0)
    centres = np.array([weighted[labels == c].mean(axis=0) for c in range(3)])
    nearest = np.linalg.norm(weighted[:, None] - centres, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, labels)


def test_the_vectors_of_kmeans_may_be_fewer_than_the_clusters() -> None:
    V = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    np.testing.assert_array_equal(kmeans(V, 3, random_state=0), [0, 0, 1, 1, 2, 2])


def test_a_cluster_that_kmeans_loses_is_refilled_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loses(module.KMeans):  # type: ignore[misc, name-defined]
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # noqa: ARG002
            warnings.warn("fewer clusters", ConvergenceWarning, stacklevel=2)
            self.labels_ = np.zeros(len(X), dtype=np.int32)
            return self

    monkeypatch.setattr(module, "KMeans", Loses)
    labels = kmeans(np.random.default_rng(11).standard_normal((10, 2)), 4)
    np.testing.assert_array_equal(np.unique(labels), np.arange(4))


def test_no_svd_failure_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    real = linalg.svd

    def fails(A: Any, *, lapack_driver: str, **options: Any) -> Any:
        if lapack_driver == "gesdd":
            raise linalg.LinAlgError("SVD did not converge")
        return real(A, lapack_driver=lapack_driver, **options)

    V, y = planted(4, 30, 1)
    monkeypatch.setattr("ldssc.embedding.linalg.svd", fails)
    assert error_rate(y, discretize(V, random_state=0)) == 0


# --- bad input ---------------------------------------------------------------------------------------------------

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("vectors", "k", "options", "sentence"),
    [
        (VECTORS, 2, {"method": "cluster"}, "assign_labels='cluster' is not known; valid names: discretize, kmeans"),
        (VECTORS, 2, {"n_init": 0}, "n_init must be at least 1, and is 0"),
        (VECTORS, 2, {"random_state": "seed"}, "random_state must be None, a whole number"),
        (VECTORS, 0, {}, "n_clusters must be at least 1, and is 0"),
        (VECTORS, 2.0, {"method": "kmeans"}, "n_clusters must be a whole number, and is 2.0"),
        (
            VECTORS,
            4,
            {"method": "kmeans"},
            "vectors has only 3 distinct rows, which cannot make 4 non-empty clusters; ask for",
        ),
        (np.ones((5, 2)), 2, {}, "vectors has only 1 distinct rows, which cannot make 2 non-empty clusters"),
        (np.ones((0, 2)), 2, {}, r"vectors is empty \(shape \(0, 2\)\)"),
        (np.array([[1.0, np.inf]]), 2, {}, r"vectors has 1 entries that are NaN or infinite, the first at \[0, 1\]"),
        (np.ones(3), 1, {}, "vectors must have two dimensions, and has 1"),
    ],
)
def test_bad_input_is_named(vectors: Any, k: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        assign_labels(vectors, k, **options)


@pytest.mark.parametrize(
    ("option", "sentence"), [({"max_iter": 0}, "max_iter must be at"), ({"tol": -1}, "tol must be")]
)
def test_bad_options_of_discretize_are_named(option: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        discretize(VECTORS, **option)
