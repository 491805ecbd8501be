"""Every compiled loop against its twin in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldssc import kernels

Array = np.ndarray[Any, np.dtype[np.float64]]
few = settings(max_examples=20, deadline=None)
SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 12)
PRECISIONS = st.sampled_from([np.float32, np.float64])


def case(seed: int, n: int, dtype: Any, r: int = 3) -> tuple[Array, Any, Any, Array, Array]:
    """A sparse symmetric F with a positive diagonal, its support, and two n x r matrices."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-1, 1, (n, n))
    F = F + F.T
    np.fill_diagonal(F, rng.choice([0.5, 1.0], n))
    i, j = kernels.support.twin(n, F)
    return F, i, j, rng.normal(size=(n, r)).astype(dtype), rng.normal(size=(n, r)).astype(dtype)


def both(name: str, n: int, *arguments: Any) -> tuple[Any, Any]:
    kernel = getattr(kernels, name)
    copies = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    return kernel.fast(n, *arguments), kernel.twin(n, *copies)


def near(fast: Any, twin: Any, dtype: Any) -> None:
    assert fast.dtype == twin.dtype
    np.testing.assert_allclose(fast, twin, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-12)


@few
@given(SEEDS, SIZES)
def test_support(seed: int, n: int) -> None:
    F, i, j, _, _ = case(seed, n, np.float64)
    for fast, twin in zip(*both("support", n, F), strict=True):
        np.testing.assert_array_equal(fast, twin)
    assert (F > 0).sum() == 2 * len(i) - (i == j).sum()
    assert (i <= j).all()


@few
@given(SEEDS, SIZES, PRECISIONS)
def test_products_with_a_support(seed: int, n: int, dtype: Any) -> None:
    _F, i, j, T, V = case(seed, n, dtype)
    y = np.random.default_rng(seed).normal(size=len(i)).astype(dtype)
    v = np.random.default_rng(seed + 1).normal(size=n).astype(dtype)
    near(*both("row_sums", n, i, j, y), dtype)
    near(*both("pair", n, i, j, T, V), dtype)
    near(*both("multiply", n, i, j, y, v, V), dtype)
    dense = np.zeros((n, n))
    dense[i, j] = dense[j, i] = y + v[i] + v[j]
    np.testing.assert_allclose(kernels.multiply(n, i, j, y, v, V), dense @ V, atol=1e-4)


@few
@given(SEEDS, SIZES)
def test_mending_of_rows_solves_its_system(seed: int, n: int) -> None:
    F, i, j, _, _ = case(seed, n, np.float64)
    counts = kernels.row_sums(n, i, j, np.ones(len(i)))
    rows = np.random.default_rng(seed).normal(size=n)
    J = np.diag(counts) + (F > 0)
    for v in both("mend", n, i, j, counts, rows, 1e-13):
        np.testing.assert_allclose(J @ v, -rows, atol=1e-9)


@few
@given(SEEDS, st.integers(2, 12))
def test_outer_products(seed: int, n: int) -> None:
    _, i, j, U, _ = case(seed, n, np.float32, r=4)
    a, b = (part.astype(np.int32) for part in np.triu_indices(4))
    sums = np.zeros((n, len(a)), np.float32), np.zeros((n, len(a)), np.float32)
    fast = kernels.outer_products.fast(n, i, j, U, a, b, sums[0])
    twin = kernels.outer_products.twin(n, i, j, U, a, b, sums[1])
    near(fast, twin, np.float32)
    near(sums[0], sums[1], np.float32)


@few
@given(SEEDS, SIZES)
def test_packing_keeps_inner_products_and_matrices(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = (M + M.T for M in rng.normal(size=(2, n, n)))
    near(*both("pack", n, A), np.float32)
    assert 2 * kernels.pack(n, A) @ kernels.pack(n, B) == pytest.approx(np.vdot(A, B), abs=1e-4 * n)
    for subtract in (kernels.subtract_packed.fast, kernels.subtract_packed.twin):
        rest = B.copy()
        subtract(n, kernels.pack(n, A), rest)
        np.testing.assert_allclose(rest, B - A, atol=1e-5)
        np.testing.assert_array_equal(rest, rest.T)


def test_where_nothing_can_be_kept_on_disk_the_loops_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    njit = numba.njit

    def no_cache(**options: Any) -> Any:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", no_cache)
    loop = kernels.Loop(kernels.row_sums._function, kernels.row_sums.twin)
    i, j = np.array([0, 0], np.int32), np.array([0, 1], np.int32)
    np.testing.assert_array_equal(loop.fast(2, i, j, np.array([1.0, 2.0])), [3.0, 2.0])
