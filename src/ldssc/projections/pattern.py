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

    def times_weight(self, f: Vector) -> Vector:
        """Fs for the symmetric matrix of these entries."""
        left, right = (f, f) if self._ends is None else (f * self._ends[1], f * self._ends[0])
        rows = np.bincount(self.row, left, self.n) + np.bincount(self.col, right, self.n)
        on = self.row[self.diagonal]
        rows[on] = rows[on] - left[self.diagonal]
        return rows.astype(self.a.dtype, copy=False)

    def evaluate(self, at: Multipliers, level: float) -> Evaluation:
        """What the rows and the trace of F miss of `level` times what they should be."""
        f = self.entries(at)
        excess = 0.0 if self.trace is None else float(f[self.diagonal].sum()) - level * self.trace
        return Evaluation(self.times_weight(f) - level * self.weight, excess, f, self.s)

    def support(self, now: Evaluation) -> PatternSupport:
        """The Jacobian of the rows, to solve with."""
        on = np.flatnonzero(now.where > 0)
        return PatternSupport(self.row[on], self.col[on], self.weight, self.s is not None)

    def guess(self, level: float) -> Vector:
        """A multiplier with which the rows are right on average, if nothing were clipped."""
        missing = level * self.weight - self.times_weight(self.a)
        ones = self.times_weight(self.weight[self.row] * self.weight[self.col])  # of ssᵀ on the pattern
        shift: Vector = missing * self.weight / (2 * np.maximum(ones, np.finfo(ones.dtype).tiny))
        return shift

    def height(self, u: Vector) -> float:
        """The largest |A + M|."""
        return float(np.abs(self.shifted(Multipliers(u, 0.0))).max(initial=0))

    def matrix(self, at: Multipliers) -> Any:
        """F as a CSR array that stores its positive entries."""
        return self.csr(self.entries(at))

    def csr(self, f: Vector) -> Any:
        """The symmetric matrix of these entries, zeros left out."""
        on = np.flatnonzero(f > 0)
        upper = sparse.csr_array((f[on], (self.row[on], self.col[on])), shape=(self.n, self.n))
        full = upper + sparse.triu(upper, 1, format="csr").T
        return sparse.csr_array(full)


class PatternSupport:
    """diag(S(s∘s)) + diag(s)S diag(s) for the 0/1 matrix S with ones at (row ≤ col) and mirrored."""

    def __init__(self, row: Index, col: Index, weight: Vector, weighted: bool) -> None:
        n = len(weight)
        starts = np.zeros(n + 1, np.intp)
        np.cumsum(np.bincount(row, minlength=n), out=starts[1:])
        self.upper = sparse.csr_array((np.ones(len(row), weight.dtype), col, starts), shape=(n, n))
        self.lower = self.upper.T
        self.on: Vector = np.zeros(n, weight.dtype)
        self.on[row[row == col]] = 1
        self.weight = weight if weighted else None
        self.count = self.times(weight * weight)

    def times(self, v: Vector) -> Vector:
        """Sv."""
        product: Vector = self.upper @ v
        product += self.lower @ v
        product -= self.on * v
        return product

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        s = self.weight

        def multiply(v: Vector) -> Vector:
            return self.times(v) if s is None else s * self.times(s * v)

        return lambda b: conjugate_gradients(multiply, diagonal, b, tolerance)


def scatter(pattern: Pattern, f: Vector) -> Matrix:
    """The entries in a full array."""
    n = pattern.n
    F = np.zeros((n, n), f.dtype)
    flat = F.ravel()
    flat[pattern.row * n + pattern.col] = f
    flat[pattern.col * n + pattern.row] = f
    return F
