"""Diagonal scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from hypothesis import given
from hypothesis import strategies as st
from projections.common import examples, few
from strategies import (
    ANY,
    SEEDS,
    membership,
    symmetric_matrices,
)

from ldssc.projections import (
    balance,
)

Array = np.ndarray[Any, np.dtype[np.float64]]


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
