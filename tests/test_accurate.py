"""Sums and the bounds on their rounding, against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SEEDS, mirrored

from ldssc import accurate

Array = np.ndarray[Any, np.dtype[np.float64]]
exact = np.frompyfunc(Fraction, 1, 1)
settings_ = settings(max_examples=40)


def wild(seed: int, n: int, spread: float) -> Array:
    """Symmetric, entries of both signs over 10^±spread, some zero: sums that cancel."""
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 0.0, 1.0], size=(n, n)) * 10 ** rng.uniform(-spread, spread, size=(n, n))
    return mirrored(A)


matrices = st.tuples(SEEDS, st.integers(1, 9), st.sampled_from([0.0, 1.0, 6.0, 12.0]))


@settings_
@given(matrices)
def test_inner_product_lies_within_its_stated_rounding(drawn: tuple[int, int, float]) -> None:
    seed, n, spread = drawn
    A, B = wild(seed, n, spread), wild(seed + 1, n, spread)
    value, bound = accurate.inner(A, B)
    assert abs(Fraction(value) - (exact(A) * exact(B)).sum()) <= Fraction(bound)
    assert bound <= max(1e-15 * float(np.abs(A * B).sum()), 2e-3 * abs(value))


def test_inner_product_survives_cancellation_that_float64_does_not() -> None:
    A = np.array([[1.0, 1e10], [1e10, 1.0]])
    B = np.array([[1e-6, 1e-6], [-1e-6, 1e-6]])
    assert accurate.inner(A, B)[0] == pytest.approx(2e-6, rel=1e-5)


@settings_
@given(matrices)
def test_row_excess_is_the_true_one(drawn: tuple[int, int, float]) -> None:
    seed, n, spread = drawn
    F = np.abs(wild(seed, n, spread))
    sums = exact(F).sum(axis=1)
    for computed, true in zip(accurate.row_excess(F), sums - 1, strict=True):
        error = float(np.finfo(np.longdouble).eps) * n * float(1 + abs(true)) + 2.0**-52 * abs(float(true))
        assert abs(Fraction(computed) - true) <= Fraction(error)


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="no longer type on this machine")
def test_row_excess_sees_what_a_sum_in_float64_does_not() -> None:
    row = np.full(10, 0.1)
    F = np.tile(row, (10, 1))
    assert row.sum() == 1 - 2.0**-53 or row.sum() == 1
    np.testing.assert_allclose(accurate.row_excess(F), float(10 * Fraction(0.1) - 1), rtol=1e-2)


@settings_
@given(matrices)
def test_stationarity_lies_within_its_stated_rounding(drawn: tuple[int, int, float]) -> None:
    seed, n, spread = drawn
    F, K, Q, Z = (wild(seed + i, n, spread) for i in range(4))
    u = wild(seed + 4, n, spread)[0]
    a, bound = accurate.stationarity(F, K, u, Q, Z)
    G = exact(K) + exact(u)[:, None] + exact(u)[None, :] + exact(Q) + exact(Z)
    square = ((exact(F) - G) ** 2).sum()
    assert Fraction(max(0.0, a - bound)) ** 2 <= square <= (Fraction(a) + Fraction(bound)) ** 2
    assert bound <= 1e-14 * (a + sum(float(np.linalg.norm(part)) for part in (F, K, Q, Z)) + n * np.abs(u).sum())


def test_stationarity_of_an_exact_recovery_is_only_rounding() -> None:
    rng = np.random.default_rng(0)
    K, Q, Z = (mirrored(rng.integers(-99, 99, size=(7, 7)) / 4) for _ in range(3))
    u = rng.integers(-9, 9, size=7) / 8
    F = K + u[:, None] + u[None, :] + Q + Z
    a, bound = accurate.stationarity(F, K, u, Q, Z)
    assert a == 0
    assert 0 < bound < 1e-15 * 7 * 200 * 7


@pytest.mark.parametrize("block", [1, 5, 12, 1 << 20])
def test_sums_do_not_depend_on_how_the_rows_are_cut(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    A, B, F = (wild(i, 6, 1.0) for i in range(3))
    u = A[0]
    whole = accurate.inner(A, B), accurate.row_excess(F), accurate.stationarity(F, A, u, B, F)
    monkeypatch.setattr(accurate, "_BLOCK", block)
    assert accurate.inner(A, B)[0] == pytest.approx(whole[0][0], rel=1e-14)
    np.testing.assert_array_equal(accurate.row_excess(F), whole[1])
    assert accurate.stationarity(F, A, u, B, F)[0] == pytest.approx(whole[2][0], rel=1e-15)
