"""The PSD part of matrices with few positive eigenvalues, without decompositions; arrays of any namespace.

A block of vectors is kept from call to call, filtered by a Chebyshev polynomial of the matrix, and rotated (Rayleigh-Ritz).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array, to_device

from ldssc.projections.eigen import Tally
from ldssc.projections.namespace import beside, count, namespace, norm
from ldssc.spectrum import Apply, Extreme, lanczos_lowest, random_block
from ldssc.validation import Matrix, Vector

_SHALLOW = 1e-2  # of the norm: the least depth below zero that a filter is made for
_TALL = 2.0  # times the depth of the spectrum below zero
_EDGE = 0.8  # of the lowest Ritz value that is kept: what is damped lies below


def chebyshev(apply: Apply, X: Matrix, degree: int, low: float, high: float) -> Matrix:
    """T_degree of the operator, mapped so that [low, high] is damped and what lies above grows; columns stay of order one."""
    center, half = (low + high) / 2, (high - low) / 2
    top = -low  # the columns are scaled as if the largest eigenvalue were here
    first = half / (top - center)
    sigma = first
    before, now = X, (apply(X) - center * X) * (sigma / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - sigma)
        before, now = now, (apply(now) - center * now) * (2 * following / half) - (sigma * following) * before
        sigma = following
    return now


@dataclass(frozen=True)
class Filter:
    """When and how to filter: a matrix of fewer rows, or a block wider than the share of n, is decomposed in full."""

    rows: int = 400
    share: float = 0.25
    degree: int = 5
    fresh: int = 4  # random columns in every block, for directions that it has lost
    probe_every: int = 6  # calls, after which the rest is searched for them


class Part(NamedTuple):
    """E diag(w) Eᵀ is the PSD part; w > 0. `full` says that it comes from a decomposition of the whole matrix."""

    w: Vector
    E: Matrix
    full: bool

    @property
    def V(self) -> Matrix:
        """With VVᵀ the PSD part."""
        root: Matrix = self.E * namespace(self.E).sqrt(self.w)[None, :]
        return root


class PositivePart:
    """The PSD part of a sequence of symmetric matrices that change little and have few positive eigenvalues.

    A direction that is orthogonal to the block would never be found by a filter. Three things bring it back: random columns
    in every block, a Lanczos search of what the block leaves over, after which the block is widened and the call repeated,
    and the full decomposition where that does not help.
    """

    def __init__(
        self, eigh: Callable[[Matrix], tuple[Vector, Matrix]], settings: Filter, tally: Tally | None = None
    ) -> None:
        self.eigh, self.settings, self.tally = eigh, settings, tally
        self.E: Matrix | None = None
        self.w: Vector | None = None  # of the columns of E that are kept, ascending
        self.rank = 0
        self.cutoff = 1e-2
        self.low: Extreme | None = None
        self.calls = self.seed = 0
        self._extra: list[Vector] = []

    def forget(self) -> None:
        """What a lower precision has found, but for the block."""
        self.low = None

    def __call__(self, like: Matrix, apply: Apply, dense: Callable[[], Matrix]) -> Part:
        """The PSD part of the matrix that `apply` multiplies by and `dense` writes out; `like` is n x n, of its kind."""
        n = like.shape[0]
        self.calls += 1
        if n < self.settings.rows or self._width(n) > self.settings.share * n:
            return self._full(dense())
        self._look_below(like, apply)
        if self.low is None or self.low.size == 0:
            return Part(random_block(like, 1, 0)[:0, 0], like[:, :0], False)
        for _ in range(3):
            w, E = self._rotate(like, apply)
            if not self._lost(like, apply, w, E):
                break
            if self._width(n) > self.settings.share * n:
                return self._full(dense())
        keep = int((w > 0).sum())
        xp = namespace(like)
        values = xp.asarray(np.ascontiguousarray(w[-keep:] if keep else w[:0]), **beside(like))
        return Part(values, E[:, E.shape[1] - keep :], False)

    def _width(self, n: int) -> int:
        return min(n, max(int(1.25 * self.rank) + 12, min(32, n)) + self.settings.fresh)

    def _full(self, W: Matrix) -> Part:
        xp = namespace(W)
        w, U = self.eigh(W)
        keep = int(xp.sum(xp.astype(w > 0, xp.int64)))
        n = W.shape[0]
        self.rank = int(xp.sum(xp.astype(w > 0.1 * self.cutoff, xp.int64)))
        columns = min(n, self._width(n))
        self.E = U[:, n - columns :]
        self.w = w[n - columns :]
        return Part(w[n - keep :], U[:, n - keep :], True)

    def _look_below(self, like: Matrix, apply: Apply) -> None:
        """How far below zero the spectrum goes."""
        if self.low is None or self.calls % 3 == 0:
            start = random_block(like, 1, seed=0)[:, 0] if self.low is None else self.low.vector
            self.low = lanczos_lowest(apply, start, 8)
            self._count(like.shape[0], 8)

    def _rotate(self, like: Matrix, apply: Apply) -> tuple[Any, Matrix]:
        """Filter the block, orthonormalise it, and take the Ritz pairs; the values ascending, in NumPy."""
        xp, n = namespace(like), like.shape[0]
        assert self.low is not None
        low = min(1.1 * self.low.value, -_SHALLOW * self.low.size)
        Q, _ = xp.linalg.qr(self._filtered(like, apply, low))
        H = Q.T @ apply(Q)
        w, R = xp.linalg.eigh((H + H.T) / 2)
        self._count(n, (self.settings.degree + 1) * Q.shape[1])
        self.E, self.w = Q @ R, w
        values = to_numpy(w)
        self.rank = int((values > 0.1 * self.cutoff).sum())
        return values, self.E

    def _filtered(self, like: Matrix, apply: Apply, low: float) -> Matrix:
        """The block after the polynomial of the operator. What is known to be tall goes through two plain products
        instead: in single precision it would drown the rest, which is filtered in the complement.
        """
        xp, n = namespace(like), like.shape[0]
        width = self._width(n)
        kept = 0 if self.E is None else min(self.E.shape[1], width - self.settings.fresh)
        self.seed += 1
        rest = [xp.astype(v, like.dtype)[:, None] for v in self._extra]
        rest.append(random_block(like, min(width, n - len(rest)) - kept, self.seed) / n**0.5)
        self._extra.clear()
        if self.E is None or self.w is None or not kept:
            return chebyshev(apply, xp.concat(rest, axis=1), self.settings.degree, low, 0.0)
        first = self.E.shape[1] - kept
        E, w = xp.astype(self.E[:, first:], like.dtype), self.w[first:]
        tall = count(w > -_TALL * low)
        rest.append(E[:, : kept - tall])
        edge = max(min(0.0, _EDGE * float(w[0])), low / 2)
        if not tall:
            return chebyshev(apply, xp.concat(rest, axis=1), self.settings.degree, low, edge)
        E, top = E[:, kept - tall :], float(w[-1])

        def complement(Y: Matrix) -> Matrix:
            image: Matrix = apply(Y - E @ (E.T @ Y))
            image = image - E @ (E.T @ image)
            return image

        others = chebyshev(complement, xp.concat(rest, axis=1), self.settings.degree, low, edge)
        return xp.concat([apply(apply(E) / top) / top, others], axis=1)  # type: ignore[no-any-return]

    def _lost(self, like: Matrix, apply: Apply, w: Any, E: Matrix) -> bool:
        """Whether a direction above the cutoff is outside of the block, which is then widened."""
        full = (w > self.cutoff).sum() >= len(w) - self.settings.fresh
        if full:
            self.rank = int(1.3 * len(w)) + 8
            return True
        if self.calls % self.settings.probe_every:
            return False
        self.seed += 1
        start = random_block(like, 1, self.seed)
        start = start - E @ (E.T @ start)
        if E.shape[1] >= like.shape[0] or norm(start) == 0:
            return False

        def rest(X: Matrix) -> Matrix:
            X = X - E @ (E.T @ X)
            Y = apply(X)
            return E @ (E.T @ Y) - Y

        found = lanczos_lowest(rest, start[:, 0], 16)
        self._count(like.shape[0], 16)
        if -found.value <= self.cutoff:
            return False
        self._extra.append(found.vector)
        self.rank += 8
        return True

    def _count(self, n: int, columns: int) -> None:
        """Products with so many columns, in eigendecompositions of about nine n³."""
        if self.tally is not None:
            self.tally.add(2 * columns / (9 * n))


def to_numpy(values: Vector) -> Any:
    """A small vector as NumPy doubles, brought from its device in one piece."""
    if is_torch_array(values) or is_cupy_array(values):
        values = to_device(values, "cpu")
    return np.asarray(values).astype(np.float64)
