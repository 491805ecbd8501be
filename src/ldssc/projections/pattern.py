"""The dual of (6) on a list of entries, the only ones where F may be positive: O(entries) an evaluation. NumPy, SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ldssc.projections.linear import conjugate_gradients
from ldssc.projections.newton import Evaluation, Multipliers
from ldssc.validation import Matrix, Vector

Index = npt.NDArray[np.intp]


class Pattern:
    """Entries (row ≤ col, row by row) of a symmetric matrix with their values a; the others of F are zero."""

    def __init__(self, row: Index, col: Index, a: Vector, s: Vector | None, trace: float | None, n: int) -> None:
        self.row, self.col, self.a, self.s, self.trace, self.n = row, col, a, s, trace, n
        self.weight: Vector = np.ones(n, a.dtype) if s is None else s
        self.diagonal = np.flatnonzero(row == col)
        self.reach = float(np.abs(a).max(initial=0))
        self._ends = None if s is None else (s[row], s[col])
        starts = np.zeros(n + 1, np.intp)
        np.cumsum(np.bincount(row, minlength=n), out=starts[1:])
        self._upper = sparse.csr_array((a, col, starts), shape=(n, n))

    def __len__(self) -> int:
        return len(self.a)

    def shifted(self, at: Multipliers) -> Vector:
        """The entries of A + usᵀ + suᵀ + τI."""
        f = at.u[self.row]
        if self._ends is None:
            f += at.u[self.col]
        else:
            f *= self._ends[1]
            f += self._ends[0] * at.u[self.col]
        f += self.a
        if at.tau:
            f[self.diagonal] += at.tau
        return f

    def entries(self, at: Multipliers) -> Vector:
        """Those of F = max(A + M + τI, 0)."""
        f = self.shifted(at)
        return np.maximum(f, 0, out=f)

    def times(self, f: Vector, v: Vector) -> Vector:
        """Fv for the symmetric matrix F of these entries."""
        return _Symmetric(self, f).times(v)

    def upper(self, f: Vector) -> Any:
        """The upper triangle of these entries, as a CSR array."""
        return sparse.csr_array((f, self._upper.indices, self._upper.indptr), shape=(self.n, self.n))

    def evaluate(self, at: Multipliers, level: float) -> Evaluation:
        """What the rows and the trace of F miss of `level` times what they should be."""
        f = self.entries(at)
        excess = 0.0 if self.trace is None else float(f[self.diagonal].sum()) - level * self.trace
        return Evaluation(self.times(f, self.weight) - level * self.weight, excess, f, self.s)

    def support(self, now: Evaluation) -> PatternSupport:
        """The Jacobian of the rows, to solve with."""
        return PatternSupport(self, now.where)

    def guess(self, level: float) -> Vector:
        """A multiplier with which the rows are right on average, if nothing were clipped."""
        missing = level * self.weight - self.times(self.a, self.weight)
        ones = self.times(self.weight[self.row] * self.weight[self.col], self.weight)  # of ssᵀ on the pattern
        shift: Vector = missing * self.weight / (2 * np.maximum(ones, np.finfo(ones.dtype).tiny))
        return shift

    def height(self, u: Vector) -> float:
        """The largest |A + M|."""
        return float(np.abs(self.shifted(Multipliers(u, 0.0))).max(initial=0))


class _Symmetric:
    """A symmetric matrix, to multiply with, from its upper triangle."""

    def __init__(self, pattern: Pattern, f: Vector) -> None:
        self.upper = pattern.upper(f)
        self.lower = self.upper.T
        self.diagonal: Vector = np.zeros(pattern.n, f.dtype)
        self.diagonal[pattern.row[pattern.diagonal]] = f[pattern.diagonal]

    def times(self, v: Vector) -> Vector:
        """Its product with a vector."""
        product: Vector = self.upper @ v
        product += self.lower @ v
        product -= self.diagonal * v
        return product


class PatternSupport:
    """diag(S(s∘s)) + diag(s)S diag(s) for the 0/1 support S of the entries f."""

    def __init__(self, pattern: Pattern, f: Vector) -> None:
        self.S = _Symmetric(pattern, (f > 0).astype(f.dtype))
        self.on = self.S.diagonal
        self.s = pattern.s
        self.count = self.S.times(pattern.weight * pattern.weight)

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        S, s = self.S, self.s

        def multiply(v: Vector) -> Vector:
            return S.times(v) if s is None else s * S.times(s * v)

        return lambda b: conjugate_gradients(multiply, diagonal, b, tolerance)


def scatter(pattern: Pattern, f: Vector) -> Matrix:
    """The entries in a full array."""
    n = pattern.n
    F = np.zeros((n, n), f.dtype)
    flat = F.ravel()
    flat[pattern.row * n + pattern.col] = f
    flat[pattern.col * n + pattern.row] = f
    return F
