"""Sums that a proof can rest on, with a bound on their rounding; in the longest type where doubles are too coarse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ldssc.validation import Matrix, Vector

LONG_EPS = float(np.finfo(np.longdouble).eps)
EPS = float(np.finfo(np.float64).eps)
_BLOCK = 1 << 16  # entries converted at a time: they stay in the cache
_BLUR = 1e-3  # share of a sum that the rounding of doubles may have


def _row_blocks(n: int) -> Iterator[slice]:
    height = max(1, _BLOCK // max(n, 1))
    for start in range(0, n, height):
        yield slice(start, min(n, start + height))


def rounding(n: int) -> float:
    """Relative rounding of a sum of n² products, bounded by the sum of their sizes times this."""
    return (4 + 2 * n) * LONG_EPS


def inner(A: Matrix, B: Matrix) -> tuple[float, float]:
    """⟨A, B⟩ and a bound on its rounding; in the long type only where doubles blur it."""
    total, bound = _inner(A, B, np.float64)
    if bound > _BLUR * abs(total):
        total, bound = _inner(A, B, np.longdouble)
    return total, bound


def _inner(A: Matrix, B: Matrix, kind: Any) -> tuple[float, float]:
    total, size = kind(0), kind(0)
    for rows in _row_blocks(len(A)):
        product = A[rows].astype(kind, copy=False) * B[rows]
        total += product.sum(axis=1).sum()
        size += np.abs(product, out=product).sum(axis=1).sum()
    return float(total), (4 + 2 * len(A)) * float(np.finfo(kind).eps) * float(size) + EPS * abs(float(total))


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
    """a = ‖F − (A + usᵀ + suᵀ + Q + Z + τI)‖ and a bound on its rounding; in the long type only where doubles blur it."""
    a, bound = _stationarity(F, A, u, Q, Z, s, tau, np.float64)
    if bound > _BLUR * a:
        a, bound = _stationarity(F, A, u, Q, Z, s, tau, np.longdouble)
    return a, bound


def _stationarity(
    F: Matrix, A: Matrix, u: Vector, Q: Matrix, Z: Matrix, s: Vector | None, tau: float, kind: Any
) -> tuple[float, float]:
    total, size = kind(0), kind(0)
    column = u.astype(kind)
    weight = np.ones(len(F), kind) if s is None else s.astype(kind)
    for rows in _row_blocks(len(F)):
        G = np.add.outer(column[rows], column) if s is None else np.outer(column[rows], weight)
        if s is not None:
            G += np.outer(weight[rows], column)
        G += A[rows]
        G += Q[rows]
        G += Z[rows]
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] += kind(tau)
        for part in (G, A[rows], Q[rows], Z[rows]):
            size += np.einsum("ij,ij->i", part, part).sum()
        G -= F[rows]
        total += np.einsum("ij,ij->i", G, G).sum()
    reach = float(np.sqrt(size)) + 2 * float(np.linalg.norm(u)) * float(np.linalg.norm(weight.astype(np.float64)))
    reach += abs(tau) * float(np.sqrt(len(F)))
    a = float(np.sqrt(total))
    return a, (4 + 2 * len(F)) * float(np.finfo(kind).eps) * a + 8 * float(np.finfo(kind).eps) * reach + EPS * a
