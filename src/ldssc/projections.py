"""Projections as pure functions: on S+, on the affine PSD set (5), on the doubly stochastic matrices D (6).

A, F are symmetric n x n; u is the multiplier of the rows, M = u1ᵀ + 1uᵀ; P = I − 11ᵀ/n centres.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, cg

from ldssc.validation import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)
_DENSE_NEWTON = 200  # below this size a Cholesky factorisation beats conjugate gradients
_MAX_NEWTON = 200


class Eigh(Protocol):
    """An eigendecomposition, (eigenvalues ascending, eigenvectors): solvers pass one that counts."""

    def __call__(self, A: Matrix, /) -> tuple[Vector, Matrix]: ...


def eigh(A: Matrix, /) -> tuple[Vector, Matrix]:
    """All eigenpairs of a symmetric matrix; LAPACK's slower driver where the fast one fails."""
    try:
        w, U = la.eigh(A, driver="evd", check_finite=False)
    except la.LinAlgError:
        w, U = la.eigh(A, driver="ev", check_finite=False)
    return w, U


class Split(NamedTuple):
    """A = plus − minus with both semidefinite and orthogonal; `values` are the eigenvalues of A."""

    plus: Matrix
    minus: Matrix
    values: Vector


def gram(V: Matrix) -> Matrix:
    """V Vᵀ, symmetric to the last bit."""
    G = V @ V.T
    return np.asarray((G + G.T) / 2)


def split(A: Matrix, eigh: Eigh = eigh) -> Split:
    """The PSD parts A₊ (nearest semidefinite matrix to A) and (−A)₊, by one eigendecomposition."""
    w, U = eigh(A)
    keep = w > 0
    if 2 * keep.sum() <= len(w):
        plus = gram(U[:, keep] * np.sqrt(w[keep]))
        minus = plus - A
    else:
        minus = gram(U[:, ~keep] * np.sqrt(-w[~keep]))
        plus = A + minus
    return Split(plus, minus, w)


def center(A: Matrix) -> Matrix:
    """PAP, exactly symmetric for a symmetric A."""
    mean = A.mean(axis=1)
    return np.asarray(A - (mean[:, None] + mean[None, :]) + mean.mean())


def row_shift(A: Matrix) -> Vector:
    """The u with (A + u1ᵀ + 1uᵀ)1 = 1: the projection on {F = Fᵀ, F1 = 1} is A + M."""
    mean = A.mean(axis=1)
    return np.asarray(-mean + (mean.mean() + 1 / len(A)) / 2)


def spread(u: Vector) -> Matrix:
    """M = u1ᵀ + 1uᵀ."""
    return u[:, None] + u[None, :]


class SemidefiniteProjection(NamedTuple):
    """(5): F = A + M + Z with F ⪰ 0, F1 = 1, Z ⪰ 0, ⟨F, Z⟩ = 0."""

    F: Matrix
    u: Vector
    Z: Matrix


def project_semidefinite(A: Matrix, eigh: Eigh = eigh) -> SemidefiniteProjection:
    """The nearest matrix to A with F1 = 1 and F ⪰ 0: 11ᵀ/n + (PAP)₊, and its multipliers (5)."""
    parts = split(center(A), eigh)
    # F1 = 1 and Z1 = 0 hold to rounding of A; centring again removes what the decomposition left
    return SemidefiniteProjection(center(parts.plus) + 1 / len(A), row_shift(A), center(parts.minus))


class DoublyStochasticProjection(NamedTuple):
    """(6): F = max(A + u1ᵀ + 1uᵀ, 0), and the row multiplier u. `steps` counts Newton steps."""

    F: Matrix
    u: Vector
    steps: int


def project_doubly_stochastic(A: Matrix, u: Vector | None = None) -> DoublyStochasticProjection:
    """The nearest matrix to A with F = Fᵀ, F1 = 1, F ≥ 0 (6), by semismooth Newton on its dual.

    Minimises the convex h(u) = ½‖max(A + u1ᵀ + 1uᵀ, 0)‖² − 2·1ᵀu, whose gradient is 2(F1 − 1). The rows of F sum to
    one up to the rounding of A; `balance` takes care of the last digits.
    """
    n = len(A)
    u = row_shift(A) if u is None else u.copy()
    floor = EPS * np.sqrt(n) * (1 + float(np.abs(A).max()))
    F, r, h = _rows(A, u)
    steps = 0
    while (size := float(np.abs(r).max())) > floor and steps < _MAX_NEWTON:
        v = _newton_direction(F, r)
        slope = 2 * float(r @ v)
        step = 1.0
        while True:
            trial = _rows(A, u + step * v)
            if float(np.abs(trial[1]).max()) <= size / 2 or trial[2] <= h + 1e-4 * step * slope:
                break
            step /= 2
            if step < 1e-10:
                return DoublyStochasticProjection(F, u, steps)  # rounding: no better point can be told apart
        u = u + step * v
        F, r, h = trial
        steps += 1
    return DoublyStochasticProjection(F, u, steps)


def _rows(A: Matrix, u: Vector) -> tuple[Matrix, Vector, float]:
    """F, the row residual F1 − 1 and h(u)."""
    F = A + spread(u)
    np.maximum(F, 0, out=F)
    return F, F.sum(axis=1) - 1, float(np.vdot(F, F) / 2 - 2 * u.sum())


def _newton_direction(F: Matrix, r: Vector) -> Vector:
    """Solve (diag(S1) + S + μI)v = −r with S the support of F; μ for bipartite parts and empty rows."""
    S = (F > 0).astype(np.float64)
    count = S.sum(axis=1)
    mu = 1e-8 + min(1e-2, 1e-2 * float(np.abs(r).max()))
    diagonal = np.maximum(count, 1) + mu
    if len(r) <= _DENSE_NEWTON:
        H = S
        H.flat[:: len(r) + 1] += diagonal
        return np.asarray(la.solve(H, -r, assume_a="pos", check_finite=False))
    return _conjugate_gradients(S, diagonal, -r, tolerance=min(1e-2, float(np.abs(r).max())))


def _conjugate_gradients(S: Matrix, diagonal: Vector, b: Vector, tolerance: float) -> Vector:
    """Solve (diag(diagonal) + S)v = b, preconditioned by the diagonal."""
    n = len(b)
    H = LinearOperator((n, n), matvec=lambda v: diagonal * v + S @ v, dtype=np.float64)
    D = LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64)
    v, _ = cg(H, b, rtol=max(tolerance, 1e-10), atol=0, maxiter=500, M=D)
    return np.asarray(v)


def balance(F: Matrix) -> Matrix:
    """diag(x) F diag(x) with unit rows, for an F whose rows are nearly one: keeps signs, zeros and semidefiniteness.

    Newton on x: with x = 1 + d, (diag(F1) + F)d = 1 − F1 to first order.
    """
    for _ in range(4):
        r = F.sum(axis=1) - 1
        if float(np.abs(r).max()) <= 4 * EPS:
            break
        d = _conjugate_gradients(F, F.sum(axis=1) + EPS, -r, tolerance=1e-6)
        if float(np.abs(d).max()) > 0.5:
            break  # not nearly one: leave it to the projection
        scaled = F * (1 + d)[:, None] * (1 + d)[None, :]
        F = (scaled + scaled.T) / 2
    return F
