"""The public projection on D and its certificate: the proof holds against the truth, dense and on a support."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from strategies import (
    ANY,
    ORDINARY,
    SEEDS,
    gaussian,
    graph,
    positive,
    random,
    random_feasible,
    symmetric_matrices,
    zero_diagonal,
)

import ldssc
from ldssc import InputError, Status, nearest_doubly_stochastic
from ldssc.mending import heaviest, mend, unopposed
from ldssc.nearest_proof import bound, measure_dense, measure_sparse
from ldssc.projections import project_doubly_stochastic, spread
from ldssc.projections.newton import Multipliers

Array = np.ndarray[Any, np.dtype[np.float64]]
examples = settings(max_examples=60)
few = settings(max_examples=25)
ordinary = symmetric_matrices(ORDINARY, sometimes=30)


def pattern(rng: np.random.Generator, n: int, density: float = 0.3) -> Array:
    """A symmetric 0/1 matrix into which a doubly stochastic one fits, not always with its diagonal."""
    S = rng.random((n, n)) < density
    S |= np.eye(n, dtype=bool)[rng.permutation(n)] if rng.random() < 0.5 else np.eye(n, dtype=bool)
    return (S | S.T).astype(float)


def stored(K: Array, S: Array) -> Any:
    """K on the pattern S, zeros stored."""
    A = sparse.csr_array(S)
    A.data = K[np.repeat(np.arange(len(K)), np.diff(A.indptr)), A.indices]
    return A


# --- the answer


@examples
@given(symmetric_matrices(ANY, sometimes=30))
def test_answer_is_feasible_and_optimal_and_says_how_well_that_is_known(K: Array) -> None:
    result = nearest_doubly_stochastic(K)
    F, n = result.F, len(K)
    scale = 1e-13 * n * (1 + np.abs(K).max())
    assert F.min() >= 0
    np.testing.assert_array_equal(F, F.T)
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=scale)
    assert np.abs(F - K - spread(result.u) - result.Q).max() <= scale
    assert result.Q.min() >= 0
    assert (F * result.Q).sum() <= scale
    assert result.certificate.row_sum <= scale
    if np.abs(K).max() <= 100:
        assert result.status is Status.SOLVED
        assert result.solved
        assert result.certificate.distance <= 1e-6
    assert "proven within" in str(result.certificate)
    assert repr(result).startswith(f"Projection(n={n}, status={result.status.name}")


@few
@given(ordinary)
def test_normalize_frobenius_is_the_same_matrix(K: Array) -> None:
    F = nearest_doubly_stochastic(K).F
    assert np.abs(ldssc.normalize(K, "frobenius") - F).max() <= 1e-12 * (1 + np.abs(K).max())


@few
@given(SEEDS, st.integers(2, 9), st.booleans())
def test_weights_and_trace_are_met(seed: int, n: int, traced: bool) -> None:
    rng = np.random.default_rng(seed)
    K, w = random(rng, n), np.exp(rng.normal(size=n))
    trace = 1 + 0.4 * (n - 1) if traced else None
    result = nearest_doubly_stochastic(K, weights=w, trace=trace)
    np.testing.assert_allclose(result.F @ w, 1, atol=1e-11)
    G, s = result.G, np.sqrt(w)
    np.testing.assert_allclose(G, result.F * np.outer(s, s), rtol=1e-14)
    if trace is not None:
        assert np.trace(G) == pytest.approx(trace, abs=1e-10)
    M = spread(result.u, s) + result.tau * np.eye(n)
    assert np.abs(G - K * np.outer(s, s) - M - result.Q).max() <= 1e-11 * (1 + np.abs(K).max())
    assert result.certificate.distance <= 1e-5


@pytest.mark.parametrize("trace", [1, 4])
def test_extreme_traces_leave_one_matrix(trace: int) -> None:
    result = nearest_doubly_stochastic(zero_diagonal(np.random.default_rng(0), 4), trace=trace)
    np.testing.assert_allclose(result.F, np.full((4, 4), 0.25) if trace == 1 else np.eye(4))
    assert result.solved


def test_start_saves_steps_and_changes_nothing() -> None:
    K = gaussian(np.random.default_rng(0), 60)
    first = nearest_doubly_stochastic(K)
    again = nearest_doubly_stochastic(K + 1e-4 * np.eye(60), start=first)
    assert again.n_steps < first.n_steps
    np.testing.assert_allclose(again.F, nearest_doubly_stochastic(K + 1e-4 * np.eye(60)).F, atol=1e-13)


@pytest.mark.parametrize("kind", [gaussian, zero_diagonal, random])
@pytest.mark.parametrize("trace", [None, 3.5])
def test_answer_agrees_with_clarabel(kind: Any, trace: float | None) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(2)
    K, S = kind(rng, 8), pattern(rng, 8)
    F = cvxpy.Variable((8, 8), symmetric=True)
    rules = [F >= 0, cvxpy.sum(F, axis=1) == 1]
    if trace is None:
        rules.append(cvxpy.multiply(1 - S, F) == 0)
    else:
        rules.append(cvxpy.trace(F) == trace)
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(F - K)), rules).solve(solver="CLARABEL")
    result = nearest_doubly_stochastic(K, trace=trace, support=S if trace is None else None)
    ours = result.F.toarray() if trace is None else result.F
    assert np.abs(ours - F.value).max() <= 2e-5


# --- on a support


@few
@given(ordinary, st.booleans())
def test_full_support_gives_the_dense_answer(K: Array, weighted: bool) -> None:
    w = np.exp(np.random.default_rng(0).normal(size=len(K))) if weighted else None
    dense = nearest_doubly_stochastic(K, weights=w)
    full = nearest_doubly_stochastic(stored(K, np.ones_like(K)), weights=w)
    assert sparse.issparse(full.F)
    assert full.F.format == "csr"
    assert np.abs(full.F.toarray() - dense.F).max() <= 1e-11 * (1 + np.abs(K).max())
    assert full.certificate.distance <= 1e-5


@examples
@given(SEEDS, st.integers(1, 14), st.sampled_from([random, positive, gaussian, graph]))
def test_answer_on_a_support_is_feasible_and_optimal_there(seed: int, n: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    K, S = kind(rng, n), pattern(rng, n)
    A = stored(K, S)
    kept = A.copy()
    result = nearest_doubly_stochastic(A)
    F = result.F.toarray()
    assert (F[S == 0] == 0).all()
    assert F.min() >= 0
    np.testing.assert_array_equal(F, F.T)
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-9)
    off = (F - K - spread(result.u) - result.Q.toarray())[S == 1]
    assert np.abs(off).max() <= 1e-8 * (1 + np.abs(result.u).max())
    assert (F * result.Q.toarray()).sum() == pytest.approx(0, abs=1e-8)
    np.testing.assert_array_equal(A.indices, kept.indices)
    np.testing.assert_array_equal(A.data, kept.data)
    again = nearest_doubly_stochastic(K, support=S).F
    np.testing.assert_allclose(again.toarray(), F, atol=1e-10)
    np.testing.assert_array_equal(again.indices, A.indices)


@few
@given(SEEDS, st.integers(2, 12))
def test_diagonal_in_the_support_is_proven_whatever_else_is(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    S = np.maximum(pattern(rng, n, 0.2), np.eye(n))
    w = np.exp(rng.normal(size=n))
    for weights in (None, w):
        result = nearest_doubly_stochastic(stored(random(rng, n), S), weights=weights)
        assert result.solved
        np.testing.assert_allclose(result.F @ (np.ones(n) if weights is None else w), 1, atol=1e-11)


def test_large_sparse_graph_is_projected_in_a_moment() -> None:
    n = 20_000
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(n), 8)
    col = (row + rng.integers(1, 40, len(row))) % n
    A = sparse.csr_array((rng.random(len(row)), (row, col)), shape=(n, n))
    result = nearest_doubly_stochastic(A.maximum(A.T))
    assert result.solved, result.certificate
    assert result.n_steps <= 30
    np.testing.assert_allclose(result.F.sum(axis=1), 1, atol=1e-13)


# --- the proof


def proven(F: Array, A: Array, s: Array | None, at: Multipliers, trace: float | None) -> float:
    measured = measure_dense(F, A, s, at, trace)
    return bound(measured, mend(measured, heaviest(F, A, s, at), s, trace, diagonal=True))[1]


@settings(max_examples=150)
@given(SEEDS, st.integers(1, 10), st.sampled_from(ORDINARY), st.booleans(), st.booleans())
def test_no_matrix_is_proven_nearer_than_it_is(seed: int, n: int, kind: Any, weighted: bool, traced: bool) -> None:
    """Against the answer to rounding, for matrices and multipliers that are wrong by anything from 1e-15 to 1."""
    rng = np.random.default_rng(seed)
    s = np.exp(rng.normal(size=n)) if weighted else None
    if s is not None:
        s /= np.sqrt(np.mean(s * s))
    weight = np.ones(n) if s is None else s
    A = kind(rng, n) * np.outer(weight, weight)
    trace = 1 + rng.uniform(0.05, 0.95) * (n - 1) if traced and n > 1 else None
    exact = project_doubly_stochastic(A, s=s, trace=trace)
    wrong = 10.0 ** rng.uniform(-15, 0, size=4)
    other = random_feasible(rng, n) if s is None else np.eye(n)
    F = (1 - wrong[0]) * exact.F + wrong[0] * other
    d = 1 + wrong[1] * rng.normal(size=n)
    F = np.maximum(F * np.outer(d, d), 0)
    at = Multipliers(exact.u + wrong[2] * rng.normal(size=n), exact.tau + (wrong[3] if trace is not None else 0))
    truth = float(np.linalg.norm(F - exact.F))
    accuracy = 1e-12 * n * (1 + np.abs(A).max() + np.abs(exact.u).max())
    assert proven(F, A, s, at, trace) >= truth - accuracy


@settings(max_examples=100)
@given(SEEDS, st.integers(1, 12), st.booleans())
def test_no_matrix_on_a_support_is_proven_nearer_than_it_is(seed: int, n: int, with_diagonal: bool) -> None:
    rng = np.random.default_rng(seed)
    S = pattern(rng, n)
    if with_diagonal:
        S = np.maximum(S, np.eye(n))
    A = stored(random(rng, n), S)
    exact = nearest_doubly_stochastic(A)
    wrong = 10.0 ** rng.uniform(-15, 0, size=2)
    d = 1 + wrong[0] * rng.normal(size=n)
    row = np.repeat(np.arange(n), np.diff(A.indptr))
    F = A.copy()
    F.data = np.maximum(exact.F.data * d[row] * d[A.indices], 0)
    at = Multipliers(exact.u + wrong[1] * rng.normal(size=n), 0.0)
    measured = measure_sparse(F, A, None, at)
    diagonal = bool(S.diagonal().all())
    way = mend(measured, unopposed(A, F.data, A.data, None, at), None, None, diagonal=diagonal, complete=True)
    truth = float(np.linalg.norm(F.data - exact.F.data))
    if exact.solved:
        assert bound(measured, way)[1] >= truth - 1e-9 * (1 + np.abs(exact.u).max())


def test_proof_is_linear_in_what_is_wrong_where_the_support_is_right() -> None:
    K = gaussian(np.random.default_rng(1), 12)
    exact = project_doubly_stochastic(K)
    for wrong in (1e-6, 1e-9, 1e-12):
        d = 1 + wrong * np.cos(np.arange(12))
        F = exact.F * np.outer(d, d)
        claim = proven(F, K, None, Multipliers(exact.u, 0.0), None)
        assert np.linalg.norm(F - exact.F) <= claim <= 1e3 * wrong


def test_wrong_matrix_is_not_proven() -> None:
    K = gaussian(np.random.default_rng(1), 12)
    exact = project_doubly_stochastic(K)
    assert proven(np.eye(12), K, None, Multipliers(exact.u, 0.0), None) >= np.linalg.norm(np.eye(12) - exact.F)
    assert proven(exact.F, K, None, Multipliers(exact.u + 1, 0.0), None) > 1e-2


# --- bad input


STAR = np.zeros((4, 4))
STAR[0, 1:] = STAR[1:, 0] = 1
#: four rows that only three columns serve
NARROW = np.zeros((7, 7))
NARROW[:3, 3:] = NARROW[3:, :3] = 1


@pytest.mark.parametrize(
    ("K", "options", "sentence"),
    [
        (
            sparse.csr_array(STAR),
            {},
            r"no doubly stochastic matrix has the zeros of K: 2 of its rows cannot be matched",
        ),
        (sparse.csr_array(NARROW), {}, r"no doubly stochastic matrix .*: 1 of its rows .*store the diagonal"),
        (sparse.csr_array((3, 3)), {}, r"3 of its rows cannot be matched"),
        (np.eye(4), {"support": STAR}, r"the zeros of support"),
        (sparse.eye_array(3).tocsr()[:2], {}, r"K must be square, and has shape \(2, 3\)"),
        (sparse.csr_array((0, 0)), {}, r"K is empty"),
        (sparse.csr_array(np.triu(np.ones((3, 3)))), {}, r"pattern of K is not symmetric"),
        (sparse.csr_array(np.arange(1.0, 10).reshape(3, 3)), {}, r"K is not symmetric: the largest .* is 4"),
        (
            sparse.csr_array(np.diag([1, np.nan])),
            {},
            r"K has 1 entries that are NaN or infinite, the first at \[1, 1\]",
        ),
        (sparse.csr_array(np.diag([1, 1e13])), {}, r"K has entries as large as 1e\+13"),
        (sparse.csr_array(np.eye(2) * 1j), {}, r"K must hold real numbers, and has dtype complex128"),
        (sparse.csr_array(np.eye(3)), {"trace": 2.0}, r"trace=2.0 cannot be prescribed on a sparse support"),
        (sparse.csr_array(1 - np.eye(3)), {"weights": [1, 2, 3]}, r"stores 0 of 3 diagonal entries, and weights need"),
        (sparse.csr_array(np.eye(2)), {"weights": [1e7, 1e-2]}, None),
        (
            sparse.csr_array(1e9 * np.eye(2)),
            {"weights": [1e7, 1]},
            r"K times the weights has entries as large as 1e\+16",
        ),
        (np.eye(3), {"support": np.eye(2)}, r"support has shape \(2, 2\) and K has \(3, 3\)"),
        (np.eye(3), {"tol": 0}, r"tol must be a number > 0, and is 0"),
        (np.eye(3), {"start": np.ones(3)}, r"start must be an earlier answer of this function, and is ndarray"),
        (np.eye(3), {"trace": 9}, r"trace=9 is impossible"),
        (np.eye(3), {"weights": [1, 2]}, r"weights must hold one number a row"),
        (np.ones((2, 3)), {}, r"K must be square"),
    ],
)
def test_bad_input_is_one_sentence(K: Any, options: dict[str, Any], sentence: str | None) -> None:
    if sentence is None:
        assert nearest_doubly_stochastic(K, **options).solved
        return
    with pytest.raises(InputError, match=sentence) as caught:
        nearest_doubly_stochastic(K, **options)
    assert "\n" not in str(caught.value)


def test_start_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="start is an answer with 3 rows, and K has 4"):
        nearest_doubly_stochastic(np.eye(4), start=nearest_doubly_stochastic(np.eye(3)))
