"""The convex problem (1) as an object, with its weights (19) and its trace (20): dual value, repair, closing.

    (1)   minimise ½‖F − K‖²  subject to  F = Fᵀ, F1 = 1, F ≥ 0, F ⪰ 0
    (19)  with weights w, s = √w: the same for A = diag(s)K diag(s) with Fs = s; (20) with tr F = trace besides

u, Q ≥ 0, Z ⪰ 0 and τ are the multipliers of the rows, the signs, the semidefiniteness and the trace; M = usᵀ + suᵀ.
Nothing here knows about solving or clustering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS, row_excess, trace_excess
from ldssc.projections import (
    Eigh,
    balance,
    eigenvalues,
    eigh,
    ones_of,
    project_doubly_stochastic,
    project_semidefinite,
    split,
    spread,
    uniform,
)
from ldssc.spectrum import cholesky_margin, lowest_eigenvalue_bound
from ldssc.validation import Matrix, Vector

_CHOLESKY = 2000  # rows, from which a factorisation is much cheaper than all eigenvalues


class Point(NamedTuple):
    """A matrix with its multipliers. From `close_*`, F is feasible up to rounding."""

    F: Matrix
    u: Vector
    Q: Matrix
    Z: Matrix
    tau: float = 0.0


@dataclass(frozen=True, slots=True)
class Problem:
    """A = diag(√w)K diag(√w), and the trace, if it is prescribed. Without weights A = K, and s is None.

    Fs = s says the same for every multiple of s, so s is kept at a root mean square of one: √w = `unit` · s.
    """

    A: Matrix
    s: Vector | None = None
    trace: float | None = None
    unit: float = 1.0

    def __len__(self) -> int:
        return int(self.A.shape[0])

    @property
    def weight(self) -> Vector:
        """s, written out."""
        return ones_of(self.A, self.s)

    @property
    def root(self) -> Vector | None:
        """√w."""
        return None if self.s is None else self.unit * self.s

    def only(self) -> Matrix | None:
        """The one feasible matrix there is where the trace is 1 or n: ssᵀ/‖s‖² or I."""
        if self.trace is None or 1 < self.trace < len(self):
            return None
        return np.eye(len(self)) if self.trace > 1 else uniform(len(self), self.s)

    def interior(self) -> Matrix:
        """A feasible matrix that is positive definite: I, or with a trace aP + ssᵀ/‖s‖², a = (trace − 1)/(n − 1)."""
        n = len(self)
        if self.trace is None:
            return np.eye(n)
        a = (self.trace - 1) / (n - 1) if n > 1 else 1.0
        return a * np.eye(n) + (1 - a) * uniform(n, self.s)

    def recover(self, u: Vector, Q: Matrix, Z: Matrix, tau: float = 0.0) -> Matrix:
        """F = A + M + Q + Z + τI (2): what the multipliers say that F is, feasible only at the solution."""
        return self.A + self._change(u, Q, Z, tau)

    def _change(self, u: Vector, Q: Matrix, Z: Matrix, tau: float) -> Matrix:
        change = spread(u, self.s) + Q + Z
        if tau:
            change.flat[:: len(change) + 1] += tau
        return change

    def dual_value(self, u: Vector, Q: Matrix, Z: Matrix, tau: float = 0.0) -> float:
        """½‖A‖² − ½‖A + M + Q + Z + τI‖² + 2·sᵀu + τ·trace (3), never above ½‖F − A‖² of a feasible F."""
        change = self._change(u, Q, Z, tau)
        constant = 2 * float(self.weight @ u) + tau * (self.trace or 0.0)
        return constant - float(np.vdot(self.A, change) + np.vdot(change, change) / 2)

    def complete(self, Z: Matrix, u: Vector | None = None, tau: float = 0.0) -> Point:
        """The best point for Z: F = Π_D(A + Z) (6), complementary to its own Q; semidefinite only at the solution."""
        Q = self.A + Z
        F, u, _, tau = project_doubly_stochastic(Q, u, self.s, self.trace, tau)
        Q += spread(u, self.s)
        Q.flat[:: len(Q) + 1] += tau
        np.maximum(np.negative(Q, out=Q), 0, out=Q)
        return Point(F, u, Q, Z, tau)

    def close_doubly_stochastic(self, Z: Matrix, u: Vector | None = None, tau: float = 0.0) -> Point:
        """A feasible point from Z alone: the best point for it, mended (13)."""
        point = self.complete(Z, u, tau)
        return point._replace(F=self.make_feasible(point.F))

    def close_semidefinite(self, Q: Matrix, eigh: Eigh = eigh) -> Point:
        """A feasible point from Q alone: the projection of A + Q on the semidefinite side (5), (20), then mended (13a)."""
        F, u, Z, tau = project_semidefinite(self.A + Q, eigh, self.s, self.trace)
        return Point(self.make_feasible(F), u, Q, Z, tau)

    def make_feasible(self, F: Matrix, lowest: float | None = None) -> Matrix:
        """A matrix near F that is feasible, rounding margins included, whatever F is.

        Rows by diagonal scaling (or by projection where they are far off), signs by mixing in ssᵀ/‖s‖² (13a),
        semidefiniteness by mixing in I (13); with a trace both by mixing in `interior`. `lowest` is the smallest
        eigenvalue of F, where it is known.
        """
        n = len(F)
        if (only := self.only()) is not None:
            return only
        F = (F + F.T) / 2
        if self._off(F) > 1e-9:
            F, lowest = project_doubly_stochastic(F, s=self.s, trace=self.trace).F, None
            if self._off(F) > 1e-3:  # the projection has failed, as it may where weights differ wildly
                return self._true_rows(self.interior())
        F = balance(F, self.s)
        if F.min() < 0:
            F, kept = self._without_signs(F)
            lowest = None if lowest is None else kept * lowest
        before = F
        F = self._true_trace(self._true_rows(F))
        lowest = None if lowest is None else lowest - float(la.norm(F - before))
        lowest = lowest_to_mend(F) if lowest is None else lowest
        # both decompositions, this one and an auditor's, may be off by the margin; what rows still miss, the diagonal pays
        missing = float(np.abs(row_excess(F, self.s) / self.weight).max())
        if (shortfall := 4 * eigenvalue_margin(n) + missing - lowest) > 0:
            a = 1.0 if self.trace is None else (self.trace - 1) / max(n - 1, 1)
            t = shortfall / (a + shortfall)
            F = (1 - t) * F + t * self.interior()
        return self._true_rows(F)

    def _off(self, F: Matrix) -> float:
        """What the rows, and the trace, miss."""
        rows = float(np.abs(F @ self.weight - self.weight).max())
        return rows if self.trace is None else max(rows, abs(float(np.trace(F)) - self.trace))

    def _true_trace(self, F: Matrix) -> Matrix:
        """Mix in ssᵀ/‖s‖² where the trace is too large, I where it is too small."""
        if self.trace is None:
            return F
        excess = trace_excess(F, self.trace)
        t = self.trace_share(excess)
        return (1 - t) * F + t * (uniform(len(F), self.s) if excess > 0 else np.eye(len(F)))

    def trace_share(self, excess: float) -> float:
        """How much of ssᵀ/‖s‖² (excess > 0) or of I must be mixed into F to make up for an error of its trace."""
        assert self.trace is not None
        room = self.trace - 1 if excess > 0 else len(self) - self.trace
        return abs(excess) / (room + abs(excess)) if excess else 0.0

    def _without_signs(self, F: Matrix) -> tuple[Matrix, float]:
        """Mix in a positive matrix until no entry is negative (13a); with it the share of F that is kept."""
        E = uniform(len(F), self.s) if self.trace is None else self.interior()
        with np.errstate(divide="ignore", invalid="ignore"):
            nu = float(np.max(np.where(F < 0, -F / E, 0)))
        t = nu / (1 + nu) if np.isfinite(nu) else 1.0
        return np.maximum((1 - t) * F + t * E, 0), 1 - t

    def _true_rows(self, F: Matrix) -> Matrix:
        """Put the last rounding of each row on the diagonal, where it fits."""
        diagonal = F.diagonal() - row_excess(F, self.s) / self.weight
        F = F.copy()
        F.flat[:: len(F) + 1] = np.maximum(diagonal, 0)
        return F


class ReducedDual(NamedTuple):
    """(4) at (u, Q): its value, its gradient in u, and F, which is its gradient in Q; Z by (2)."""

    value: float
    gradient_u: Vector
    F: Matrix
    Z: Matrix


def reduced_dual(K: Matrix, u: Vector, Q: Matrix, eigh: Eigh = eigh) -> ReducedDual:
    """½‖(K + M + Q)₊‖² − 2·1ᵀu (4), which the paper minimises over u and Q ≥ 0; one eigendecomposition."""
    parts = split(K + spread(u) + Q, eigh)
    F = parts.plus
    value = float(np.square(parts.values[parts.values > 0]).sum() / 2 - 2 * u.sum())
    return ReducedDual(value, 2 * (F.sum(axis=1) - 1), F, parts.minus)


def eigenvalue_margin(n: int) -> float:
    """How far a computed eigenvalue of a matrix of norm one may be from the true one."""
    return EPS * max(8.0, float(np.sqrt(n)))


def lowest_eigenvalue(F: Matrix) -> float:
    """The smallest eigenvalue of a symmetric matrix, as computed."""
    return float(eigenvalues(F)[0])


def lowest_to_mend(F: Matrix) -> float:
    """The smallest eigenvalue of F, or a little less: a Cholesky factorisation bounds it where that is near enough."""
    if len(F) >= _CHOLESKY:
        bound = lowest_eigenvalue_bound(F)
        if bound < -30 * cholesky_margin(len(F), float(np.abs(F.diagonal()).sum())):
            return bound
    return lowest_eigenvalue(F)


def make_rows_exact(F: Matrix, s: Vector | None = None) -> Matrix:
    """An F ≥ 0 whose rows are nearly right, with rows that are right up to rounding."""
    return Problem(F, s)._true_rows(balance(F, s))
