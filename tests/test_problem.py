"""The problem as an object: gradients, duality, recovery, and the repair of any matrix into a feasible one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exact.load import ExactCase, load_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    ANY,
    ORDINARY,
    SEEDS,
    huge,
    membership,
    random,
    random_feasible,
    symmetric_matrices,
    zero_diagonal,
)

from ldssc.problem import (
    Problem,
    lowest_eigenvalue,
    make_rows_exact,
    reduced_dual,
)
from ldssc.projections import spread


def make_feasible(F: Any, *lowest: float) -> Any:
    return Problem(F).make_feasible(F, *lowest)


Array = np.ndarray[Any, np.dtype[np.float64]]
CASES = load_cases()
examples = settings(max_examples=60)


def objective(F: Array, K: Array) -> float:
    return float(((F - K) ** 2).sum() / 2)


def random_multipliers(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    scale = rng.choice([1e-3, 1.0, 1e2])
    V = rng.normal(size=(n, max(1, n // 3)))
    Q = np.maximum(random(rng, n), 0) * scale
    return scale * rng.normal(size=n), Q, scale * (V @ V.T + (V @ V.T).T) / 2


def assert_feasible(F: Array) -> None:
    """In D ∩ S₊: signs and symmetry exactly, rows and the lowest eigenvalue to rounding."""
    np.testing.assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-13
    assert np.linalg.eigvalsh(F)[0] >= 0


# --- gradients (4) and duality (3)


@examples
@given(symmetric_matrices(ORDINARY), SEEDS)
def test_gradients_of_the_reduced_dual_are_those_of_finite_differences(K: Array, seed: int) -> None:
    """(4)"""
    rng = np.random.default_rng(seed)
    n = len(K)
    u, Q, _ = random_multipliers(rng, n)
    du, dQ = rng.normal(size=n), random(rng, n)
    at = reduced_dual(K, u, Q)
    h = 1e-5
    ahead, behind = (reduced_dual(K, u + s * du, Q + s * dQ).value for s in (h, -h))
    slope = float(at.gradient_u @ du + (at.F * dQ).sum())
    size = (1 + np.linalg.norm(K) + np.linalg.norm(Q) + n * np.abs(u).max()) ** 2
    # second differences of ½‖X₊‖² are bounded by ‖change‖², so central ones err by less than that times h
    assert abs((ahead - behind) / (2 * h) - slope) <= h * np.linalg.norm(spread(du) + dQ) ** 2 + 1e-9 * size
    kink_free = abs(ahead + behind - 2 * at.value) / h**2
    assert -1e-3 * size <= kink_free <= np.linalg.norm(spread(du) + dQ) ** 2 + 1e-4 * size


@examples
@given(symmetric_matrices(ORDINARY), SEEDS)
def test_reduced_dual_is_the_dual_at_the_best_Z(K: Array, seed: int) -> None:
    """Removing Z from (3) gives (4): its value up to sign and ½‖K‖², its F = (K + M + Q)₊ and its Z by (2)."""
    rng = np.random.default_rng(seed)
    u, Q, Z = random_multipliers(rng, len(K))
    at = reduced_dual(K, u, Q)
    size = 1 + np.linalg.norm(K) ** 2 + np.linalg.norm(spread(u) + Q) ** 2
    assert abs(Problem(K).dual_value(u, Q, at.Z) - ((K**2).sum() / 2 - at.value)) <= 1e-12 * size
    assert Problem(K).dual_value(u, Q, Z) <= Problem(K).dual_value(u, Q, at.Z) + 1e-12 * (size + np.linalg.norm(Z) ** 2)
    assert np.abs(at.F - Problem(K).recover(u, Q, at.Z)).max() <= 1e-13 * size
    assert abs((at.F * at.Z).sum()) <= 1e-12 * size
    assert np.linalg.eigvalsh(at.Z)[0] >= -1e-12 * size
    np.testing.assert_allclose(at.gradient_u, 2 * (at.F.sum(axis=1) - 1), atol=1e-12 * size)


@examples
@given(symmetric_matrices(), SEEDS)
def test_weak_duality_no_dual_value_is_above_the_objective_of_a_feasible_matrix(K: Array, seed: int) -> None:
    """(3)"""
    rng = np.random.default_rng(seed)
    u, Q, Z = random_multipliers(rng, len(K))
    size = np.linalg.norm(K) ** 2 + np.linalg.norm(Problem(K).recover(u, Q, Z)) ** 2 + np.abs(u).sum()
    for F in (random_feasible(rng, len(K)), np.eye(len(K)), np.full_like(K, 1 / len(K))):
        assert Problem(K).dual_value(u, Q, Z) <= objective(F, K) + 1e-13 * size


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strong_duality_at_the_exact_solution(case: ExactCase) -> None:
    """d(u, Q, Z) = ½‖F* − K‖² and F* = K + M + Q + Z (2)."""
    K, F, u, Q, Z = case.K, case.F, case.u, case.Q, case.Z
    size = 1 + np.linalg.norm(K) ** 2 + np.linalg.norm(Q) ** 2 + np.linalg.norm(Z) ** 2
    assert Problem(K).dual_value(u, Q, Z) == pytest.approx(objective(F, K), abs=1e-14 * size)
    assert np.abs(Problem(K).recover(u, Q, Z) - F).max() <= 1e-15 * size


def test_dual_value_keeps_its_digits_where_K_is_large_and_the_multipliers_small() -> None:
    """½‖K‖² cancels: a K of size 1e8 must not drown a dual value of size 1."""
    K, zero = 1e8 * np.eye(4), np.zeros((4, 4))
    assert Problem(K).dual_value(np.full(4, 1e-9), zero, zero) == pytest.approx(8e-9 - 8 * 0.1, rel=1e-12)


# --- repair


@examples
@given(symmetric_matrices(sometimes=30))
def test_any_matrix_is_made_feasible(A: Array) -> None:
    assert_feasible(make_feasible(A))


@examples
@given(SEEDS, st.integers(1, 30), st.sampled_from([1e-13, 1e-9, 1e-6]))
def test_repair_moves_a_nearly_feasible_matrix_no_further_than_its_faults(seed: int, n: int, off: float) -> None:
    """(13), (13a): what is off by `off` moves by O(n · off)."""
    rng = np.random.default_rng(seed)
    F = membership(rng, n)
    damaged = F + off * random(rng, n)
    repaired = make_feasible(damaged)
    assert_feasible(repaired)
    assert np.linalg.norm(repaired - F) <= 20 * n * n * off + 1e-13 * n


def test_repair_does_not_touch_a_feasible_matrix_inside_the_cone() -> None:
    F = (np.eye(6) + np.full((6, 6), 1 / 6)) / 2
    np.testing.assert_allclose(make_feasible(F), F, atol=1e-16)


@pytest.mark.parametrize("function", [make_feasible, make_rows_exact])
def test_repair_leaves_its_argument_alone(function: Any) -> None:
    F = np.full((6, 6), 1 / 6)
    F[0, 1] = F[1, 0] = 1 / 6 + 1e-13
    kept = F.copy()
    function(F)
    np.testing.assert_array_equal(F, kept)
    exact_rows = np.full((10, 10), 0.1)  # 10 x 0.1 is not 1 in extended precision
    kept = exact_rows.copy()
    function(exact_rows)
    np.testing.assert_array_equal(exact_rows, kept)


def test_make_feasible_believes_the_eigenvalue_it_is_given() -> None:
    F = (np.eye(4) + np.full((4, 4), 0.25)) / 2
    assert lowest_eigenvalue(make_feasible(F, -0.25)) == pytest.approx((0.5 + 0.25) / 1.25, rel=1e-12)


@examples
@given(symmetric_matrices(sometimes=30), SEEDS)
def test_closing_on_either_side_gives_a_feasible_point_with_valid_multipliers(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, Q, Z = random_multipliers(rng, len(K))
    for point in (Problem(K).close_doubly_stochastic(Z), Problem(K).close_semidefinite(Q)):
        assert_feasible(point.F)
        assert point.Q.min() >= 0
        assert np.linalg.eigvalsh(point.Z)[0] >= -1e-12 * (np.linalg.norm(K) + np.linalg.norm(Q) + np.linalg.norm(Z))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_closing_at_the_exact_multipliers_gives_the_exact_matrix(case: ExactCase) -> None:
    """F* = Π_D(K + Z*) (6) and F* = 11ᵀ/n + (P(K + Q*)P)₊ (5)."""
    size = 1 + np.linalg.norm(case.K) + np.linalg.norm(case.Q) + np.linalg.norm(case.Z)
    for point in (Problem(case.K).close_doubly_stochastic(case.Z), Problem(case.K).close_semidefinite(case.Q)):
        assert np.linalg.norm(point.F - case.F) <= 1e-12 * size


def test_closing_does_not_depend_on_the_start_of_its_row_multiplier() -> None:
    """A solver's u is a start for Π_D, and may be far from the one that belongs to its Z."""
    K = zero_diagonal(np.random.default_rng(1), 12)
    Z = np.zeros_like(K)
    far = np.random.default_rng(2).normal(scale=100, size=12)
    np.testing.assert_allclose(
        Problem(K).close_doubly_stochastic(Z, far).F, Problem(K).close_doubly_stochastic(Z).F, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(6))
def test_closing_is_near_the_projection_when_the_entries_are_huge(seed: int) -> None:
    """Large K: F* is the best vertex. The proof at Z = 0 may be weak, the doubly stochastic side must be right."""
    K = huge(np.random.default_rng(seed), 8)
    Z = np.zeros_like(K)
    point = Problem(K).close_doubly_stochastic(Z)
    recovered = np.maximum(K + spread(point.u), 0)
    assert np.abs(recovered.sum(axis=1) - 1).max() <= 1e-8


def test_kinds_cover_what_was_asked_for() -> None:
    assert len({kind.__name__ for kind in ANY}) == 16
    for kind in ANY:
        for n in (1, 2, 9):
            K = kind(np.random.default_rng(n), n)
            assert K.shape == (n, n)
            np.testing.assert_array_equal(K, K.T)
            assert np.isfinite(K).all()
