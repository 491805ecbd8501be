"""The stored exact cases satisfy the optimality conditions (2): in float64 all of them, in 50 digits five of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact.load import ExactCase, load_cases

CASES = load_cases()
PRECISE = ["gaussian-zero-diagonal", "knn-graph", "scale-1e3", "repeated-rows", "negative-entries"]
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def scale(case: ExactCase) -> float:
    return max(1.0, float(np.abs(case.K).max()))


def residuals(case: ExactCase) -> dict[str, float]:
    """How far the case is from each condition of optimality, in float64."""
    K, F, u, Q, Z = case.K, case.F, case.u, case.Q, case.Z
    return {
        "symmetry": max(float(np.abs(A - A.T).max()) for A in (K, F, Q, Z)),
        "stationarity": float(np.abs(F - (K + u[:, None] + u + Q + Z)).max()),
        "rows": float(np.abs(F.sum(axis=1) - 1).max()),
        "F_sign": -float(F.min()),
        "Q_sign": -float(Q.min()),
        "F_eigenvalue": -float(np.linalg.eigvalsh(F)[0]),
        "Z_eigenvalue": -float(np.linalg.eigvalsh(Z)[0]),
        "F_dot_Q": abs(float((F * Q).sum())),
        "F_dot_Z": abs(float((F * Z).sum())),
    }


def test_there_are_100_distinct_cases_of_2_to_12_points_and_many_have_both_multipliers() -> None:
    assert len(CASES) == 100
    assert len({case.name for case in CASES}) == 100
    assert len({case.K.tobytes() for case in CASES}) == 100
    assert {len(case.K) for case in CASES} == set(range(2, 13))
    assert sum(case.rank > 0 and bool(case.Q.any()) for case in CASES) >= 45


@by_name
def test_stored_solution_satisfies_the_optimality_conditions_in_float64(case: ExactCase) -> None:
    assert max(residuals(case).values()) <= 1e-12 * scale(case)


@by_name
def test_rank_of_Z_is_the_stored_one_and_low_parts_are_rounding_errors(case: ExactCase) -> None:
    values = np.linalg.eigvalsh(case.Z)
    assert case.rank == int((values > 1e-12 * scale(case)).sum())
    for name in ("F", "u", "Q", "Z"):
        half_unit = np.spacing(np.abs(getattr(case, name))) / 2
        assert (np.abs(getattr(case, f"{name}_low")) <= half_unit).all()


@by_name
def test_residuals_found_in_100_digits_prove_30_digits_of_F(case: ExactCase) -> None:
    assert case.residuals.shape == (8,)
    assert case.residuals[:-1].max() <= 1e-60
    assert case.residuals[-1] <= 1e-30


@pytest.mark.parametrize("kind", PRECISE)
def test_stored_solution_satisfies_the_optimality_conditions_in_50_digits(kind: str) -> None:
    mp = pytest.importorskip("mpmath")
    exact = np.frompyfunc(mp.mpf, 1, 1)
    case = [case for case in CASES if case.kind == kind][-1]
    with mp.workdps(50):
        F, u, Q, Z = (exact(getattr(case, k)) + exact(getattr(case, f"{k}_low")) for k in ("F", "u", "Q", "Z"))
        errors = {
            "stationarity": abs(F - (exact(case.K) + u[:, None] + u[None, :] + Q + Z)).max(),
            "rows": abs(F.sum(axis=1) - 1).max(),
            "F_sign": -F.min(),
            "Q_sign": -Q.min(),
            "F_eigenvalue": -min(mp.eigsy(mp.matrix(F.tolist()), eigvals_only=True)),
            "Z_eigenvalue": -min(mp.eigsy(mp.matrix(Z.tolist()), eigvals_only=True)),
            "F_dot_Q": abs((F * Q).sum()),
            "F_dot_Z": abs((F * Z).sum()),
        }
        assert {name: float(error) for name, error in errors.items() if error > 1e-28 * scale(case)} == {}


def test_identity_plus_constant_has_its_closed_form() -> None:
    """(16)"""
    for case in (case for case in CASES if case.kind == "identity-plus-constant"):
        n, a = len(case.K), np.clip(case.K[0, 0] - case.K[0, 1], 0, 1)
        np.testing.assert_allclose(case.F, a * np.eye(n) + (1 - a) / n, rtol=2e-16, atol=0)


def test_a_feasible_matrix_is_its_own_projection() -> None:
    for case in (case for case in CASES if case.kind == "already-feasible"):
        np.testing.assert_array_equal(case.F, case.K)
        assert not case.Q.any()
        assert case.rank == 0


@pytest.mark.parametrize("name", ["F", "u", "Q", "Z"])
def test_a_disturbed_case_is_noticed(name: str) -> None:
    for case in CASES:
        disturbed = getattr(case, name).copy()
        disturbed.flat[0] += 1e-11 * scale(case)
        assert max(residuals(replace(case, **{name: disturbed})).values()) > 1e-12 * scale(case)


def test_a_stored_case_is_made_again_by_its_script() -> None:
    pytest.importorskip("mpmath")
    pytest.importorskip("clarabel")
    from exact.make_cases import solve_exactly

    case = max((case for case in CASES if len(case.K) <= 8), key=lambda case: case.rank * np.count_nonzero(case.Q))
    again = solve_exactly(case.K)
    assert again is not None
    difference = (again["F"] - case.F) + (again["F_low"] - case.F_low)
    assert np.abs(difference).max() <= 1e-30
