"""The lowest eigenvalue without a decomposition: bounded by Cholesky factorisations, where Lanczos says; any namespace.

Lanczos and Ritz values are estimates from inside the spectrum: they say where to look, and prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS
from ldssc.projections.namespace import beside, largest, namespace, norm
from ldssc.validation import Matrix, Vector

Apply = Callable[[Matrix], Matrix]

_LANCZOS_STEPS = 64
_SHARE = 0.1  # of random numbers in a start for Lanczos
_SPARE = 0.1  # of the estimate, by which the first shift goes beyond it
_WIDE = 0.25  # of the shift, between one that fails and one that does not: near enough
#: what linear algebra raises on numbers that are not finite; PyTorch's own is a RuntimeError
FAILURES = (np.linalg.LinAlgError, RuntimeError)


class Extreme(NamedTuple):
    """An estimate of an extreme eigenvalue, the vector that goes with it, and one of the norm."""

    value: float
    vector: Vector
    size: float


def random_block(like: Matrix, columns: int, seed: int) -> Matrix:
    """Normal numbers, the same ones on every device; n x columns."""
    numbers = np.random.default_rng(seed).standard_normal((like.shape[0], columns))
    where = beside(like)
    return namespace(like).asarray(numbers.astype(_numpy_type(like)), **where)  # type: ignore[no-any-return]


def _numpy_type(like: Matrix) -> Any:
    return np.float32 if namespace(like).finfo(like.dtype).bits == 32 else np.float64


def lanczos_lowest(apply: Apply, start: Vector, steps: int = _LANCZOS_STEPS) -> Extreme:
    """The lowest Ritz value on the Krylov space of `start`: not below the lowest eigenvalue, but for rounding."""
    xp = namespace(start)
    n = start.shape[0]
    basis = [start / norm(start)]
    alphas: list[float] = []
    betas: list[float] = []
    for k in range(min(steps, n)):
        v = apply(basis[-1][:, None])[:, 0]
        alphas.append(float(xp.vecdot(basis[-1], v)))
        if not np.isfinite(alphas[-1]):
            raise np.linalg.LinAlgError("the matrix is not finite")
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
    return Extreme(float(w[0]), xp.stack(basis[: len(alphas)], axis=1) @ y, float(np.abs(w).max()))


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
    except FAILURES:
        return False
    return bool(xp.all(xp.isfinite(diagonal)) and xp.all(diagonal > 0))


def lowest_eigenvalue_bound(F: Matrix, start: Vector | None = None, steps: int = _LANCZOS_STEPS) -> float:
    """A number that is never above the lowest eigenvalue of a symmetric F, and near it where Lanczos finds it.

    F + δI is factored, with δ from Lanczos and wider where that fails: a factorisation that runs to its end proves
    λ ≥ −δ − margin, with every rounding in the margin. `start` is a vector with a share in the lowest eigenvector.
    """
    xp = namespace(F)
    n = int(F.shape[0])
    F = F if F.dtype == xp.float64 else xp.astype(F, xp.float64)
    diagonal = xp.linalg.diagonal(F)
    size = norm(F) * (1 + (n + 8) * EPS)  # no eigenvalue is larger
    if not np.isfinite(size):
        return -float("inf")
    if size < 1e-140:  # squares underflow
        return -n * largest(F)
    trace = float(xp.sum(xp.abs(diagonal)))
    guess = random_block(F, 1, seed=n)[:, 0]
    if start is not None and (share := norm(start)) > 0:
        guess = xp.astype(start, xp.float64) / share + _SHARE * guess / norm(guess)
    lowest = lanczos_lowest(lambda X: F @ X, guess, steps).value
    least = cholesky_margin(n, trace)
    rounded = EPS * float(xp.max(xp.abs(diagonal)))  # the shifted diagonal is rounded, once an entry

    def proven(shift: float) -> bool:
        return is_positive_definite(_shifted(F, shift))

    spare, failed = _SPARE * abs(lowest) + least, -lowest
    while (shift := spare - lowest) < size and not proven(shift):
        failed, spare = shift, 3 * spare
    shift = min(shift, size)  # at the norm there is nothing to prove
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
    return F + shift * xp.eye(F.shape[0], **beside(F))
