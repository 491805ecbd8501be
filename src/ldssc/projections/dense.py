"""A whole matrix, of any namespace: each evaluation of the dual of (6) and each product is a pass over all of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldssc.projections.linear import cholesky_solver, conjugate_gradients
from ldssc.projections.namespace import beside, identity, largest, namespace
from ldssc.projections.newton import Evaluation, Multipliers
from ldssc.projections.rows import row_shift, spread
from ldssc.validation import Matrix, Vector

_CHOLESKY = 200  # below this size a factorisation beats conjugate gradients


class Dense:
    """h and its derivatives (see `newton`) for a matrix A with rows s."""

    def __init__(self, A: Matrix, s: Vector | None, trace: float | None) -> None:
        self.A, self.s, self.trace = A, s, trace
        self.xp = namespace(A)
        self.weight: Vector = self.xp.ones(A.shape[0], **beside(A)) if s is None else s
        self.zero = self.xp.asarray(0.0, **beside(A))
        self.reach = largest(A)
        self.cholesky = isinstance(A, np.ndarray) and len(A) <= _CHOLESKY

    def guess(self, level: float) -> Vector:
        """The multiplier of the rows if nothing were clipped."""
        return row_shift(self.A, self.s, level)

    def height(self, u: Vector) -> float:
        """The largest |A + M|."""
        return largest(self.A + spread(u, self.s))

    def matrix(self, at: Multipliers) -> Matrix:
        """F = max(A + M + τI, 0)."""
        F = spread(at.u, self.s)
        F += self.A
        if self.trace is not None and at.tau:
            F += at.tau * identity(F)
        positive: Matrix = self.xp.maximum(F, self.zero)
        return positive

    def evaluate(self, at: Multipliers, level: float) -> Evaluation:
        """What the rows and the trace of F miss of `level` times what they should be."""
        F = self.matrix(at)
        rows = self.xp.sum(F, axis=1) if self.s is None else F @ self.s
        excess = 0.0 if self.trace is None else float(self.xp.linalg.trace(F)) - level * self.trace
        return Evaluation(rows - level * self.weight, excess, F, self.s)

    def support(self, now: Evaluation) -> _Support:
        """The Jacobian of the rows, to solve with."""
        return _Support(self, now.where)


class _Support:
    """diag(S(s∘s)) + diag(s)S diag(s), S the 0/1 support of F."""

    def __init__(self, dual: Dense, F: Matrix) -> None:
        self.dual, s, xp = dual, dual.s, dual.xp
        S = xp.astype(F > 0, F.dtype)
        self.on = xp.linalg.diagonal(S)
        if s is None:
            self.count = xp.sum(S, axis=1)
        else:
            self.count = S @ (s * s)
            S = S * (s[:, None] * s[None, :])
        self.S = S

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        if self.dual.cholesky:
            J = self.S.copy()
            J.flat[:: len(J) + 1] += diagonal
            return cholesky_solver(J)
        return lambda b: conjugate_gradients(lambda v: self.S @ v, diagonal, b, tolerance)
