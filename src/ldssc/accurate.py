"""Sums that a proof can rest on: in the machine's longest floating-point type, with a bound on their rounding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ldssc.validation import Matrix, Vector

LONG_EPS = float(np.finfo(np.longdouble).eps)
EPS = float(np.finfo(np.float64).eps)
_BLOCK = 1 << 20  # entries converted at a time


def _row_blocks(n: int) -> Iterator[slice]:
    height = max(1, _BLOCK // max(n, 1))
    for start in range(0, n, height):
        yield slice(start, min(n, start + height))


def rounding(n: int) -> float:
    """Relative rounding of a sum of n² products, bounded by the sum of their sizes times this."""
    return (4 + 2 * n) * LONG_EPS


def inner(A: Matrix, B: Matrix) -> tuple[float, float]:
    """⟨A, B⟩ and a bound on its rounding."""
    total, size = np.longdouble(0), np.longdouble(0)
    for rows in _row_blocks(len(A)):
        product = A[rows].astype(np.longdouble) * B[rows]
        total += product.sum(axis=1).sum()
        size += np.abs(product).sum(axis=1).sum()
    return float(total), rounding(len(A)) * float(size) + EPS * abs(float(total))


def row_excess(F: Matrix, s: Vector | None = None) -> Vector:
    """Fs − s (F1 − 1 without s), correct to the rounding of the long type."""
    weight = np.ones(len(F), np.longdouble) if s is None else s.astype(np.longdouble)
    return np.concatenate(
        [((F[rows] * weight).sum(axis=1) - weight[rows]).astype(np.float64) for rows in _row_blocks(len(F))]
    )


def trace_excess(F: Matrix, trace: float) -> float:
    """tr F − trace."""
    return float(F.diagonal().astype(np.longdouble).sum() - np.longdouble(trace))


def stationarity(
    F: Matrix, A: Matrix, u: Vector, Q: Matrix, Z: Matrix, s: Vector | None = None, tau: float = 0.0
) -> tuple[float, float]:
    """a = ‖F − (A + usᵀ + suᵀ + Q + Z + τI)‖ and a bound on its rounding."""
    total, size = np.longdouble(0), np.longdouble(0)
    column = u.astype(np.longdouble)
    weight = np.ones(len(F), np.longdouble) if s is None else s.astype(np.longdouble)
    for rows in _row_blocks(len(F)):
        G = A[rows] + np.outer(column[rows], weight) + np.outer(weight[rows], column)
        G += Q[rows]
        G += Z[rows]
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] += np.longdouble(tau)
        total += ((F[rows] - G) ** 2).sum(axis=1).sum()
        size += (G**2).sum(axis=1).sum() + (A[rows] ** 2).sum() + (Q[rows] ** 2).sum() + (Z[rows] ** 2).sum()
    reach = float(np.sqrt(size)) + 2 * float(np.linalg.norm(u)) * float(np.linalg.norm(weight.astype(np.float64)))
    reach += abs(tau) * float(np.sqrt(len(F)))
    a = float(np.sqrt(total))
    return a, rounding(len(F)) * (a + reach) + EPS * a
