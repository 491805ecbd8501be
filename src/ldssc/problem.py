"""The convex problem (1) as an object: dual values, recovery of F, and its repair into a feasible matrix.

    (1)  minimise ½‖F − K‖²  subject to  F = Fᵀ, F1 = 1, F ≥ 0, F ⪰ 0

u, Q ≥ 0 and Z ⪰ 0 are the multipliers of the rows, the signs and the semidefiniteness, and M = u1ᵀ + 1uᵀ. Nothing here
knows about solving or clustering.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import row_excess
from ldssc.projections import (
    EPS,
    Eigh,
    balance,
    eigh,
    project_doubly_stochastic,
    project_semidefinite,
    split,
    spread,
)
from ldssc.validation import Matrix, Vector


class Point(NamedTuple):
    """A matrix with its multipliers. From `close_*`, F is feasible in (1) up to rounding."""

    F: Matrix
    u: Vector
    Q: Matrix
    Z: Matrix


class ReducedDual(NamedTuple):
    """(4) at (u, Q): its value, its gradient in u, and F, which is its gradient in Q; Z by (2)."""

    value: float
    gradient_u: Vector
    F: Matrix
    Z: Matrix


def dual_value(K: Matrix, u: Vector, Q: Matrix, Z: Matrix) -> float:
    """d(u, Q, Z) = ½‖K‖² − ½‖K + M + Q + Z‖² + 2·1ᵀu (3), never above ½‖F − K‖² of a feasible F."""
    change = spread(u) + Q + Z
    return float(2 * u.sum() - np.vdot(K, change) - np.vdot(change, change) / 2)


def reduced_dual(K: Matrix, u: Vector, Q: Matrix, eigh: Eigh = eigh) -> ReducedDual:
    """½‖(K + M + Q)₊‖² − 2·1ᵀu (4), which the paper minimises over u and Q ≥ 0; one eigendecomposition."""
    parts = split(K + spread(u) + Q, eigh)
    F = parts.plus
    value = float(np.square(parts.values[parts.values > 0]).sum() / 2 - 2 * u.sum())
    return ReducedDual(value, 2 * (F.sum(axis=1) - 1), F, parts.minus)


def recover(K: Matrix, u: Vector, Q: Matrix, Z: Matrix) -> Matrix:
    """F = K + M + Q + Z (2): what the multipliers say that F is, feasible only at the solution."""
    return K + spread(u) + Q + Z


def eigenvalue_margin(n: int) -> float:
    """How far a computed eigenvalue of a matrix of norm one may be from the true one."""
    return EPS * max(8.0, float(np.sqrt(n)))


def lowest_eigenvalue(F: Matrix) -> float:
    """The smallest eigenvalue of a symmetric matrix, as computed."""
    return float(la.eigvalsh(F, driver="evd", check_finite=False)[0])


def make_feasible(F: Matrix, lowest: float | None = None) -> Matrix:
    """A matrix near F that is feasible in (1), rounding margins included, whatever F is.

    Rows by diagonal scaling (or by projection where they are far off), signs by mixing in 11ᵀ/n (13a), semidefiniteness
    by mixing in I (13). `lowest` is the smallest eigenvalue of F, where it is known.
    """
    n = len(F)
    F = (F + F.T) / 2
    if float(np.abs(F.sum(axis=1) - 1).max()) > 1e-9:
        F, lowest = project_doubly_stochastic(F).F, None
    F = balance(F)
    if (nu := float(-F.min())) > 0:
        t = n * nu / (1 + n * nu)
        F = np.maximum((1 - t) * F + t / n, 0)
        lowest = None if lowest is None else (1 - t) * lowest
    lowest = lowest_eigenvalue(F) if lowest is None else lowest
    # both decompositions, this one and an auditor's, may be off by the margin
    if (shortfall := 4 * eigenvalue_margin(n) - lowest) > 0:
        t = shortfall / (1 + shortfall)
        F = (1 - t) * F
        F.flat[:: n + 1] += t
    return _true_rows(F)


def make_rows_exact(F: Matrix) -> Matrix:
    """An F ≥ 0 whose rows are nearly one, with rows that are one up to rounding."""
    return _true_rows(balance(F))


def _true_rows(F: Matrix) -> Matrix:
    """Put the last rounding of each row on the diagonal, where it fits: they then sum to one to the last bit."""
    diagonal = F.diagonal() - row_excess(F)
    F.flat[:: len(F) + 1] = np.maximum(diagonal, 0)
    return F


def close_doubly_stochastic(K: Matrix, Z: Matrix, u: Vector | None = None) -> Point:
    """A feasible point from Z alone: F = Π_D(K + Z) (6), complementary to its own Q, then mixed with I (13)."""
    A = K + Z
    F, u, _ = project_doubly_stochastic(A, u)
    Q = np.maximum(-(A + spread(u)), 0)
    return Point(make_feasible(F), u, Q, Z)


def close_semidefinite(K: Matrix, Q: Matrix, eigh: Eigh = eigh) -> Point:
    """A feasible point from Q alone: F = 11ᵀ/n + (P(K + Q)P)₊ (5), complementary to its own Z, then mixed (13a)."""
    F, u, Z = project_semidefinite(K + Q, eigh)
    return Point(make_feasible(F), u, Q, Z)
