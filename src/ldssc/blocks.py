"""Passes over large matrices a block of rows at a time: no second matrix is taken, in any namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from array_api_compat import device

from ldssc.projections.linear import conjugate_gradients
from ldssc.projections.namespace import beside, namespace
from ldssc.projections.newton import Evaluation, Multipliers, Support, minimise
from ldssc.projections.rows import row_shift
from ldssc.validation import Matrix, Vector

_IN_CACHE, _ON_DEVICE = 1 << 18, 1 << 28  # entries at a time


def row_blocks(A: Matrix) -> Iterator[slice]:
    """Slices of rows: few at a time where the processor's cache counts, all but always where a device computes."""
    n = A.shape[0]
    entries = _IN_CACHE if str(device(A)).lower().startswith("cpu") else _ON_DEVICE
    height = max(1, entries // max(n, 1))
    for start in range(0, n, height):
        yield slice(start, min(n, start + height))


def shifted_rows(A: Matrix, u: Vector, s: Vector | None, rows: slice) -> Matrix:
    """Rows of A + usᵀ + suᵀ, symmetric to the last bit where A is."""
    if s is None:
        return A[rows, :] + (u[rows, None] + u[None, :])
    return A[rows, :] + (u[rows, None] * s[None, :] + s[rows, None] * u[None, :])


def symmetrise(A: Matrix) -> None:
    """Replace A by (A + Aᵀ)/2, in place."""
    pieces = list(row_blocks(A))
    for k, one in enumerate(pieces):
        for two in pieces[k:]:
            mean = (A[one, two] + A[two, one].T) * 0.5
            A[one, two] = mean
            A[two, one] = mean.T


def add_product(A: Matrix, L: Matrix, R: Matrix, out: Matrix) -> None:
    """out ← A + LRᵀ; out may be A."""
    for rows in row_blocks(A):
        out[rows, :] = A[rows, :] + L[rows, :] @ R.T


def add_diagonal(F: Matrix, d: Vector) -> None:
    """F + diag(d), in place; off the diagonal zero is added, which changes nothing."""
    xp = namespace(F)
    for rows in row_blocks(F):
        here = F[rows, rows]
        F[rows, rows] = here + d[rows, None] * xp.eye(here.shape[0], **beside(here))


class Rows:
    """The dual of (6) for a matrix B, see `projections.newton`: evaluated in passes; one array of zeros and ones is kept."""

    def __init__(self, B: Matrix, s: Vector | None = None, S: Matrix | None = None) -> None:
        self.B, self.s = B, s
        self.trace: float | None = None
        self.xp = xp = namespace(B)
        self.weight: Vector = xp.ones(B.shape[0], **beside(B)) if s is None else s
        self.reach = max(float(xp.max(xp.abs(B[rows, :]))) for rows in row_blocks(B))
        self._S = S

    def guess(self, level: float) -> Vector:
        """The multiplier of the rows if nothing were clipped."""
        return row_shift(self.B, self.s, level)

    def height(self, u: Vector) -> float:
        """The largest |B + M|."""
        xp = self.xp
        return max(float(xp.max(xp.abs(shifted_rows(self.B, u, self.s, rows)))) for rows in row_blocks(self.B))

    def positive(self, u: Vector, rows: slice) -> Matrix:
        """Rows of max(B + M, 0)."""
        shifted = shifted_rows(self.B, u, self.s, rows)
        return self.xp.maximum(shifted, self.xp.zeros_like(shifted))  # type: ignore[no-any-return]

    def evaluate(self, at: Multipliers, level: float) -> Evaluation:
        """What the rows of max(B + M, 0) miss."""
        found = self.xp.empty_like(at.u)
        for rows in row_blocks(self.B):
            F = self.positive(at.u, rows)
            found[rows] = self.xp.sum(F, axis=1) if self.s is None else F @ self.s
        return Evaluation(found - level * self.weight, 0.0, at)

    def support(self, now: Evaluation) -> Support:
        """The Jacobian of the rows."""
        if self._S is None:
            self._S = self.xp.empty_like(self.B)
        return _InPasses(self, now.where.u, self._S)

    def matrix(self, at: Multipliers) -> Matrix:
        """max(B + M, 0), in the place of B."""
        return self.write(at.u)

    def write(self, u: Vector) -> Matrix:
        """max(B + M, 0), in the place of B."""
        for rows in row_blocks(self.B):
            self.B[rows, :] = self.positive(u, rows)
        return self.B

    def solve(self, u: Vector | None, enough: float = 0.0) -> Vector:
        """The multiplier u at which the rows are right, or wrong by no more than `enough`."""
        return minimise(self, None if u is None else Multipliers(u, 0.0), enough)[0].u


class _InPasses:
    """diag(S(s∘s)) + diag(s)S diag(s), S the 0/1 support of max(B + M, 0)."""

    def __init__(self, dual: Rows, u: Vector, S: Matrix) -> None:
        xp, s = dual.xp, dual.s
        self.S, self.s = S, s
        count = xp.empty_like(u)
        for rows in row_blocks(S):
            on = xp.astype(shifted_rows(dual.B, u, s, rows) > 0, S.dtype)
            S[rows, :] = on
            count[rows] = xp.astype(xp.sum(on, axis=1) if s is None else on @ xp.astype(s * s, S.dtype), u.dtype)
        self.count = count
        self.on = xp.astype(xp.linalg.diagonal(S), u.dtype)

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        return lambda b: conjugate_gradients(self._multiply, diagonal, b, tolerance)

    def _multiply(self, v: Vector) -> Vector:
        xp = namespace(v)
        if self.s is None:
            return xp.astype(self.S @ xp.astype(v, self.S.dtype), v.dtype)  # type: ignore[no-any-return]
        return self.s * xp.astype(self.S @ xp.astype(self.s * v, self.S.dtype), v.dtype)  # type: ignore[no-any-return]
