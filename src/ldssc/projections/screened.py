"""The dual of (6) for a large NumPy matrix: one pass over A picks the entries that can become positive, the rest is done
on these.

An entry stays out while A + M is below −2·margin·s_i s_j there, and u has moved by no more than margin·s: then nothing is
missed. A move further asks for a new pass. Where too many entries are positive for a list, all of A is passed over, in
blocks that stay in the cache; no n x n array of floats is made beside A and F, and one of half the size in that case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ldssc.projections.linear import conjugate_gradients
from ldssc.projections.newton import Evaluation, Multipliers, Support
from ldssc.projections.pattern import Pattern, scatter
from ldssc.projections.rows import row_shift
from ldssc.threads import in_threads
from ldssc.validation import Matrix, Vector

_BLOCK = 1 << 16  # entries, half a megabyte: what stays in the cache of a core
_DENSE = 0.15  # share of positive entries, beyond which lists no longer pay
_KEPT = 1.4  # entries for each positive one
_SAMPLED = 8  # rows, to choose the margin by


class Screened:
    """h and its derivatives (see `newton`) for a symmetric matrix A with rows s."""

    def __init__(self, A: Matrix, s: Vector | None, trace: float | None) -> None:
        self.A = A if A.flags.c_contiguous else A.T if A.flags.f_contiguous else np.ascontiguousarray(A)
        self.s, self.trace, self.n = s, trace, len(A)
        self.weight: Vector = np.ones(len(A), A.dtype) if s is None else s
        self.reach = max(in_threads(self.n, lambda rows: float(np.abs(self.A[rows]).max()), list(_blocks(self.n))))
        self._pattern: Pattern | None = None
        self._center = Multipliers(self.weight, 0.0)
        self._margin = 0.0

    def guess(self, level: float) -> Vector:
        """The multiplier of the rows if nothing were clipped."""
        return row_shift(self.A, self.s, level)

    def height(self, u: Vector) -> float:
        """The largest |A + M|."""
        at = Multipliers(u, 0.0)
        return max(in_threads(self.n, lambda rows: float(np.abs(self._block(at, rows)).max()), list(_upper(self.n))))

    def evaluate(self, at: Multipliers, level: float) -> Evaluation:
        """What the rows and the trace of F miss of `level` times what they should be."""
        pattern = self._covering(at) or self._screen(at)
        if pattern is None:
            return self._pass(at, level)
        now = pattern.evaluate(at, level)
        now.where = (pattern, now.where)
        return now

    def support(self, now: Evaluation) -> Support:
        """The Jacobian of the rows, to solve with."""
        if isinstance(now.where, Multipliers):
            return _WholeSupport(self, now.where)
        pattern: Pattern
        pattern, f = now.where
        return pattern.support(Evaluation(now.rows, now.excess, f, self.s))

    def matrix(self, at: Multipliers) -> Matrix:
        """F = max(A + M + τI, 0)."""
        if (pattern := self._covering(at)) is not None:
            return scatter(pattern, pattern.entries(at))
        F = np.empty_like(self.A)

        def fill(rows: slice) -> None:
            np.maximum(self._block(at, rows, slice(0, self.n)), 0, out=F[rows])

        in_threads(self.n, fill, list(_blocks(self.n)))
        return F

    def _block(self, at: Multipliers, rows: slice, columns: slice | None = None) -> Matrix:
        """Rows of A + M + τI, from the diagonal on unless columns are given."""
        columns = slice(rows.start, self.n) if columns is None else columns
        if self.s is None:
            B = at.u[rows, None] + at.u[columns]
        else:
            B = at.u[rows, None] * self.s[columns]
            B += self.s[rows, None] * at.u[columns]
        B += self.A[rows, columns]
        if at.tau:
            B[np.arange(len(B)), np.arange(rows.start, rows.stop) - columns.start] += at.tau
        return B

    def _covering(self, at: Multipliers) -> Pattern | None:
        """The pattern, if what it leaves out is still negative."""
        if self._pattern is None:
            return None
        moved = float(np.abs((at.u - self._center.u) / self.weight).max())
        return self._pattern if moved <= self._margin else None

    def _screen(self, at: Multipliers) -> Pattern | None:
        """Choose a margin and collect the pattern around these multipliers; none where it would be too long."""
        self._pattern = None
        margin = self._choose_margin(at)
        if margin is None:
            return None
        found = in_threads(self.n, lambda rows: self._collect(at, margin, rows), list(_upper(self.n)))
        row, col = (np.concatenate(parts) for parts in zip(*found, strict=True))
        a = self.A.ravel()[row * self.n + col]
        self._pattern = Pattern(row, col, a, self.s, self.trace, self.n)
        self._center, self._margin = at, margin
        return self._pattern

    def _choose_margin(self, at: Multipliers) -> float | None:
        """Such that a few more entries are kept than are positive; from a few rows."""
        rows = np.linspace(0, self.n - 1, _SAMPLED).astype(int)
        B = np.stack([self._block(at, slice(i, i + 1), slice(0, self.n))[0] for i in rows])
        B /= self.weight[rows, None] * self.weight
        share = np.count_nonzero(B > 0) / B.size
        if share > _DENSE:
            return None
        keep = max(1, int(B.size * (_KEPT * share + 1 / self.n)))
        return max(0.0, -float(np.partition(B, B.size - keep, axis=None)[B.size - keep]) / 2)

    def _collect(self, at: Multipliers, margin: float, rows: slice) -> tuple[Vector, Vector]:
        B = self._block(at, rows)
        height, width = B.shape
        threshold = -2 * margin if self.s is None else -2 * margin * self.s[rows, None] * self.s[rows.start :]
        kept = threshold < B
        corner = kept[:, :height]
        corner[np.tril_indices(height, -1)] = False
        if self.trace is not None:
            corner[np.diag_indices(height)] = True
        flat = np.flatnonzero(kept)
        row = flat // width
        return row + rows.start, flat - row * width + rows.start

    def _pass(self, at: Multipliers, level: float) -> Evaluation:
        """An evaluation over all of A."""

        def part(rows: slice) -> tuple[Vector, Vector, float]:
            B = self._block(at, rows)
            np.maximum(B, 0, out=B)
            height = len(B)
            right = B[:, height:]
            own = float(B.diagonal().sum()) if self.trace is not None else 0.0
            corner = B[:, :height]
            corner[...] = np.triu(corner) + np.triu(corner, 1).T
            if self.s is None:
                return B.sum(axis=1), right.sum(axis=0), own
            return B @ self.s[rows.start :], self.s[rows] @ right, own

        total, own = -level * self.weight, 0.0
        slices = list(_upper(self.n))
        for rows, (here, there, diagonal) in zip(slices, in_threads(self.n, part, slices), strict=True):
            total[rows] += here
            total[rows.stop :] += there
            own += diagonal
        return Evaluation(total, 0.0 if self.trace is None else own - level * self.trace, at, self.s)


class _WholeSupport:
    """diag(S(s∘s)) + diag(s)S diag(s) with S in full, in single precision where there are no weights."""

    def __init__(self, dual: Screened, at: Multipliers) -> None:
        n, s = dual.n, dual.s
        self.S = np.empty((n, n), np.float32 if s is None else dual.A.dtype)

        def fill(rows: slice) -> None:
            np.greater(dual._block(at, rows, slice(0, n)), 0, out=self.S[rows], casting="unsafe")

        in_threads(n, fill, list(_blocks(n)))
        self.s, self.dtype = s, dual.A.dtype
        self.on = self.S.diagonal().astype(self.dtype)
        self.count = self._times(dual.weight * dual.weight)

    def _times(self, v: Vector) -> Vector:
        return np.asarray(self.S @ v.astype(self.S.dtype, copy=False)).astype(self.dtype, copy=False)

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        s = self.s

        def multiply(v: Vector) -> Vector:
            return self._times(v) if s is None else s * self._times(s * v)

        return lambda b: conjugate_gradients(multiply, diagonal, b, max(tolerance, 1e-6 if s is None else 0))


def _blocks(n: int) -> Iterator[slice]:
    """All rows, so many at a time that whole rows stay in the cache."""
    height = max(1, _BLOCK // n)
    for start in range(0, n, height):
        yield slice(start, min(n, start + height))


def _upper(n: int) -> Iterator[slice]:
    """All rows, so many at a time that what is right of the diagonal stays in the cache."""
    start = 0
    while start < n:
        stop = min(n, start + max(1, _BLOCK // (n - start)), start + 512)
        yield slice(start, stop)
        start = stop
