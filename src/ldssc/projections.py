"""Projections as pure functions: on S+, on the affine PSD set (5), (20), on the doubly stochastic matrices D (6).

A, F are symmetric n x n and u is the multiplier of the rows. s = √w carries the weights of the points (19) and is None
where all count once; then s = 1. The rows satisfy Fs = s, M = usᵀ + suᵀ, and P = I − ssᵀ/‖s‖² centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, cg

from ldssc.accurate import EPS
from ldssc.validation import Matrix, Vector

_DENSE_NEWTON = 200  # below this size a Cholesky factorisation beats conjugate gradients
_MAX_NEWTON = 300
_LARGE = 30.0  # entries, beyond which the projection is approached through smaller ones


class Eigh(Protocol):
    """An eigendecomposition, (eigenvalues ascending, eigenvectors): solvers pass one that looks at the clock."""

    def __call__(self, A: Matrix, /) -> tuple[Vector, Matrix]: ...


@dataclass
class Tally:
    """How many eigendecompositions were done, those for eigenvalues alone included."""

    n_eig: int = 0


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)


@contextmanager
def counting(tally: Tally) -> Iterator[Tally]:
    """Within this context every eigendecomposition is added to the tally."""
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


def _count() -> None:
    if (tally := _TALLY.get()) is not None:
        tally.n_eig += 1


def eigh(A: Matrix, /) -> tuple[Vector, Matrix]:
    """All eigenpairs of a symmetric matrix; LAPACK's slower driver where the fast one fails."""
    _count()
    try:
        w, U = la.eigh(A, driver="evd" if len(A) > 1 else "ev", check_finite=False)  # SciPy 1.12 fails at n = 1
    except la.LinAlgError:
        _count()
        w, U = la.eigh(A, driver="ev", check_finite=False)
    return w, U


def eigenvalues(A: Matrix) -> Vector:
    """All eigenvalues of a symmetric matrix, ascending."""
    _count()
    return np.asarray(la.eigvalsh(A, driver="ev", check_finite=False))


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
    noise = EPS * max(abs(w[0]), abs(w[-1]))
    if w[0] >= -noise:
        return Split(A.copy(), np.zeros_like(A), w)
    if w[-1] <= noise:
        return Split(np.zeros_like(A), -A, w)
    keep = w > 0
    if 2 * keep.sum() <= len(w):
        plus = gram(U[:, keep] * np.sqrt(w[keep]))
        minus = plus - A
    else:
        minus = gram(U[:, ~keep] * np.sqrt(-w[~keep]))
        plus = A + minus
    return Split(plus, minus, w)


def ones_of(A: Matrix, s: Vector | None) -> Vector:
    """s, or the ones that it stands for."""
    return np.ones(len(A)) if s is None else s


def spread(u: Vector, s: Vector | None = None) -> Matrix:
    """M = usᵀ + suᵀ."""
    if s is None:
        return u[:, None] + u[None, :]
    M = u[:, None] * s[None, :]
    return np.asarray(M + M.T)


def center(A: Matrix, s: Vector | None = None) -> Matrix:
    """PAP, exactly symmetric for a symmetric A."""
    s = ones_of(A, s)
    mean = A @ s / (s @ s)
    return np.asarray(A - spread(mean - (s @ mean) / (2 * (s @ s)) * s, s))


def row_shift(A: Matrix, s: Vector | None = None) -> Vector:
    """The u with (A + usᵀ + suᵀ)s = s: the projection on {F = Fᵀ, Fs = s} is A + M."""
    s = ones_of(A, s)
    missing = (s - A @ s) / (s @ s)
    return np.asarray(missing - (s @ missing) / (2 * (s @ s)) * s)


def uniform(n: int, s: Vector | None = None) -> Matrix:
    """ssᵀ/‖s‖²: 11ᵀ/n where all points count once."""
    return np.full((n, n), 1 / n) if s is None else np.outer(s, s) / (s @ s)


class SemidefiniteProjection(NamedTuple):
    """(5), (20): F = A + M + Z + τI with F ⪰ 0, Fs = s, Z ⪰ 0, ⟨F, Z⟩ = 0."""

    F: Matrix
    u: Vector
    Z: Matrix
    tau: float


def project_semidefinite(
    A: Matrix, eigh: Eigh = eigh, s: Vector | None = None, trace: float | None = None
) -> SemidefiniteProjection:
    """The nearest matrix to A with Fs = s, F ⪰ 0: ssᵀ/‖s‖² + (PAP)₊ (5), and with tr F = trace the same of PAP + τI (20)."""
    n = len(A)
    if trace is None:
        parts = split(center(A, s), eigh)
        # Fs = s and Zs = 0 hold to rounding of A; centring again removes what the decomposition left
        plus, minus, tau = center(parts.plus, s), center(parts.minus, s), 0.0
    else:
        aside = uniform(n, s)
        far = 2 * (1 + float(la.norm(A)))
        w, U = eigh(center(A, s) - far * aside)  # s, the eigenvector to leave out, goes to the low end
        tau = -_threshold(w[1:], trace - 1)
        shifted = w[1:] + tau
        keep = shifted > 0
        plus = gram(U[:, 1:][:, keep] * np.sqrt(shifted[keep]))
        minus = gram(U[:, 1:][:, ~keep] * np.sqrt(-shifted[~keep]))
        plus, minus = center(plus, s), center(minus, s)
    F = plus + uniform(n, s)
    shift = row_shift(A if tau == 0 else A + tau * np.eye(n), s)
    return SemidefiniteProjection(F, shift, minus, tau)


def _threshold(w: Vector, total: float) -> float:
    """The θ with Σ (w − θ)₊ = total, for w ascending."""
    if not len(w):
        return 0.0
    sums = np.cumsum(w[::-1])
    thetas = (sums - total) / np.arange(1, len(w) + 1)
    count = int(np.flatnonzero(w[::-1] >= thetas)[-1])
    return float(thetas[count])


class DoublyStochasticProjection(NamedTuple):
    """(6): F = max(A + usᵀ + suᵀ + τI, 0), and the multipliers u and τ. `steps` counts Newton steps."""

    F: Matrix
    u: Vector
    steps: int
    tau: float = 0.0


def project_doubly_stochastic(
    A: Matrix, u: Vector | None = None, s: Vector | None = None, trace: float | None = None, tau: float = 0.0
) -> DoublyStochasticProjection:
    """The nearest matrix to A with F = Fᵀ, Fs = s, F ≥ 0 (6), and tr F = trace if given, by semismooth Newton on its dual.

    Minimises the convex h(u, τ) = ½‖max(A + usᵀ + suᵀ + τI, 0)‖² − 2·sᵀu − τ·trace, whose gradient is 2(Fs − s) and
    tr F − trace. The rows are right up to the rounding of A; `balance` takes care of the last digits.
    """
    n = len(A)
    weight = ones_of(A, s)
    if u is None:
        u, tau = _first_guess(A, s, trace)
    now = _rows(A, u, tau, s, weight, trace)
    steps = idle = 0
    while now.size > 0 and steps < _MAX_NEWTON and idle < 3:
        v, delta = _newton_direction(now, s, trace)
        line = partial(_along, A, (u, tau), (v, delta), s, weight, trace)
        step, trial = _line_search(line, now, v, delta)
        floor = 4 * EPS * np.sqrt(n) * (1 + float(np.abs(A).max()) + float(np.abs(u).max()))
        if now.size <= floor and trial.size > now.size / 2:
            break
        idle = idle + 1 if trial.size > 0.99 * now.size and step < 1e-6 else 0
        u, tau, now = u + step * v, tau + step * delta, trial
        steps += 1
    return DoublyStochasticProjection(now.F, u, steps, tau)


def _first_guess(A: Matrix, s: Vector | None, trace: float | None) -> tuple[Vector, float]:
    """The multipliers if nothing were clipped; of large matrices, those of a tenth of it, times ten.

    A large A is nearly an assignment problem, in whose dual the support changes many times on a straight way.
    """
    u = row_shift(A, s)
    if float(np.abs(A + spread(u, s)).max()) <= _LARGE:
        return u, 0.0
    smaller = project_doubly_stochastic(A / 10, None, s, trace)
    return 10 * smaller.u, 10 * smaller.tau


def _along(
    A: Matrix,
    start: tuple[Vector, float],
    direction: tuple[Vector, float],
    s: Vector | None,
    weight: Vector,
    trace: float | None,
    t: float,
) -> _Rows:
    return _rows(A, start[0] + t * direction[0], start[1] + t * direction[1], s, weight, trace)


def _line_search(at: Callable[[float], _Rows], start: _Rows, v: Vector, delta: float) -> tuple[float, _Rows]:
    """A step along a Newton direction, by the sign of the slope alone: values of h cancel where A is large.

    h is convex, so a slope of less than half the size is progress; one that is still steep asks for a longer step: where
    the support falls apart h is linear over long ways.
    """
    low, high, step = 0.0, np.inf, 1.0
    slope = start.slope(v, delta)
    for _ in range(60):
        trial = at(step)
        now = trial.slope(v, delta)
        if abs(now) <= 0.5 * abs(slope) or trial.size <= start.size / 2:
            break
        if now < 0:
            low = step
        else:
            high = step
        step = 4 * step if np.isinf(high) else (low + high) / 2
    return step, trial


class _Rows(NamedTuple):
    """F, and what its rows and its trace miss."""

    F: Matrix
    rows: Vector
    excess: float

    @property
    def size(self) -> float:
        return max(float(np.abs(self.rows).max()), abs(self.excess))

    def slope(self, v: Vector, delta: float) -> float:
        """Of h along (v, δ)."""
        return 2 * float(self.rows @ v) + self.excess * delta


def _rows(A: Matrix, u: Vector, tau: float, s: Vector | None, weight: Vector, trace: float | None) -> _Rows:
    F = A + spread(u, s)
    if trace is not None:
        F.flat[:: len(F) + 1] += tau
    np.maximum(F, 0, out=F)
    rows = F.sum(axis=1) if s is None else F @ s
    return _Rows(F, rows - weight, 0.0 if trace is None else float(np.trace(F)) - trace)


def _newton_direction(at: _Rows, s: Vector | None, trace: float | None) -> tuple[Vector, float]:
    """The Newton step in u and τ: J v + cδ = −(Fs − s), 2cᵀv + mδ = −(tr F − trace).

    J = diag(S(s∘s)) + diag(s)S diag(s) + μI with S the support of F and μ for bipartite parts and empty rows, where it is
    singular; c = s on the diagonal entries of the support, m of them.
    """
    J = _Support(at.F, at.size, s)
    v = J.solve(-at.rows)
    if trace is None:
        return v, 0.0
    on = (at.F.diagonal() > 0).astype(np.float64)
    c = on * (1.0 if s is None else s)
    w = J.solve(c)
    schur = float(on.sum() - 2 * (c @ w))
    delta = -(at.excess + 2 * float(c @ v)) / max(schur, 1e-8 * len(on))
    return v - delta * w, delta


class _Support:
    """diag(S(s∘s)) + diag(s)S diag(s) + μI, and how to solve with it."""

    def __init__(self, F: Matrix, size: float, s: Vector | None) -> None:
        S = (F > 0).astype(np.float64)
        if s is None:
            count, unit = S.sum(axis=1), 1.0
        else:
            count, unit = S @ (s * s), float(s @ s) / len(s)
            S *= s[:, None] * s[None, :]
        mu = unit * (1e-8 + min(1e-2, 1e-2 * size))
        self.S, self.diagonal = S, np.maximum(count, unit) + mu
        self.tolerance = min(1e-2, size)
        self.factor = None
        if len(F) <= _DENSE_NEWTON:
            S.flat[:: len(F) + 1] += self.diagonal
            self.factor = _factor(S, float(self.diagonal.max()))

    def solve(self, b: Vector) -> Vector:
        """J⁻¹ b."""
        if self.factor is not None:
            return np.asarray(la.cho_solve(self.factor, b, check_finite=False))
        return _conjugate_gradients(self.S, self.diagonal, b, self.tolerance)


def _factor(J: Matrix, scale: float) -> tuple[Matrix, bool]:
    """Cholesky of a semidefinite J, shifted by as little as rounding asks for."""
    shift = 0.0
    while True:
        try:
            factor, lower = la.cho_factor(J + shift * np.eye(len(J)) if shift else J, check_finite=False)
            return np.asarray(factor), bool(lower)
        except la.LinAlgError:
            shift = max(10 * shift, 1e-12 * scale)


def _conjugate_gradients(S: Matrix, diagonal: Vector, b: Vector, tolerance: float) -> Vector:
    """Solve (diag(diagonal) + S)v = b, preconditioned by the diagonal."""
    n = len(b)
    H = LinearOperator((n, n), matvec=lambda v: diagonal * v + S @ v, dtype=np.float64)
    D = LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64)
    v, _ = cg(H, b, rtol=max(tolerance, 1e-10), atol=0, maxiter=500, M=D)
    return np.asarray(v)


def balance(F: Matrix, s: Vector | None = None) -> Matrix:
    """diag(x) F diag(x) with rows s, for an F whose rows are nearly that: keeps signs, zeros and semidefiniteness.

    Newton on x: with x = 1 + d, (diag(s∘Fs) + diag(s)F diag(s))d = s∘(s − Fs) to first order.
    """
    weight = ones_of(F, s)
    for _ in range(4):
        rows = F @ weight
        if (off := float(np.abs(rows - weight).max())) <= 4 * EPS:
            break
        weighted = F if s is None else F * np.outer(weight, weight)
        d = _conjugate_gradients(weighted, weight * rows + EPS, weight * (weight - rows), tolerance=1e-6)
        if float(np.abs(d).max()) > 0.5:
            break  # not nearly right: leave it to the projection
        scaled = F * np.outer(1 + d, 1 + d)
        if float(np.abs(scaled @ weight - weight).max()) >= off:
            break  # on a bipartite support the system is singular, and its rounding may win
        F = scaled
    return F
