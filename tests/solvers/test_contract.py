"""What every solver promises, on generated inputs and on the exact cases: a feasible F with a proof that holds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from auditor import audited_distance, multipliers_are_valid, rounding_of_auditor, true_distance
from exact.load import ExactCase, load_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY, ORDINARY, SEEDS, gaussian, membership, random, symmetric_matrices

from ldssc.certificate import certify
from ldssc.problem import Problem
from ldssc.solvers import SOLVERS, Result, Status, project

Array = np.ndarray[Any, np.dtype[np.float64]]
CASES = load_cases()
#: enough for a good answer on most small matrices, and a bounded time on all of them
BOUNDED: dict[str, dict[str, Any]] = {
    "auto": {"max_iter": 100},
    "ld-ssc1": {"max_iter": 10},
    "ld-ssc2": {"max_iter": 100},
    "accelerated": {"max_iter": 100},
    "splitting": {"max_iter": 100},
    "newton": {"max_iter": 100},
    "conic": {},
}
few = settings(max_examples=15)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def solve(K: Array, solver: str, **options: Any) -> Result:
    if solver == "conic":
        pytest.importorskip("cvxpy")
    return project(K, solver=solver, **(BOUNDED[solver] | options))


def assert_promises_kept(result: Result, K: Array) -> None:
    F, u, Q, Z = (np.asarray(part) for part in (result.F, result.u, result.Q, result.Z))
    for part in (F, u, Q, Z, result.iterate):
        assert part.dtype == np.float64
        assert np.isfinite(part).all()
    # feasibility
    np.testing.assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12
    assert np.linalg.eigvalsh(F)[0] >= -1e-12
    # the proof, by someone else
    assert multipliers_are_valid(K, Q, Z)
    claim = result.certificate
    audit = audited_distance(F, K, u, Q, Z)
    margin = rounding_of_auditor(F, K, u, Q, Z, np.longdouble)
    assert audit <= claim.distance * (1 + 1e-9) + margin
    plain = audited_distance(F, K, u, Q, Z, dtype=float)
    assert plain <= 2 * claim.distance + rounding_of_auditor(F, K, u, Q, Z)
    noise = 2e-15 * (
        1 + np.linalg.norm(K) + np.linalg.norm(Z)
    )  # what Z may miss of being semidefinite, and is paid for
    assert claim.distance <= 2 * audit + rounding_of_auditor(F, K, u, Q, Z) + np.sqrt(noise)
    # the record
    assert claim.row_sum == pytest.approx(np.abs(F.sum(axis=1) - 1).max(), abs=1e-14)
    assert claim.negativity == 0
    assert claim == certify(F, K, u, Q, Z)
    assert (result.status is Status.SOLVED) == (claim.distance <= result.tol) == result.solved
    distances = [record.distance for record in result.history]
    assert distances == sorted(distances, reverse=True)
    for earlier, later in zip(result.history, result.history[1:], strict=False):
        assert earlier.n_eig < later.n_eig
        assert earlier.iteration <= later.iteration
        assert earlier.seconds <= later.seconds
    assert result.n_eig >= result.history[-1].n_eig
    assert result.seconds >= result.history[-1].seconds
    primal, size = ((F - K) ** 2).sum() / 2, 1 + (K**2).sum() + (Q**2).sum() + (Z**2).sum()
    assert Problem(K).dual_value(u, Q, Z) <= primal + 1e-12 * size
    for record in result.history:
        assert record.dual <= primal + 1e-12 * size or record.distance > 1e-3


@every_solver
@settings(max_examples=30)
@given(K=symmetric_matrices(ANY, sometimes=30), tol=st.sampled_from([1e-2, 1e-6]))
def test_answer_is_feasible_and_its_proof_holds(solver: str, K: Array, tol: float) -> None:
    assert_promises_kept(solve(K, solver, tol=tol, time_limit=1), K)


@every_solver
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_claim_is_never_smaller_than_the_true_distance(solver: str, case: ExactCase) -> None:
    result = solve(case.K, solver)
    assert result.certificate.distance >= true_distance(result.F, case.F, case.F_low)
    assert_promises_kept(result, case.K)
    if np.abs(case.K).max() <= 10 and solver != "ld-ssc1":
        assert result.certificate.distance <= 0.1


@every_solver
@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name)
def test_proven_to_one_part_in_a_thousand_on_the_exact_cases(solver: str, case: ExactCase) -> None:
    """Without limits, every solver gets there where the entries are of ordinary size."""
    if np.abs(case.K).max() > 100:
        pytest.skip("entries of 1e3: the linear limit, slow for all of these")
    if solver == "ld-ssc1" and len(case.K) > 6:
        pytest.skip("hundreds of rounds: seconds a case")
    if solver == "conic":
        pytest.importorskip("cvxpy")
    result = project(case.K, solver=solver, tol=1e-3)
    assert result.solved, result
    assert true_distance(result.F, case.F, case.F_low) <= 1e-3


def test_auto_proves_the_default_tolerance_on_the_exact_cases() -> None:
    """`tol` is 1e-6 by default; what stalls on small ordinary matrices is no default."""
    ordinary = [case for case in CASES if np.abs(case.K).max() <= 10]
    short = [(case.name, project(case.K)) for case in ordinary]
    short = [(name, result.certificate.distance) for name, result in short if not result.solved]
    assert short == []


# --- theorems on the projection, up to the proven distances


def radius(result: Result) -> float:
    """‖F − F*‖ is at most this."""
    return result.certificate.distance * float(np.linalg.norm(result.F))


def near(A: Array, B: Array, allowed: float) -> None:
    assert np.linalg.norm(A - B) <= allowed * (1 + 1e-9) + 1e-13


def auto(K: Array) -> Result:
    return solve(K, "auto", tol=1e-5)


@few
@given(symmetric_matrices(ORDINARY, largest=9))
def test_projection_is_idempotent(K: Array) -> None:
    first = auto(K)
    again = auto(first.F)
    near(again.F, first.F, 1e-6)
    assert again.solved


@few
@given(symmetric_matrices(ORDINARY, largest=9), SEEDS)
def test_projection_is_nonexpansive(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    other = K + rng.choice([1e-4, 1e-2, 1.0]) * random(rng, len(K))
    one, two = auto(K), auto(other)
    near(one.F, two.F, float(np.linalg.norm(K - other)) + radius(one) + radius(two))


@few
@given(symmetric_matrices(ORDINARY, largest=9), SEEDS)
def test_projection_commutes_with_permutations(K: Array, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(K))
    one, two = auto(K), auto(K[np.ix_(order, order)])
    near(one.F[np.ix_(order, order)], two.F, radius(one) + radius(two))


@few
@given(symmetric_matrices(ORDINARY, largest=9), SEEDS)
def test_offsets_of_rows_and_columns_change_nothing(K: Array, seed: int) -> None:
    """(14)"""
    a = np.random.default_rng(seed).normal(size=len(K)) * 3
    one, two = auto(K), auto(K + a[:, None] + a[None, :])
    near(one.F, two.F, radius(one) + radius(two))


@every_solver
@pytest.mark.parametrize("alpha", [-2.0, 0.0, 0.3, 1.0, 1.7])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_identity_plus_constant_has_its_closed_form(solver: str, alpha: float, n: int) -> None:
    """(16)"""
    for beta in (-1.5, 0.0, 4.0):
        result = solve(alpha * np.eye(n) + beta, solver)
        a = float(np.clip(alpha, 0, 1))
        near(result.F, a * np.eye(n) + (1 - a) / n, radius(result))
        assert radius(result) <= (1e-3 if solver == "conic" else 1e-4)  # Clarabel 0.9 leaves 2e-4 at a corner


@few
@given(symmetric_matrices(ORDINARY, largest=9), SEEDS)
def test_projection_inequality_holds_for_identity_flat_and_membership_matrices(K: Array, seed: int) -> None:
    """(17) ⟨K − F*, Y − F*⟩ ≤ 0, and for an F at distance e at most e(‖Y − F‖ + ‖K − F‖)."""
    n, result = len(K), auto(K)
    F, e = result.F, radius(result)
    rng = np.random.default_rng(seed)
    for Y in (np.eye(n), np.full((n, n), 1 / n), membership(rng, n), membership(rng, n)):
        slack = e * (np.linalg.norm(Y - F) + np.linalg.norm(K - F))
        assert ((K - F) * (Y - F)).sum() <= slack * (1 + 1e-9) + 1e-12 * (1 + np.linalg.norm(K))


@settings(max_examples=8)
@given(symmetric_matrices(ORDINARY, largest=8))
def test_solvers_agree_pairwise_within_their_proven_distances(K: Array) -> None:
    results = [solve(K, name, tol=1e-4) for name in SOLVERS]
    for one, two in combinations(results, 2):
        near(one.F, two.F, radius(one) + radius(two))


@pytest.mark.parametrize("seed", range(6))
def test_solvers_agree_with_clarabel_on_the_problem_as_it_is_written(seed: int) -> None:
    """(1), modelled here once more, at n ≤ 10."""
    cvxpy = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    kind, n = (gaussian, random)[seed % 2], 4 + seed
    K = kind(np.random.default_rng(seed), n)
    X = cvxpy.Variable((n, n), PSD=True)
    model = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(X - K)), [X >= 0, cvxpy.sum(X, axis=0) == 1])
    model.solve(solver="CLARABEL")
    for solver in SOLVERS:
        result = solve(K, solver, tol=1e-5)
        near(result.F, X.value, radius(result) + 1e-4)
        assert np.linalg.norm(result.F - X.value) <= 0.1
