"""The projection on D (6), by what a nearest point must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from projections.common import examples, few, matrices, ordinary, permuted, size
from strategies import (
    SEEDS,
    blocks,
    gaussian,
    graph,
    minus_distances,
    positive,
    random,
    random_feasible,
    zero_diagonal,
)

from ldssc import threads
from ldssc.projections import (
    dense,
    doubly_stochastic,
    project_doubly_stochastic,
    project_semidefinite,
    row_shift,
    screened,
    spread,
)
from ldssc.projections.newton import Multipliers

Array = np.ndarray[Any, np.dtype[np.float64]]


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


def dykstra(A: Array, s: Array, rounds: int) -> Array:
    """Dykstra's alternating projections on {Fs = s} and {F ≥ 0}."""
    F, correction = A, np.zeros_like(A)
    for _ in range(rounds):
        F = F + spread(row_shift(F, s), s)
        Y = F + correction
        F = np.maximum(Y, 0)
        correction = Y - F
    return F


@pytest.mark.parametrize("kind", [random, gaussian, zero_diagonal, graph, blocks])
@pytest.mark.parametrize("weighted", [False, True])
def test_projection_agrees_with_dykstra(kind: Any, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    A = kind(rng, 7)
    s = np.exp(0.3 * rng.normal(size=7)) if weighted else np.ones(7)
    F = project_doubly_stochastic(A, s=s if weighted else None).F
    np.testing.assert_allclose(F, dykstra(A, s, 20_000), atol=1e-7)


@few
@given(SEEDS, st.integers(2, 12), st.floats(-3, 3), st.floats(-5, 5))
def test_identity_plus_constant_has_a_closed_form(seed: int, n: int, alpha: float, beta: float) -> None:
    """(16) without semidefiniteness: aI + (1 − a)11ᵀ/n is nonnegative down to a = −1/(n − 1)."""
    del seed
    a = float(np.clip(alpha, -1 / (n - 1), 1))
    F = project_doubly_stochastic(alpha * np.eye(n) + beta).F
    np.testing.assert_allclose(F, a * np.eye(n) + (1 - a) / n, atol=1e-12)


@few
@given(SEEDS, st.integers(2, 7))
def test_integer_weights_are_repeated_rows(seed: int, n: int) -> None:
    """(19): the G of the weighted problem is diag(s)·F·diag(s) for the F of the repeated one, on one copy of each."""
    rng = np.random.default_rng(seed)
    w, K = rng.integers(1, 4, n), random(rng, n)
    s, rows = np.sqrt(w), np.repeat(np.arange(n), w)
    G = project_doubly_stochastic(K * np.outer(s, s), s=s).F
    F = project_doubly_stochastic(K[np.ix_(rows, rows)]).F
    np.testing.assert_allclose((G / np.outer(s, s))[np.ix_(rows, rows)], F, atol=1e-11)


def test_wildly_different_weights_with_a_trace_converge() -> None:
    failures = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 13))
        s = np.exp(5 * rng.uniform(-1, 1, n))
        s /= np.sqrt(np.mean(s * s))
        A = zero_diagonal(rng, n) * np.outer(s, s)
        trace = 1 + rng.random() * (n - 1)
        F = project_doubly_stochastic(A, s=s, trace=trace).F
        off = max(float(np.abs((F @ s - s) / s).max()), abs(float(np.trace(F)) - trace))
        failures += off > 1e-9 * n
    assert failures == 0


# --- large matrices: screened


SCREENED = [random, gaussian, zero_diagonal, graph, blocks, minus_distances]


@pytest.mark.parametrize("kind", SCREENED)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trace", [None, 9.0])
def test_screening_changes_nothing(
    kind: Any, weighted: bool, trace: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    n = 70
    A, s = kind(rng, n), np.exp(0.5 * rng.normal(size=n)) if weighted else None
    whole = project_doubly_stochastic(A, s=s, trace=trace)
    monkeypatch.setattr(doubly_stochastic, "_SCREENED", 0)
    monkeypatch.setattr(screened, "_BLOCK", 300)  # several blocks
    listed = project_doubly_stochastic(A, s=s, trace=trace)
    assert np.abs(listed.F - whole.F).max() <= 1e-12 * size(A)
    np.testing.assert_array_equal(listed.F, listed.F.T)
    far = whole.u + rng.normal(scale=3, size=n)
    again = project_doubly_stochastic(A, far, s, trace, whole.tau + 1)
    assert np.abs(again.F - whole.F).max() <= 1e-12 * size(A)
    for other in (np.asfortranarray(A), np.repeat(A, 2, axis=0)[::2]):
        assert np.abs(project_doubly_stochastic(other, s=s, trace=trace).F - listed.F).max() <= 1e-13 * size(A)


@pytest.mark.parametrize("limit", [0.0, 1.0], ids=["passes", "lists"])
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_over_all_entries_and_lists_agree(limit: float, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    A, s = positive(rng, 90), np.exp(0.5 * rng.normal(size=90)) if weighted else None
    whole = project_doubly_stochastic(A, s=s, trace=20.0)
    monkeypatch.setattr(doubly_stochastic, "_SCREENED", 0)
    monkeypatch.setattr(screened, "_DENSE", limit)
    monkeypatch.setattr(screened, "_BLOCK", 1000)
    assert np.abs(project_doubly_stochastic(A, s=s, trace=20.0).F - whole.F).max() <= 1e-12


def test_screened_evaluation_misses_no_entry_wherever_u_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of h at many points, near and far, against one written down in full."""
    monkeypatch.setattr(screened, "_BLOCK", 500)
    rng = np.random.default_rng(4)
    n = 60
    A, s = random(rng, n), np.exp(0.5 * rng.normal(size=n))
    dual = screened.Screened(A, s, 7.0)
    u, tau = -np.ones(n), 0.0
    screens = []
    monkeypatch.setattr(dual, "_screen", lambda at, real=dual._screen: screens.append(at) or real(at))
    for step in (0, 1e-3, 1e-3, 0.1, 1.0, 1e-4, -3.0, 5.0):
        u, tau = u + step * rng.normal(size=n), tau + step * float(rng.normal())
        F = np.maximum(A + spread(u, s) + tau * np.eye(n), 0)
        now = dual.evaluate(Multipliers(u, tau), 1.0)
        np.testing.assert_allclose(now.rows, F @ s - s, atol=1e-12 * size(F))
        assert now.excess == pytest.approx(np.trace(F) - 7, abs=1e-11 * size(F))
        np.testing.assert_allclose(dual.matrix(Multipliers(u, tau)), F, atol=1e-14 * size(F))
    assert 1 <= len(screens) < 8  # some moves are within the margin


def test_one_thread_and_two_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    A = gaussian(np.random.default_rng(0), 600)
    one = project_doubly_stochastic(A)
    monkeypatch.setattr(threads, "_SHARED_FROM", 0)
    monkeypatch.setattr(threads, "budget", lambda: 2)
    two = project_doubly_stochastic(A)
    np.testing.assert_array_equal(one.F, two.F)
    np.testing.assert_array_equal(one.u, two.u)


def test_float32_stays_float32_where_it_is_screened() -> None:
    A = gaussian(np.random.default_rng(0), 600)
    F, u, *_ = project_doubly_stochastic(A.astype(np.float32))
    assert F.dtype == u.dtype == np.float32
    assert np.linalg.norm(F - project_doubly_stochastic(A).F) <= 2.0**-20 * np.linalg.norm(A)


def test_a_list_is_left_as_soon_as_u_moves_beyond_its_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """u + 0.99·margin·s stays on the list and 1.1·margin·s does not; both miss nothing."""
    monkeypatch.setattr(screened, "_BLOCK", 500)
    rng = np.random.default_rng(4)
    n = 60
    A, s, u = random(rng, n), np.exp(0.5 * rng.normal(size=n)), -0.8 * np.ones(n)
    for share, stays in ((0.99, True), (1.1, False), (1.9, False)):
        dual = screened.Screened(A, s, None)
        dual.evaluate(Multipliers(u, 0.0), 1.0)
        first = dual._pattern
        assert first is not None
        assert dual._margin > 0
        moved = u + share * dual._margin * s
        F = np.maximum(A + spread(moved, s), 0)
        np.testing.assert_allclose(dual.evaluate(Multipliers(moved, 0.0), 1.0).rows, F @ s - s, atol=1e-12 * size(F))
        assert (dual._pattern is first) is stays
