"""Each normalisation against its definition, written once more with plain loops or by another method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from strategies import AFFINITIES, ORDINARY, SEEDS, graph, positive, random, random_feasible, symmetric_matrices

from ldssc.normalization import NORMALIZATIONS, normalize
from ldssc.solvers import project

Array = np.ndarray[Any, np.dtype[np.float64]]
examples = settings(max_examples=50)
few = settings(max_examples=20)
affinities = symmetric_matrices(AFFINITIES, sometimes=30)
positives = symmetric_matrices([positive], sometimes=30)


@examples
@given(symmetric_matrices(sometimes=30))
def test_none_is_the_matrix_itself(K: Array) -> None:
    np.testing.assert_array_equal(normalize(K, "none"), K)


@examples
@given(affinities)
def test_ratio_cut_is_K_minus_D_plus_I(K: Array) -> None:
    n = len(K)
    expected = K.copy()
    for i in range(n):
        expected[i, i] = K[i, i] - sum(K[i, j] for j in range(n)) + 1
    F = normalize(K, "ratio-cut")
    np.testing.assert_allclose(F, expected, atol=1e-13 * n)
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-13 * n)


@few
@given(affinities, SEEDS)
def test_ratio_cut_is_a_nearest_matrix_with_unit_rows_in_the_L1_norm(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    F = normalize(K, "ratio-cut")
    other = F + random(rng, len(K)) * rng.choice([1e-3, 1.0])
    other -= np.diag(other.sum(axis=1) - 1)
    assert np.abs(F - K).sum() <= np.abs(other - K).sum() + 1e-10


def test_ratio_cut_of_unit_rows_is_idempotent() -> None:
    F = random_feasible(np.random.default_rng(0), 9)
    np.testing.assert_allclose(normalize(F, "ratio-cut"), F, atol=1e-15)


@examples
@given(positives)
def test_normalized_cut_divides_by_the_roots_of_both_degrees(K: Array) -> None:
    n = len(K)
    degrees = [sum(K[i, j] for j in range(n)) for i in range(n)]
    expected = [[K[i, j] / np.sqrt(degrees[i] * degrees[j]) for j in range(n)] for i in range(n)]
    np.testing.assert_allclose(normalize(K, "normalized-cut"), expected, rtol=1e-13)


@examples
@given(positives)
def test_normalized_cut_has_largest_eigenvalue_one(K: Array) -> None:
    assert np.linalg.eigvalsh(normalize(K, "normalized-cut"))[-1] == pytest.approx(1, abs=1e-13)


def test_normalized_cut_of_a_doubly_stochastic_matrix_changes_nothing() -> None:
    F = random_feasible(np.random.default_rng(0), 9)
    np.testing.assert_allclose(normalize(F, "normalized-cut"), F, atol=1e-15)


@examples
@given(positives, st.sampled_from([1e-300, 1e-3, 1.0, 1e6]))
def test_sinkhorn_has_unit_rows_and_the_form_DKD_whatever_the_scale(K: Array, scale: float) -> None:
    """D₁KD₁ with unit rows is unique, and the minimiser of the relative entropy."""
    F = normalize(scale * K, "sinkhorn")
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(F, F.T, rtol=1e-12)
    d = np.sqrt(F.diagonal() / K.diagonal())
    np.testing.assert_allclose(F, K * d[:, None] * d[None, :], rtol=1e-9)


@few
@given(positives, SEEDS)
def test_sinkhorn_minimises_the_relative_entropy(K: Array, seed: int) -> None:
    F = normalize(K, "sinkhorn")
    other = 0.9 * F + 0.1 * random_feasible(np.random.default_rng(seed), len(K))
    other = 0.99 * other + 0.01 / len(K)

    def entropy(A: Array) -> float:
        return float((A * np.log(A / K)).sum())

    assert entropy(F) <= entropy(other) + 1e-8


@few
@given(positives)
def test_sinkhorn_is_idempotent_and_its_first_step_is_the_normalised_cut(K: Array) -> None:
    F = normalize(K, "sinkhorn")
    np.testing.assert_allclose(normalize(F, "sinkhorn"), F, atol=1e-9)
    with pytest.warns(ConvergenceWarning):
        once = normalize(K + np.diag(np.arange(len(K)) + 1.0), "sinkhorn", max_iter=1, tol=1e-300)
    np.testing.assert_allclose(once, normalize(K + np.diag(np.arange(len(K)) + 1.0), "normalized-cut"), rtol=1e-14)


def test_sinkhorn_on_a_star_says_that_it_does_not_converge() -> None:
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = 1
    with pytest.warns(ConvergenceWarning, match=r"stopped after 200 steps with rows off by .*zeros .*'frobenius'"):
        F = normalize(star, "sinkhorn", max_iter=200)
    assert np.isfinite(F).all()


@examples
@given(symmetric_matrices(sometimes=30), SEEDS)
def test_frobenius_is_the_nearest_doubly_stochastic_matrix(K: Array, seed: int) -> None:
    """⟨K − F, Y − F⟩ ≤ 0 for Y in D: identity, 11ᵀ/n, membership matrices, symmetrised permutations."""
    rng = np.random.default_rng(seed)
    n = len(K)
    F = normalize(K, "frobenius")
    np.testing.assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12
    P = np.eye(n)[rng.permutation(n)]
    for Y in (np.eye(n), np.full((n, n), 1 / n), random_feasible(rng, n), (P + P.T) / 2):
        assert ((K - F) * (Y - F)).sum() <= 1e-12 * n * (1 + np.linalg.norm(K)) ** 2


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("kind", [random, positive, graph])
def test_frobenius_has_unit_rows_at_large_scales(kind: Any, scale: float) -> None:
    """Large K: the answer is a vertex, and its support may be bipartite: there Newton's matrix is singular."""
    for n in (5, 12, 30, 60):
        for seed in range(5):
            F = normalize(scale * kind(np.random.default_rng(seed), n), "frobenius")
            assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12, (n, seed)


def dykstra(K: Array, steps: int) -> Array:
    """Projection on D by Dykstra's algorithm: alternate {F1 = 1} and {F ≥ 0}, with the correction of the latter."""
    n = len(K)
    F, correction = K, np.zeros_like(K)
    for _ in range(steps):
        r = F.sum(axis=1) - 1
        F = F - (r[:, None] + r[None, :]) / n + r.sum() / n**2
        G = np.maximum(F + correction, 0)
        correction, F = F + correction - G, G
    return F


@few
@given(symmetric_matrices(ORDINARY, largest=8))
def test_frobenius_agrees_with_dykstras_algorithm(K: Array) -> None:
    slow = dykstra(K, 4000)
    off = np.abs(slow.sum(axis=1) - 1).max()
    assert np.abs(normalize(K, "frobenius") - slow).max() <= 1e-6 + 50 * off


@few
@given(symmetric_matrices(ORDINARY))
def test_frobenius_is_idempotent(K: Array) -> None:
    F = normalize(K, "frobenius")
    np.testing.assert_allclose(normalize(F, "frobenius"), F, atol=1e-12)


@examples
@given(symmetric_matrices(ORDINARY, sometimes=30), st.integers(0, 5))
def test_successive_projections_are_two_steps_in_turn_without_correction(K: Array, steps: int) -> None:
    n = len(K)
    F = K.copy()
    for _ in range(steps):
        rows = [sum(F[i, j] for j in range(n)) for i in range(n)]
        total = sum(rows)
        F = np.array(
            [[max(F[i, j] + 1 / n - rows[i] / n - rows[j] / n + total / n**2, 0) for j in range(n)] for i in range(n)]
        )
    np.testing.assert_allclose(
        normalize(K, "frobenius-successive", n_steps=steps), F, atol=1e-12 * (1 + np.abs(K).max())
    )


@few
@given(symmetric_matrices(ORDINARY))
def test_successive_projections_end_near_D_but_no_nearer_to_K_than_the_projection(K: Array) -> None:
    F = normalize(K, "frobenius-successive", n_steps=3000)
    assert F.min() >= 0
    off = np.abs(F.sum(axis=1) - 1).max()
    assert off <= 1e-2 * (1 + np.abs(K).max())
    assert np.linalg.norm(normalize(K, "frobenius") - K) <= np.linalg.norm(F - K) + len(K) * (off + 1e-14) * (
        1 + np.abs(K).max()
    )


def test_successive_projections_differ_from_the_projection_somewhere() -> None:
    K = random(np.random.default_rng(5), 8)
    there = normalize(K, "frobenius-successive", n_steps=5000)
    assert np.abs(there.sum(axis=1) - 1).max() <= 1e-8
    assert np.linalg.norm(there - normalize(K, "frobenius")) > 1e-3


def test_semidefinite_is_the_projection_and_takes_its_options() -> None:
    K = positive(np.random.default_rng(3), 6)
    F = normalize(K, tol=1e-3, solver="ld-ssc1")
    np.testing.assert_array_equal(F, project(K, tol=1e-3, solver="ld-ssc1").F)
    assert np.linalg.eigvalsh(F)[0] >= 0


def test_semidefinite_says_what_it_could_not_prove() -> None:
    K = positive(np.random.default_rng(3), 6)
    with pytest.warns(
        ConvergenceWarning, match=r"solver 'ld-ssc2': stopped after the allowed .*; distance proven .*, asked"
    ):
        normalize(K, "semidefinite", solver="ld-ssc2", tol=1e-9, max_iter=2)


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_every_normalisation_commutes_with_permutations(name: str) -> None:
    rng = np.random.default_rng(11)
    K = positive(rng, 9)
    order = rng.permutation(9)
    options = {"tol": 1e-3} if name == "semidefinite" else {}
    expected = normalize(K, name, **options)[np.ix_(order, order)]
    tolerance = 2e-3 * np.linalg.norm(expected) if options else 1e-9
    assert np.linalg.norm(normalize(K[np.ix_(order, order)], name, **options) - expected) <= tolerance


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_every_normalisation_says_in_its_docstring_what_it_is(name: str) -> None:
    doc = NORMALIZATIONS[name].__doc__ or ""
    assert any(word in doc for word in ("minimise", "nearest", "project")), doc
