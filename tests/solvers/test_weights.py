"""Weights (19) and a prescribed trace (20): theorems, and agreement with a modelling tool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import gaussian, minus_distances, random, zero_diagonal

from ldssc import InputError, certify, project
from ldssc.projections import project_doubly_stochastic, project_semidefinite

GENERAL = ("auto", "accelerated", "splitting")
general = pytest.mark.parametrize("solver", GENERAL)
KINDS = (gaussian, minus_distances, random, zero_diagonal)
few = settings(max_examples=12)


def audited(result: Any, K: np.ndarray, weights: np.ndarray | None) -> float:
    """(12a) for G, by someone who knows nothing else."""
    s = np.ones(len(K)) if weights is None else np.sqrt(weights)
    G = result.F * np.outer(s, s)
    M = np.outer(result.u, s) + np.outer(s, result.u)
    a = np.linalg.norm(G - np.outer(s, s) * K - M - result.Q - result.Z - result.tau * np.eye(len(K)))
    c = max(0.0, float((G * (result.Q + result.Z)).sum())) + 2 * abs(result.u @ (G @ s - s))
    return float((a + np.sqrt(a * a + 4 * c)) / 2 / np.linalg.norm(G))


@general
@few
@given(st.sampled_from(KINDS), st.integers(0, 1000), st.integers(2, 8))
def test_integer_weights_are_repeated_rows(solver: str, kind: Any, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    w, K = rng.integers(1, 4, n), kind(rng, n)
    rows = np.repeat(np.arange(n), w)
    weighted = project(K, weights=w, solver=solver, tol=1e-4, max_iter=400)
    repeated = project(K[np.ix_(rows, rows)], tol=1e-4, max_iter=400)
    apart = np.linalg.norm(weighted.F[np.ix_(rows, rows)] - repeated.F)
    size = np.linalg.norm(repeated.F)
    assert apart <= size * (2 * weighted.certificate.distance + repeated.certificate.distance) + 1e-9
    np.testing.assert_allclose(weighted.F @ w, 1, atol=1e-12)


@general
@few
@given(st.sampled_from(KINDS), st.integers(0, 1000), st.floats(0, 1), st.booleans())
def test_weighted_answer_with_a_trace_is_feasible_and_its_proof_holds(
    solver: str, kind: Any, seed: int, share: float, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    K, trace = kind(rng, n), 1 + share * (n - 1)
    w = np.exp(rng.normal(size=n)) if weighted else None
    result = project(K, weights=w, trace=trace, solver=solver, tol=1e-4, max_iter=200)
    F, G = result.F, result.G
    assert F.min() >= 0
    np.testing.assert_array_equal(F, F.T)
    np.testing.assert_allclose(F @ (np.ones(n) if w is None else w), 1, atol=1e-12)
    assert np.linalg.eigvalsh(G)[0] >= -1e-12
    assert np.trace(G) == pytest.approx(trace, abs=1e-11)
    assert audited(result, K, w) <= 2 * result.certificate.distance + 1e-6  # the root of the auditor's own rounding
    again = certify(F, K, result.u, result.Q, result.Z, weights=w, trace=trace, tau=result.tau)
    assert again.distance == pytest.approx(result.certificate.distance, rel=1e-2, abs=1e-7)


@general
def test_equal_weights_change_nothing_but_the_scale(solver: str) -> None:
    """s = c·1: G = c²F' with F'1 = 1/c², so that F = G/c² solves (1) for K scaled by c²."""
    K = gaussian(np.random.default_rng(0), 9)
    three = project(K, weights=np.full(9, 3.0), solver=solver, tol=1e-7)
    plain = project(3 * K, solver=solver, tol=1e-7)
    np.testing.assert_allclose(3 * three.F, plain.F, atol=1e-6)


@general
@pytest.mark.parametrize("trace", [1, 5])
def test_extreme_traces_leave_one_matrix(solver: str, trace: float) -> None:
    K = zero_diagonal(np.random.default_rng(1), 5)
    only = np.full((5, 5), 0.2) if trace == 1 else np.eye(5)
    np.testing.assert_allclose(project(K, trace=trace, solver=solver, max_iter=50).F, only, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trace", [1.5, 3.0, 6.0])
def test_trace_agrees_with_clarabel(kind: Any, trace: float) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    K = kind(np.random.default_rng(2), 8)
    F = cvxpy.Variable((8, 8), symmetric=True)
    rules = [F >= 0, F >> 0, cvxpy.sum(F, axis=1) == 1, cvxpy.trace(F) == trace]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(F - K)), rules).solve(solver="CLARABEL")
    result = project(K, trace=trace, tol=1e-4)
    assert result.solved
    assert np.linalg.norm(result.F - F.value) <= 2e-3 * np.linalg.norm(result.F)


def test_wrong_trace_or_multiplier_is_not_certified() -> None:
    K = gaussian(np.random.default_rng(3), 8)
    result = project(K, trace=3, tol=1e-6)
    good = {"weights": None, "trace": 3.0, "tau": result.tau}
    parts = (result.F, K, result.u, result.Q, result.Z)
    assert certify(*parts, **good).distance <= 1e-6
    assert certify(*parts, **(good | {"tau": result.tau + 1})).distance > 1e-3
    assert certify(*parts, **(good | {"trace": 3.1})).distance > 1e-3
    assert certify(*parts).distance > 1e-3


@few
@given(st.integers(0, 1000), st.floats(1, 6))
def test_projections_with_weights_and_trace_satisfy_their_optimality_conditions(seed: int, trace: float) -> None:
    rng = np.random.default_rng(seed)
    A, s = random(rng, 6), np.exp(0.5 * rng.normal(size=6))
    F, u, _, tau = project_doubly_stochastic(A, s=s, trace=trace)
    np.testing.assert_allclose(F @ s, s, atol=1e-11)
    assert np.trace(F) == pytest.approx(trace, abs=1e-10)
    M = np.outer(u, s) + np.outer(s, u) + tau * np.eye(6)
    np.testing.assert_allclose(F, np.maximum(A + M, 0), atol=1e-11)
    F, u, Z, tau = project_semidefinite(A, s=s, trace=trace)
    np.testing.assert_allclose(F @ s, s, atol=1e-11)
    assert np.trace(F) == pytest.approx(trace, abs=1e-10)
    M = np.outer(u, s) + np.outer(s, u) + tau * np.eye(6)
    np.testing.assert_allclose(F, A + M + Z, atol=1e-10)
    assert np.linalg.eigvalsh(F)[0] >= -1e-11
    assert np.linalg.eigvalsh(Z)[0] >= -1e-11
    assert abs((F * Z).sum()) <= 1e-10


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weights": [1, 2]}, r"weights must hold one number a row, 3 in all, and has shape \(2,\)"),
        ({"weights": [1, 0, 2]}, r"weights must be positive, and weights\[1\] is 0"),
        ({"weights": [1, -1, 2]}, r"weights must be positive, and weights\[1\] is -1"),
        ({"weights": [1, np.nan, 2]}, r"weights has 1 entries that are NaN"),
        ({"weights": ["a", "b", "c"]}, r"weights must be real numbers"),
        ({"trace": 0.5}, r"trace=0.5 is impossible.*between 1 and n = 3"),
        ({"trace": 3.5}, r"trace=3.5 is impossible"),
        ({"trace": float("nan")}, r"trace=nan is impossible"),
        ({"trace": "k"}, r"trace"),
        (
            {"solver": "ld-ssc2", "trace": 2},
            r"solver 'ld-ssc2' knows neither weights nor trace; use one of: accelerated",
        ),
    ],
)
def test_bad_weights_and_traces_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        project(np.eye(3), **options)
    assert "\n" not in str(caught.value)


def test_the_proof_is_about_the_arrays_that_are_returned() -> None:
    """F = G/(ssᵀ) is rounded; the claim must hold for it, and certify must confirm it."""
    rng = np.random.default_rng(0)
    for n in (3, 8, 20):
        K, w = gaussian(rng, n), np.exp(rng.uniform(-4, 4, n))
        result = project(K, weights=w, tol=1e-7)
        again = certify(result.F, K, result.u, result.Q, result.Z, weights=w)
        assert again.distance <= 2 * result.certificate.distance + 1e-12


def test_the_scale_of_the_weights_is_the_scale_of_K() -> None:
    """w and cw pose the same constraints; K/c makes up for the objective."""
    rng = np.random.default_rng(1)
    K, w = gaussian(rng, 10), rng.uniform(1, 5, 10)
    plain, scaled = project(K, weights=w, tol=1e-7), project(K / 1e6, weights=1e6 * w, tol=1e-7)
    np.testing.assert_allclose(1e6 * scaled.F, plain.F, atol=1e-6)
    assert scaled.n_eig <= 2 * plain.n_eig + 10


@pytest.mark.parametrize("weights", [[1e300] * 3, [1e160, 1, 1], [1e200, 1e199, 1], [1j, 1, 1]])
def test_weights_out_of_range_are_one_sentence(weights: Any) -> None:
    with pytest.raises(InputError):
        project(np.eye(3), weights=weights)


def test_a_callback_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(InputError, match="callback must be a function"):
        project(np.eye(3), callback=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("trace", [2.0, 5.0])
def test_a_missing_multiplier_is_found_with_its_trace(trace: float) -> None:
    K = gaussian(np.random.default_rng(4), 8)
    result = project(K, trace=trace, tol=1e-6)
    assert certify(result.F, K, None, None, result.Z, trace=trace).distance <= 1e-4
    assert certify(result.F, K, None, result.Q, None, trace=trace).distance <= 1e-4
