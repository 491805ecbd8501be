"""Projections: each is characterised by what the nearest point of a convex set must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    ANY,
    ORDINARY,
    SEEDS,
    blocks,
    gaussian,
    graph,
    membership,
    minus_distances,
    random,
    random_feasible,
    symmetric_matrices,
    zero_diagonal,
)

from ldssc.projections import (
    balance,
    center,
    dense,
    eigen,
    eigh,
    gram,
    project_doubly_stochastic,
    project_semidefinite,
    row_shift,
    split,
    spread,
)

Array = np.ndarray[Any, np.dtype[np.float64]]
matrices = symmetric_matrices(sometimes=30)
ordinary = symmetric_matrices(ORDINARY, sometimes=30)
examples = settings(max_examples=60)
few = settings(max_examples=25)


def size(A: Array) -> float:
    return 1 + float(np.linalg.norm(A))


def permuted(A: Array, order: Array) -> Array:
    return A[np.ix_(order, order)]


# --- the cone S+


@examples
@given(matrices)
def test_split_gives_two_orthogonal_semidefinite_parts_of_A(A: Array) -> None:
    plus, minus, values = split(A)
    scale = 1e-13 * np.linalg.norm(A) + 1e-300
    assert np.abs(plus - minus - A).max() <= scale
    assert la.eigvalsh(plus)[0] >= -scale
    assert la.eigvalsh(minus)[0] >= -scale
    assert np.linalg.norm(plus @ minus) <= scale * (1 + np.linalg.norm(A))
    np.testing.assert_allclose(values, la.eigvalsh(A), atol=scale)
    np.testing.assert_array_equal(plus, plus.T)
    np.testing.assert_array_equal(minus, minus.T)


@pytest.mark.parametrize("shift", [-3.0, 3.0], ids=["mostly negative", "mostly positive"])
def test_split_takes_either_side_and_both_agree(shift: float) -> None:
    A = random(np.random.default_rng(4), 9) + shift * np.eye(9)
    w, U = np.linalg.eigh(A)
    np.testing.assert_allclose(split(A).plus, (U * np.maximum(w, 0)) @ U.T, atol=1e-13)
    np.testing.assert_allclose(split(A).minus, (U * np.maximum(-w, 0)) @ U.T, atol=1e-13)


def test_split_uses_the_eigendecomposition_it_is_given_once() -> None:
    calls = []

    def counted(A: Array, /) -> tuple[Array, Array]:
        calls.append(A)
        return eigh(A)

    split(np.diag([1.0, -1.0]), counted)
    project_semidefinite(np.eye(3), counted)
    assert len(calls) == 2


def test_eigh_falls_back_to_the_slower_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    real = la.eigh

    def fails_fast(A: Array, driver: str, check_finite: bool) -> tuple[Array, Array]:
        if driver == "evd":
            raise la.LinAlgError("no convergence")
        return real(A, driver=driver, check_finite=check_finite)

    monkeypatch.setattr(eigen.la, "eigh", fails_fast)
    w, U = eigh(np.diag([2.0, 1.0]))
    np.testing.assert_allclose(w, [1, 2])
    np.testing.assert_allclose(np.abs(U), [[0, 1], [1, 0]])


def test_gram_is_symmetric_to_the_last_bit() -> None:
    V = np.random.default_rng(0).normal(size=(40, 7))
    np.testing.assert_array_equal(gram(V), gram(V).T)
    np.testing.assert_allclose(gram(V), V @ V.T, rtol=1e-13, atol=1e-13)


# --- the affine set F1 = 1, with and without F ⪰ 0 (5)


@examples
@given(matrices)
def test_center_is_PAP_and_row_shift_projects_on_unit_rows(A: Array) -> None:
    n = len(A)
    P = np.eye(n) - 1 / n
    scale = 1e-13 * size(A)
    assert np.abs(center(A) - P @ A @ P).max() <= scale
    np.testing.assert_array_equal(center(A), center(A).T)
    assert np.abs((A + spread(row_shift(A))).sum(axis=1) - 1).max() <= n * scale
    assert np.abs(A + spread(row_shift(A)) - (center(A) + 1 / n)).max() <= scale


@examples
@given(matrices, SEEDS)
def test_semidefinite_projection_satisfies_its_optimality_conditions(A: Array, seed: int) -> None:
    """F = A + M + Z, F1 = 1, F ⪰ 0, Z ⪰ 0, ⟨F, Z⟩ = 0 characterise the projection (5); then ⟨A − F, Y − F⟩ ≤ 0."""
    F, u, Z, _ = project_semidefinite(A)
    scale = 1e-12 * size(A)
    assert np.abs(F - (A + spread(u) + Z)).max() <= scale
    assert np.abs(F.sum(axis=1) - 1).max() <= scale
    assert la.eigvalsh(F)[0] >= -scale
    assert la.eigvalsh(Z)[0] >= -scale
    assert abs((F * Z).sum()) <= scale * size(A)
    np.testing.assert_array_equal(F, F.T)
    np.testing.assert_array_equal(Z, Z.T)
    Y = random_feasible(np.random.default_rng(seed), len(A))
    assert ((A - F) * (Y - F)).sum() <= scale * size(A)


@few
@given(ordinary)
def test_semidefinite_projection_is_idempotent(A: Array) -> None:
    F = project_semidefinite(A).F
    assert np.abs(project_semidefinite(F).F - F).max() <= 1e-12 * size(A)


# --- the doubly stochastic matrices D (6)


@examples
@given(matrices, SEEDS)
def test_doubly_stochastic_projection_satisfies_its_optimality_conditions(A: Array, seed: int) -> None:
    """F = max(A + M, 0) with F1 = 1 characterises the projection (6); then ⟨A − F, Y − F⟩ ≤ 0 for Y in D."""
    F, u, *_ = project_doubly_stochastic(A)
    n = len(A)
    np.testing.assert_array_equal(F, np.maximum(A + spread(u), 0))
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-14 * n * size(A)
    Y = random_feasible(np.random.default_rng(seed), n)
    assert ((A - F) * (Y - F)).sum() <= 1e-13 * n * size(A) ** 2


@examples
@given(ordinary, SEEDS)
def test_doubly_stochastic_projection_is_idempotent_nonexpansive_and_commutes_with_permutations(
    A: Array, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, tolerance = len(A), 1e-11 * size(A)
    F = project_doubly_stochastic(A).F
    assert np.linalg.norm(project_doubly_stochastic(F).F - F) <= tolerance
    B = A + rng.choice([1e-6, 1e-2, 1.0]) * random(rng, n)
    assert np.linalg.norm(project_doubly_stochastic(B).F - F) <= np.linalg.norm(B - A) + tolerance
    order = rng.permutation(n)
    assert np.abs(project_doubly_stochastic(permuted(A, order)).F - permuted(F, order)).max() <= tolerance


@few
@given(ordinary, SEEDS)
def test_offsets_of_rows_and_columns_change_no_projection(A: Array, seed: int) -> None:
    """(14)"""
    rng = np.random.default_rng(seed)
    a = rng.choice([1e-3, 1.0, 1e3]) * rng.normal(size=len(A))
    B = A + spread(a)
    tolerance = 1e-11 * size(B)
    assert np.abs(project_doubly_stochastic(B).F - project_doubly_stochastic(A).F).max() <= tolerance
    assert np.abs(project_semidefinite(B).F - project_semidefinite(A).F).max() <= tolerance


@pytest.mark.parametrize("kind", [random, gaussian, zero_diagonal, graph, blocks, minus_distances])
def test_conjugate_gradients_and_cholesky_give_the_same_projection(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    A = kind(np.random.default_rng(8), 40)
    direct = project_doubly_stochastic(A)
    monkeypatch.setattr(dense, "_CHOLESKY", 0)
    iterative = project_doubly_stochastic(A)
    assert np.abs(direct.F - iterative.F).max() <= 1e-12 * size(A)
    assert direct.steps <= 40


def test_doubly_stochastic_projection_starts_anywhere_and_leaves_the_start_alone() -> None:
    A = zero_diagonal(np.random.default_rng(1), 12)
    F, u, steps, _ = project_doubly_stochastic(A)
    far = np.random.default_rng(2).normal(scale=100, size=12)
    kept = far.copy()
    np.testing.assert_allclose(project_doubly_stochastic(A, far).F, F, atol=1e-12)
    np.testing.assert_array_equal(far, kept)
    again = project_doubly_stochastic(A, u)
    assert again.steps <= 1 < steps
    np.testing.assert_allclose(again.F, F, atol=1e-13)


@pytest.mark.parametrize("n", [2, 5, 250])
def test_star_graph_whose_jacobian_is_singular_is_projected(n: int) -> None:
    """A star has no doubly stochastic matrix on its zeros: the projection must leave its support."""
    A = np.zeros((n, n))
    A[0, 1:] = A[1:, 0] = 1e3
    F = project_doubly_stochastic(A).F
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-9
    Y = np.full((n, n), 1 / n)
    assert ((A - F) * (Y - F)).sum() <= 1e-6
    assert ((A - F) * (np.eye(n) - F)).sum() <= 1e-6


# --- diagonal scaling


@examples
@given(SEEDS, st.integers(1, 30), st.sampled_from([1e-10, 1e-6, 1e-3]))
def test_balance_restores_unit_rows_and_keeps_zeros_and_semidefiniteness(seed: int, n: int, off: float) -> None:
    rng = np.random.default_rng(seed)
    F = membership(rng, n) * np.outer(*[1 + off * rng.normal(size=n)] * 2)
    balanced = balance(F)
    assert np.abs(balanced.sum(axis=1) - 1).max() <= 1e-14 * max(n, 4)
    np.testing.assert_array_equal(balanced > 0, F > 0)
    np.testing.assert_array_equal(balanced, balanced.T)
    assert la.eigvalsh(balanced)[0] >= -1e-14 * n
    assert np.linalg.norm(balanced - F) <= 10 * n * off


@few
@given(symmetric_matrices(ANY))
def test_balance_leaves_what_is_far_from_doubly_stochastic_finite(A: Array) -> None:
    assert np.isfinite(balance(np.maximum(A, 0))).all()
