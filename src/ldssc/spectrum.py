"""The part of a spectrum that is needed, without a decomposition of the whole matrix; arrays of any namespace.

- `lowest_eigenvalue_bound`: a number that the lowest eigenvalue is proven to reach, by one Cholesky factorisation or two.
- `PositivePart`: the PSD part of a matrix that changes little from call to call and has few positive eigenvalues, from a
  block of vectors that is kept, filtered by a Chebyshev polynomial, and rotated (Rayleigh-Ritz).

Lanczos and Ritz values are estimates from inside the spectrum: they say where to look, and prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS
from ldssc.projections.eigen import Tally
from ldssc.projections.namespace import beside, count, largest, namespace, norm
from ldssc.validation import Matrix, Vector

Apply = Callable[[Matrix], Matrix]

_LANCZOS_STEPS = 64
_SPARE = 0.1  # of the estimate, by which the first shift goes beyond it
_WIDE = 0.25  # of the shift, between one that fails and one that does not: near enough
_TALL = 2.0  # times the depth of the spectrum below zero
_EDGE = 0.8  # of the lowest Ritz value that is kept: what is damped lies below
_FAILURES = (np.linalg.LinAlgError, RuntimeError)  # PyTorch's own is a RuntimeError


class Extreme(NamedTuple):
    """An estimate of an extreme eigenvalue, and the vector that goes with it."""

    value: float
    vector: Vector


def random_block(like: Matrix, columns: int, seed: int) -> Matrix:
    """Normal numbers, the same ones on every device; n x columns."""
    numbers = np.random.default_rng(seed).standard_normal((like.shape[0], columns))
    where = beside(like)
    return namespace(like).asarray(numbers.astype(_numpy_type(like)), **where)  # type: ignore[no-any-return]


def _numpy_type(like: Matrix) -> Any:
    return np.float32 if namespace(like).finfo(like.dtype).bits == 32 else np.float64


def lanczos_lowest(apply: Apply, start: Vector, steps: int = _LANCZOS_STEPS) -> Extreme:
    """The lowest Ritz value of a symmetric operator on the Krylov space of `start`: never below the true one, but for rounding."""
    xp = namespace(start)
    n = start.shape[0]
    basis = [start / norm(start)]
    alphas: list[float] = []
    betas: list[float] = []
    for k in range(min(steps, n)):
        v = apply(basis[-1][:, None])[:, 0]
        alphas.append(float(xp.vecdot(basis[-1], v)))
        B = xp.stack(basis, axis=1)
        for _ in range(2):  # orthogonal to all that came before: no ghosts
            v = v - B @ (B.T @ v)
        beta = norm(v)
        scale = max(abs(a) for a in alphas) + max(betas, default=0.0)
        if k + 1 == min(steps, n) or not beta > 1e-10 * scale:
            break
        betas.append(beta)
        basis.append(v / beta)
    w, E = la.eigh_tridiagonal(np.array(alphas), np.array(betas[: len(alphas) - 1]))
    y = xp.asarray(np.ascontiguousarray(E[:, 0]).astype(_numpy_type(start)), **beside(start))
    return Extreme(float(w[0]), xp.stack(basis[: len(alphas)], axis=1) @ y)


def cholesky_margin(n: int, trace: float) -> float:
    """How far below zero an eigenvalue can be of a matrix of this trace whose Cholesky factorisation ran to its end.

    The factor R satisfies |B − RᵀR| ≤ γ|Rᵀ||R|, whose norm is at most γ/(1 − γ) tr B (Higham, theorem 10.3; Rump). γ is that
    of n + 1 roundings, and taken four times as large: libraries multiply by reciprocals where the theorem divides.
    """
    return 4 * (n + 4) * EPS * max(trace, 0.0) + n * 1e-300


def is_positive_definite(B: Matrix) -> bool:
    """Whether a Cholesky factorisation of B (float64) runs to its end; NumPy arrays are overwritten."""
    xp = namespace(B)
    if isinstance(B, np.ndarray):
        # the transpose is what LAPACK takes for its own order: nothing is copied
        _, info = la.lapack.dpotrf(B.T, lower=0, clean=0, overwrite_a=1)
        diagonal = B.diagonal()
        return bool(info == 0 and np.isfinite(diagonal).all() and (diagonal > 0).all())
    try:
        diagonal = xp.linalg.diagonal(xp.linalg.cholesky(B))
    except _FAILURES:
        return False
    return bool(xp.all(xp.isfinite(diagonal)) and xp.all(diagonal > 0))


def lowest_eigenvalue_bound(F: Matrix, start: Vector | None = None, steps: int = _LANCZOS_STEPS) -> float:
    """A number that is never above the lowest eigenvalue of a symmetric F, and near it where Lanczos finds it.

    F + δI is factored, with δ from Lanczos and wider where that fails: a factorisation that runs to its end proves
    λ ≥ −δ − margin, with every rounding in the margin. `start` is a vector with a share in the lowest eigenvector.
    """
    xp = namespace(F)
    n = F.shape[0]
    F = F if F.dtype == xp.float64 else xp.astype(F, xp.float64)
    diagonal = xp.linalg.diagonal(F)
    size = norm(F) * (1 + (n + 8) * EPS)  # no eigenvalue is larger
    if not np.isfinite(size):
        return -float("inf")
    if size < 1e-140:  # squares underflow
        return -n * largest(F)
    trace = float(xp.sum(xp.abs(diagonal)))
    if start is None:
        start = random_block(F, 1, seed=n)[:, 0]
    lowest = lanczos_lowest(lambda X: F @ X, xp.astype(start, xp.float64), steps).value
    least = cholesky_margin(n, trace)
    rounded = EPS * float(xp.max(xp.abs(diagonal)))  # the shifted diagonal is rounded, once an entry

    def proven(shift: float) -> bool:
        return is_positive_definite(_shifted(F, shift))

    spare, failed = _SPARE * abs(lowest) + least, -lowest
    while not proven(shift := spare - lowest):
        failed, spare = shift, 3 * spare
        if spare - lowest >= size:
            return -size
    while shift - failed > _WIDE * abs(shift) + 2 * least:
        middle = (shift + failed) / 2
        shift, failed = (middle, failed) if proven(middle) else (shift, middle)
    return -shift - rounded - EPS * abs(shift) - cholesky_margin(n, (trace + n * abs(shift)) * (1 + n * EPS))


def _shifted(F: Matrix, shift: float) -> Matrix:
    xp = namespace(F)
    if isinstance(F, np.ndarray):
        B = F.copy()
        B.flat[:: len(B) + 1] += shift
        return B
    return F + shift * xp.eye(F.shape[0], **beside(F))  # type: ignore[no-any-return]


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
        return self.E * namespace(self.E).sqrt(self.w)[None, :]


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
        low = min(1.1 * self.low.value, -1e-30)
        Q, _ = xp.linalg.qr(self._filtered(like, apply, low))
        H = Q.T @ apply(Q)
        w, R = xp.linalg.eigh((H + H.T) / 2)
        self._count(n, (self.settings.degree + 1) * Q.shape[1])
        self.E, self.w = Q @ R, w
        values = to_numpy(w)
        self.rank = int((values > 0.1 * self.cutoff).sum())
        return values, self.E

    def _filtered(self, like: Matrix, apply: Apply, low: float) -> Matrix:
        """The block after the polynomial of the operator. What is known to be tall goes through two plain products instead: in
        single precision it would drown the rest, which is filtered in the complement.
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
            Y = apply(Y - E @ (E.T @ Y))
            return Y - E @ (E.T @ Y)

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
    """A small vector as NumPy doubles."""
    return np.array([float(v) for v in values]) if not isinstance(values, np.ndarray) else values.astype(np.float64)
