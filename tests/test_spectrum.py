"""The bound on the lowest eigenvalue is never above it, and a filtered PSD part is the PSD part."""

from __future__ import annotations

from typing import Any

import array_api_strict
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY, SEEDS, mirrored, symmetric_matrices

from ldssc.filtering import Filter, PositivePart, chebyshev
from ldssc.projections import eigh
from ldssc.spectrum import cholesky_margin, is_positive_definite, lanczos_lowest, lowest_eigenvalue_bound

Array = np.ndarray[Any, np.dtype[np.float64]]


def gram_of_integers(rng: np.random.Generator, n: int) -> Array:
    """Exactly singular, and exactly representable: the lowest eigenvalue is 0."""
    rank = int(rng.integers(1, n))
    B = rng.integers(-3, 4, size=(n, rank)).astype(float)
    return B @ B.T


# --- the bound


@settings(max_examples=300)
@given(symmetric_matrices(ANY, largest=25, sometimes=70), st.sampled_from([1e-12, 1e-3, 1.0, 1e6]))
def test_bound_is_never_above_the_lowest_eigenvalue(A: Array, scale: float) -> None:
    A = A * scale
    lowest, size = np.linalg.eigvalsh(A)[0], np.linalg.norm(A)
    bound = lowest_eigenvalue_bound(A)
    assert bound <= lowest + 1e-15 * size
    assert bound >= lowest - 0.35 * abs(lowest) - 1e-11 * size - 1e-290


@settings(max_examples=300)
@given(SEEDS, st.integers(2, 40), st.sampled_from([0, 1, 1000]))
def test_bound_is_below_zero_where_the_matrix_is_singular_to_the_last_bit(seed: int, n: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    G = gram_of_integers(rng, n)
    bound = lowest_eigenvalue_bound(G - shift * np.eye(n))
    assert bound <= -shift
    assert bound >= -1.35 * shift - 1e-12 * (np.linalg.norm(G) + n)


@settings(max_examples=100)
@given(SEEDS, st.integers(2, 40), st.floats(-17, -9))
def test_bound_holds_for_nearly_singular_matrices(seed: int, n: int, exponent: float) -> None:
    """An exactly singular matrix minus a tiny known multiple of I, a power of two."""
    rng = np.random.default_rng(seed)
    G, tiny = gram_of_integers(rng, n), 2.0 ** round(exponent * np.log2(10))
    A = G - tiny * np.eye(n)
    if (A.diagonal() + tiny == G.diagonal()).all():  # nothing was rounded: the lowest eigenvalue is known
        assert lowest_eigenvalue_bound(A) <= -tiny


def test_factorisations_that_run_to_their_end_by_luck_are_within_the_margin() -> None:
    """A singular matrix, rounded, is slightly indefinite or not, as 40 digits tell; and factored or not, as it happens."""
    lucky = 0
    for seed in range(150):
        B = np.random.default_rng(seed).normal(size=(6, 3))
        A = mirrored(B @ B.T)
        if is_positive_definite(A.copy()):
            with mpmath.workdps(40):
                lowest = float(mpmath.eigsy(mpmath.matrix(A.tolist()), eigvals_only=True)[0])
            assert lowest >= -cholesky_margin(6, float(np.trace(A)))
            lucky += lowest < 0
    assert lucky > 0


def test_a_lanczos_value_that_is_far_too_high_does_no_harm() -> None:
    """One eigenvalue far below, whose vector the start is orthogonal to."""
    A = np.diag(np.r_[-5.0, np.linspace(1, 2, 40)])
    start = np.r_[0.0, np.ones(40)]
    assert lanczos_lowest(lambda X: A @ X, start).value > 0.9
    assert -7 < lowest_eigenvalue_bound(A, start) <= -5


def test_bound_in_other_namespaces_and_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    A = mirrored(rng.normal(size=(30, 30)))
    lowest = np.linalg.eigvalsh(A)[0]
    for B in (torch.tensor(A), array_api_strict.asarray(A), A.astype(np.float32)):
        assert 1.35 * lowest <= lowest_eigenvalue_bound(B) <= lowest + 1e-5 * (B is not A)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bound_of_a_matrix_with_nan_is_no_bound(bad: float) -> None:
    A = np.eye(4)
    A[1, 2] = A[2, 1] = bad
    assert lowest_eigenvalue_bound(A) == -np.inf


def test_definiteness() -> None:
    for make in (np.asarray, torch.tensor, array_api_strict.asarray):
        assert is_positive_definite(make(np.diag([1.0, 2.0, 1e-9])))
        assert not is_positive_definite(make(np.diag([1.0, -1e-9, 2.0])))
        assert not is_positive_definite(make(np.diag([1.0, np.nan, 2.0])))


# --- the filter


@given(st.integers(1, 12), st.floats(-4, -0.5), st.floats(0, 0.4))
@settings(max_examples=50)
def test_filter_is_the_chebyshev_polynomial_but_for_its_scale(degree: int, low: float, share: float) -> None:
    high = share * low
    w = np.linspace(low, -low, 9)
    found = chebyshev(lambda X: w[:, None] * X, np.ones((9, 1)), degree, low, high)[:, 0]
    exact = np.polynomial.chebyshev.Chebyshev.basis(degree)((w - (low + high) / 2) / ((high - low) / 2))
    np.testing.assert_allclose(found, exact / exact[-1], atol=1e-12)
    assert found[-1] == pytest.approx(1)


def drifting(rng: np.random.Generator, n: int, rank: int, calls: int) -> list[Array]:
    """Matrices with `rank` positive eigenvalues and a tail in [−1, 0), whose eigenvectors turn a little from call to call."""
    w = np.r_[rng.uniform(0.05, 30.0, rank), -rng.uniform(0, 1, n - rank)]
    found, U = [], np.linalg.qr(rng.normal(size=(n, n)))[0]
    for _ in range(calls):
        found.append(mirrored((U * w) @ U.T))
        U = np.linalg.qr(U + 1e-3 * rng.normal(size=(n, n)) / n)[0]
    return found


def psd_part(W: Array) -> Array:
    w, U = np.linalg.eigh(W)
    return (U * np.maximum(w, 0)) @ U.T


def apply_part(part: PositivePart, W: Array) -> Array:
    V = np.asarray(part(W, lambda X: W @ X, lambda: W).V)
    return V @ V.T


SMALL = Filter(rows=20, share=0.6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_filtered_part_is_the_psd_part(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    part = PositivePart(_never, SMALL)
    for k, W in enumerate(drifting(rng, 150, 12, 20)):
        error = np.linalg.norm(apply_part(part, W.astype(dtype)) - psd_part(W)) / np.linalg.norm(psd_part(W))
        assert k < 8 or error < (1e-4 if dtype == np.float32 else 1e-5)


def _never(_: Array) -> Any:
    raise AssertionError("a full decomposition")


def lost() -> tuple[Array, Array]:
    """Two diagonal matrices: the second has a positive direction that is orthogonal to all that the first has shown."""
    w = np.full(120, -1.0)
    w[:8] = np.linspace(1, 3, 8)
    later = w.copy()
    later[100] = 2.0
    return np.diag(w), np.diag(later)


def test_a_naive_filter_loses_a_direction_and_the_guard_finds_it() -> None:
    first, second = lost()
    naive = np.eye(120)[:, :24]  # Ritz vectors of the first: a warm start, as exact as can be
    for _ in range(20):
        naive, _ = np.linalg.qr(chebyshev(lambda X: second @ X, naive, 5, -1.1, 0.0))
    w, R = np.linalg.eigh(naive.T @ second @ naive)
    kept = naive @ R[:, w > 0]
    assert np.linalg.norm(kept @ np.diag(w[w > 0]) @ kept.T - psd_part(second)) > 1.9  # lost for good

    part = PositivePart(_never, Filter(rows=20, share=0.6, fresh=0, probe_every=5))
    for _ in range(5):
        apply_part(part, first)
    part.E, part.w = np.eye(120)[:, :24][:, ::-1], first.diagonal()[:24][::-1]  # exactly blind
    errors = [np.linalg.norm(apply_part(part, second) - psd_part(second)) for _ in range(10)]
    assert errors[-1] < 1e-6


def test_without_the_guard_the_same_filter_stays_blind() -> None:
    """The test above can fail."""
    first, second = lost()
    part = PositivePart(_never, Filter(rows=20, share=0.6, fresh=0, probe_every=10**9))
    apply_part(part, first)
    part.E, part.w, part.rank = np.eye(120)[:, :24][:, ::-1], first.diagonal()[:24][::-1], 8
    part._width = lambda _: 24  # type: ignore[method-assign]
    errors = [np.linalg.norm(apply_part(part, second) - psd_part(second)) for _ in range(10)]
    assert errors[-1] > 1.9


def test_many_new_directions_widen_the_block_or_end_in_a_full_decomposition() -> None:
    rng = np.random.default_rng(3)
    n, calls = 100, []

    def counted(A: Array) -> Any:
        calls.append(len(A))
        return eigh(A)

    part = PositivePart(counted, Filter(rows=20, share=0.5, probe_every=2))
    low_rank, full_rank = drifting(rng, n, 5, 1)[0], drifting(rng, n, 70, 1)[0]
    for W in (low_rank,) * 4 + (full_rank,) * 4:
        found = apply_part(part, W)
    assert calls
    np.testing.assert_allclose(found, psd_part(full_rank), atol=1e-9)


def test_small_matrices_are_decomposed_in_full() -> None:
    W = mirrored(np.random.default_rng(0).normal(size=(30, 30)))
    found = PositivePart(eigh, Filter())(W, lambda X: W @ X, lambda: W)
    assert found.full
    np.testing.assert_allclose(found.V @ found.V.T, psd_part(W), atol=1e-12)
