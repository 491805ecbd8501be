"""The projection on the doubly stochastic matrices D (6), by semismooth Newton on its dual."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS
from ldssc.projections.linear import conjugate_gradients
from ldssc.projections.rows import ones_of, row_shift, spread
from ldssc.validation import Matrix, Vector

_DENSE_NEWTON = 200  # below this size a Cholesky factorisation beats conjugate gradients
_MAX_NEWTON = 300
_LARGE = 30.0  # entries, beyond which the projection is approached through smaller ones


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
        return conjugate_gradients(self.S, self.diagonal, b, self.tolerance)


def _factor(J: Matrix, scale: float) -> tuple[Matrix, bool]:
    """Cholesky of a semidefinite J, shifted by as little as rounding asks for."""
    shift = 0.0
    while True:
        try:
            factor, lower = la.cho_factor(J + shift * np.eye(len(J)) if shift else J, check_finite=False)
            return np.asarray(factor), bool(lower)
        except la.LinAlgError:
            shift = max(10 * shift, 1e-12 * scale)
