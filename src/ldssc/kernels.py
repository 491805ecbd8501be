"""Loops over the entries of a sparse symmetric support, compiled by Numba; each has a twin in NumPy that the tests compare.

A support is the list of its entries (i, j) with i ≤ j, and stands for both (i, j) and (j, i). Below `SMALL` rows the twins
are called: nobody waits for a compiler for a small matrix. Compiled code is kept on disk from one process to the next. All
take n, the number of rows, first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ldssc.validation import Matrix, Vector

Indices = np.ndarray[Any, np.dtype[np.int32]]

SMALL = 100


def compiled(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Loop]:
    """Compile a function of n and arrays, and call its twin instead where n is small."""
    return lambda function: Loop(function, twin)


class Loop:
    """A loop and its twin. Numba is imported when it is first needed: that takes a third of a second."""

    def __init__(self, function: Callable[..., Any], twin: Callable[..., Any]) -> None:
        self.twin, self._function = twin, function
        self.__doc__ = function.__doc__

    @cached_property
    def fast(self) -> Callable[..., Any]:
        """The compiled loop."""
        import numba

        options: dict[str, Any] = {"fastmath": {"contract", "reassoc", "nsz"}, "nogil": True}
        try:
            loop: Callable[..., Any] = numba.njit(cache=True, **options)(self._function)
        except RuntimeError:  # there is no place to keep compiled code: each process compiles anew
            loop = numba.njit(**options)(self._function)
        return loop

    def __call__(self, n: int, *arrays: Any) -> Any:
        return (self.twin if n < SMALL else self.fast)(n, *arrays)


def _support(n: int, F: Matrix) -> tuple[Indices, Indices]:
    i, j = np.nonzero(np.triu(F > 0))
    return i.astype(np.int32), j.astype(np.int32)


@compiled(_support)
def support(n: int, F: Matrix) -> tuple[Indices, Indices]:
    """The entries above zero of a symmetric F."""
    count = 0
    for a in range(n):
        for b in range(a, n):
            count += F[a, b] > 0
    i, j = np.empty(count, np.int32), np.empty(count, np.int32)
    count = 0
    for a in range(n):
        for b in range(a, n):
            if F[a, b] > 0:
                i[count], j[count] = a, b
                count += 1
    return i, j


def _row_sums(n: int, i: Indices, j: Indices, y: Vector) -> Vector:
    rows = np.bincount(i, y, n) + np.bincount(j, np.where(i == j, 0, y), n)
    return rows.astype(y.dtype)


@compiled(_row_sums)
def row_sums(n: int, i: Indices, j: Indices, y: Vector) -> Vector:
    """The row sums of a matrix with the values y on the support."""
    rows = np.zeros(n, y.dtype)
    for e in range(len(i)):
        rows[i[e]] += y[e]
        if i[e] != j[e]:
            rows[j[e]] += y[e]
    return rows


def _pair(n: int, i: Indices, j: Indices, T: Matrix, V: Matrix) -> Vector:
    return np.asarray((T[i] * V[j] + V[i] * T[j]).sum(axis=1))


@compiled(_pair)
def pair(n: int, i: Indices, j: Indices, T: Matrix, V: Matrix) -> Vector:
    """The entries of TVᵀ + VTᵀ on the support."""
    y = np.empty(len(i), T.dtype)
    for e in range(len(i)):
        a, b = i[e], j[e]
        total = T[a, 0] * V[b, 0] + V[a, 0] * T[b, 0]
        for k in range(1, T.shape[1]):
            total += T[a, k] * V[b, k] + V[a, k] * T[b, k]
        y[e] = total
    return y


def _multiply(n: int, i: Indices, j: Indices, y: Vector, v: Vector, V: Matrix) -> Matrix:
    y = (y + v[i] + v[j])[:, None]
    out = np.zeros((n, V.shape[1]), V.dtype)
    np.add.at(out, i, y * V[j])
    np.add.at(out, j, np.where((i == j)[:, None], 0, y * V[i]))
    return out


@compiled(_multiply)
def multiply(n: int, i: Indices, j: Indices, y: Vector, v: Vector, V: Matrix) -> Matrix:
    """The matrix with the values y + v_i + v_j on the support, times V."""
    out = np.zeros((n, V.shape[1]), V.dtype)
    for e in range(len(i)):
        a, b = i[e], j[e]
        value = y[e] + v[a] + v[b]
        for k in range(V.shape[1]):
            out[a, k] += value * V[b, k]
        if a != b:
            for k in range(V.shape[1]):
                out[b, k] += value * V[a, k]
    return out


def _mend(n: int, i: Indices, j: Indices, diagonal: Vector, rows: Vector, tolerance: float) -> Vector:
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import LinearOperator, cg

    off = i != j
    one, two = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    S = coo_array((np.ones(len(one)), (one, two)), (n, n)).tocsr()
    J = LinearOperator((n, n), matvec=lambda v: diagonal * v + S @ v, dtype=np.float64)
    inverse = LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64)
    v, _ = cg(J, -rows, rtol=tolerance, atol=0, maxiter=4 * n, M=inverse)
    return np.asarray(v)


@compiled(_mend)
def mend(n: int, i: Indices, j: Indices, diagonal: Vector, rows: Vector, tolerance: float) -> Vector:
    """v with (diag(diagonal) + S)v = −rows, S the support: conjugate gradients, preconditioned by the diagonal."""
    v = np.zeros(n)
    r = -rows
    d = r / diagonal
    p = d.copy()
    rho = np.dot(r, d)
    goal = tolerance * tolerance * rho
    h = np.empty(n)
    for _ in range(4 * n):
        if not rho > goal:
            break
        for a in range(n):
            h[a] = diagonal[a] * p[a]
        for e in range(len(i)):
            a, b = i[e], j[e]
            h[a] += p[b]
            if a != b:
                h[b] += p[a]
        curvature = np.dot(p, h)
        if not curvature > 0:
            break
        alpha = rho / curvature
        for a in range(n):
            v[a] += alpha * p[a]
            r[a] -= alpha * h[a]
            d[a] = r[a] / diagonal[a]
        before, rho = rho, np.dot(r, d)
        for a in range(n):
            p[a] = d[a] + rho / before * p[a]
    return v


def _outer_products(n: int, i: Indices, j: Indices, U: Matrix, a: Indices, b: Indices, rows: Matrix) -> Matrix:
    half = np.where(a == b, 0.5, 1.0).astype(U.dtype)
    B = U[np.ix_(i, a)] * half * U[np.ix_(j, b)] + U[np.ix_(j, a)] * half * U[np.ix_(i, b)]
    off = (i != j)[:, None]
    np.add.at(rows, i, B)
    np.add.at(rows, j, np.where(off, B, 0))
    return np.asarray(B * np.where(off, np.sqrt(2), 1).astype(U.dtype))


@compiled(_outer_products)
def outer_products(n: int, i: Indices, j: Indices, U: Matrix, a: Indices, b: Indices, rows: Matrix) -> Matrix:
    """A row an entry, a column a pair: u_a u_bᵀ + u_b u_aᵀ (half of it where a = b), times √2 off the diagonal.

    The row sums of each pair are added to `rows`.
    """
    B = np.empty((len(i), len(a)), U.dtype)
    root = np.sqrt(np.ones(1, U.dtype)[0] * 2)
    for e in range(len(i)):
        x, y = i[e], j[e]
        for k in range(len(a)):
            value = U[x, a[k]] * U[y, b[k]]
            if a[k] != b[k]:
                value += U[y, a[k]] * U[x, b[k]]
            B[e, k] = value
            rows[x, k] += value
        if x != y:
            for k in range(len(a)):
                rows[y, k] += B[e, k]
                B[e, k] *= root
    return B


def _pack(n: int, M: Matrix) -> Any:
    i, j = np.triu_indices(n)
    return np.asarray(np.where(i == j, np.sqrt(0.5), 1.0) * M[i, j], np.float32)


@compiled(_pack)
def pack(n: int, M: Matrix) -> Any:
    """The upper triangle of a symmetric M in single precision; the diagonal times √½, so that ⟨M, N⟩ is 2⟨pack M, pack N⟩."""
    out = np.empty(n * (n + 1) // 2, np.float32)
    k = 0
    for a in range(n):
        out[k] = np.sqrt(0.5) * M[a, a]
        k += 1
        for b in range(a + 1, n):
            out[k] = M[a, b]
            k += 1
    return out


def _subtract_packed(n: int, packed: Vector, M: Matrix) -> None:
    i, j = np.triu_indices(n)
    values = np.where(i == j, np.sqrt(2.0), 1.0) * packed
    M[i, j] -= values
    M[j, i] = M[i, j]


@compiled(_subtract_packed)
def subtract_packed(n: int, packed: Vector, M: Matrix) -> None:
    """M less the symmetric matrix that was packed, in place."""
    k = 0
    for a in range(n):
        M[a, a] -= np.sqrt(2.0) * packed[k]
        k += 1
        for b in range(a + 1, n):
            M[a, b] -= packed[k]
            k += 1
    for a in range(n):
        for b in range(a):
            M[a, b] = M[b, a]
