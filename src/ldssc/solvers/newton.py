"""Semismooth Newton on Z, the only unknown of (7): Z = (Z − F)₊ with F = Π_D(K + Z).

The merit is h(Z) = ½‖F‖² − 2·1ᵀu, convex, with gradient F. A step solves the linearised equation in the coordinates
Ŷ = UᵀYV, where X = Z − F = U diag(w) Uᵀ and V are the r columns with w > 0:

    (Ω⁻¹ − 1 + ρ)∘Ŷ + UᵀA(Y)V = −Ω⁻¹∘Ĝ − UᵀA(d₀)V,     Ω⁻¹ = 1 on (V, V), 1 + |w_i|/w_j on the mixed pairs

A is the projection on the face of D at F (face.py), d₀ the part of −Z outside of V, Ĝ the coordinates of Z − X₊. It is fast
where Z has low rank; the splitting warms it up, and takes over again wherever it gets stuck.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.face import Face
from ldssc.problem import Problem
from ldssc.projections import gram, project_doubly_stochastic, spread
from ldssc.solvers.base import Run, State
from ldssc.solvers.splitting import Splitting
from ldssc.validation import Matrix, Vector

WARM_UP, WARM_UP_LARGE, LARGE = 15, 40, 400  # iterations of the splitting below and from size LARGE
_RHO, _LEAST_RHO, _MOST_RHO = 1e-3, 1e-6, 1.0
_LATE = 3e-4  # estimated distance from which systems are solved to more digits
_DOUBLE = 1e-4  # ... and in double precision
_CG_STEPS = 60
_CUTS = 5
_PATIENCE = 12  # Newton steps in which the estimate must fall by a third
_PROOF_RANGE = 20.0  # times tol: proofs, and landings with them, are worth trying from here


def newton(run: Run, iteration: Splitting | None = None) -> None:
    """Splitting and Newton in turns, each of longer turns than the last, until the loop stops them."""
    iteration = Splitting(run) if iteration is None else iteration
    turn = WARM_UP if len(run.problem) < LARGE else WARM_UP_LARGE
    while True:
        while True:
            state = iteration.step()
            if iteration.k >= turn:
                break
            run.observe(state)
        run.observe(state, note=f"splitting for {iteration.k} iterations in all, then Newton")
        iteration.anderson.forget()
        at, why = newton_steps(run, evaluate(run.problem, state.Z, None))
        iteration.restart(at.F - at.Z / iteration.sigma)
        run.observe(_state(run.problem, at), note=f"back to splitting: {why}")
        turn = 2 * iteration.k


class Dual(NamedTuple):
    """A point of (7): Z, its F = Π_D(K + Z) with the multiplier u, and the merit h."""

    Z: Matrix
    F: Matrix
    u: Vector
    h: float


def evaluate(problem: Problem, Z: Matrix, u: Vector | None) -> Dual:
    """F and the merit at Z."""
    F, u, _, _ = project_doubly_stochastic(problem.A + Z, u)
    return Dual(Z, F, u, float(np.vdot(F, F)) / 2 - 2 * float(u.sum()))


def _state(problem: Problem, at: Dual) -> State:
    return State(at.u, np.maximum(-(problem.A + at.Z + spread(at.u)), 0), at.Z)


def newton_steps(run: Run, at: Dual) -> tuple[Dual, str]:
    """Newton steps from a point, as long as they get on; where they ended, and why."""
    problem, rho, failures = run.problem, _RHO, 0
    best, since, last = np.inf, 0, np.inf
    while True:
        w, U = run.eigh(at.Z - at.F)
        step = _Step(at, w, U)
        if not 0 < step.r < 0.95 * len(U):
            return at, f"Z of rank {step.r}"
        estimate = step.estimate()
        best, since = (estimate, 0) if estimate < 2 / 3 * best else (best, since + 1)
        if since > _PATIENCE or failures > 2:
            return at, "no more progress"
        due = estimate <= 1.2 * run.tol or estimate < min(_PROOF_RANGE * run.tol, 0.5 * last)
        last = estimate if due else last
        run.observe(_state(problem, at), force=due)
        if estimate < _LATE:
            rho = min(rho, estimate)
        step.solve(rho, 0.1 if estimate > _LATE else 0.02, np.float64 if estimate < _DOUBLE else np.float32)
        alpha, trial = _line_search(problem, at, step)
        if trial is None:
            at, rho, failures = evaluate(problem, step.gradient_step(), at.u), min(10 * rho, _MOST_RHO), failures + 1
        else:
            at, failures = trial, 0
            rho = max(0.7 * rho, _LEAST_RHO) if alpha == 1 else min(2 * rho, _MOST_RHO)


def _line_search(problem: Problem, at: Dual, step: _Step) -> tuple[float, Dual | None]:
    """Armijo's rule on h, by halving."""
    alpha = 1.0
    for _ in range(_CUTS):
        trial = evaluate(problem, step.lift(alpha), at.u)
        slope = min(float(np.vdot(at.F, trial.Z - at.Z)), 0.0)
        if trial.h <= at.h + 1e-4 * slope + 1e-13 * abs(at.h):
            return alpha, trial
        alpha /= 2
    return alpha, None


class _Step:
    """One Newton system at a point, with V and N the eigenvectors of X = Z − F above and below zero."""

    def __init__(self, at: Dual, w: Vector, U: Matrix) -> None:
        keep = w > 0
        self.at, self.r = at, int(keep.sum())
        self.V, self.N = U[:, keep], U[:, ~keep]
        self.plus, self.minus = w[keep], -w[~keep]

    def estimate(self) -> float:
        """The distance that a proof here would show, from the Ritz values of F on V."""
        F, Z, V = self.at.F, self.at.Z, self.V
        lowest = float(np.linalg.eigvalsh(V.T @ F @ V)[0])
        c = max(-lowest, 0.0) * float(np.trace(Z)) + float(np.vdot(F, Z))
        return float(np.sqrt(max(c, 0.0)) / la.norm(F))

    def gradient_step(self) -> Matrix:
        """(Z − F)₊."""
        return gram(self.V * np.sqrt(self.plus))

    def solve(self, rho: float, tolerance: float, dtype: Any) -> None:
        """Find the step by conjugate gradients, in the given precision; mixed coordinates count twice."""
        face = Face(self.at.F, dtype)
        inverse = 1 + self.minus[:, None] / self.plus[None, :] if self.r else np.zeros((len(self.minus), 0))
        right = self._right_hand_side(face, inverse)
        system = _System(face, self.V, self.N, inverse - 1, rho)
        within, mixed = conjugate_gradients(system, (right[0].astype(dtype), right[1].astype(dtype)), tolerance)
        self.within, self.mixed = within.astype(np.float64), mixed.astype(np.float64)

    def _right_hand_side(self, face: Face, inverse: Matrix) -> tuple[Matrix, Matrix]:
        Z, V, N = self.at.Z, self.V, self.N
        ZV = Z @ V
        self.Z_within, self.Z_mixed = V.T @ ZV, N.T @ ZV
        B = (V @ (self.Z_within / 2) + N @ self.Z_mixed) @ V.T
        pull = face.project(B + B.T - Z) @ V  # A(d₀)V
        within = np.diag(self.plus) - self.Z_within - V.T @ pull
        return (within + within.T) / 2, -inverse * self.Z_mixed - N.T @ pull

    def lift(self, alpha: float) -> Matrix:
        """The PSD part of Z₊ + αY, of rank at most 2r: the coordinates of N are orthonormalised first."""
        r = self.r
        Q, R = np.linalg.qr(self.Z_mixed + alpha * self.mixed)
        M = np.zeros((r + len(R), r + len(R)))
        M[:r, :r] = self.Z_within + alpha * self.within
        M[r:, :r], M[:r, r:] = R, R.T
        w, E = np.linalg.eigh((M + M.T) / 2)
        keep = w > 0
        return gram(np.hstack([self.V, self.N @ Q]) @ E[:, keep] * np.sqrt(w[keep]))


Coordinates = tuple[Matrix, Matrix]


class _System:
    """(Ω⁻¹ − 1 + ρ)∘Ŷ + UᵀA(Y)V on the coordinates (VᵀYV, NᵀYV), and its diagonal."""

    def __init__(self, face: Face, V: Matrix, N: Matrix, damping: Matrix, rho: float) -> None:
        self.face, self.rho = face, face.dtype(rho)
        self.V, self.N = np.ascontiguousarray(V, face.dtype), np.ascontiguousarray(N, face.dtype)
        self.damping = (damping + rho).astype(face.dtype)
        squares = self.V * self.V
        spread_squares = face.S @ squares
        within = np.maximum(squares.T @ spread_squares, 1e-8) + self.rho
        self.within, self.mixed = (within + within.T) / 2, self.damping + (self.N * self.N).T @ spread_squares

    def apply(self, Y: Coordinates) -> Coordinates:
        """The left-hand side."""
        H = self.face.compress(self.V @ (Y[0] / 2) + self.N @ Y[1], self.V)
        A = self.V.T @ H
        return (A + A.T) / 2 + self.rho * Y[0], self.N.T @ H + self.damping * Y[1]

    def precondition(self, R: Coordinates) -> Coordinates:
        """By the diagonal."""
        return R[0] / self.within, R[1] / self.mixed


def _inner(A: Coordinates, B: Coordinates) -> float:
    return float(np.vdot(A[0], B[0])) + 2 * float(np.vdot(A[1], B[1]))


def conjugate_gradients(system: _System, right: Coordinates, tolerance: float) -> Coordinates:
    """Solve the system to a relative tolerance in the preconditioned norm, or as far as the allowed steps get."""
    dtype = system.face.dtype
    x, R = (np.zeros_like(right[0]), np.zeros_like(right[1])), right
    D = P = system.precondition(R)
    rho = first = _inner(R, D)
    for _ in range(_CG_STEPS):
        H = system.apply(P)
        curvature = _inner(P, H)
        if not curvature > 0:
            break
        a = dtype(rho / curvature)
        x = x[0] + a * P[0], x[1] + a * P[1]
        R = R[0] - a * H[0], R[1] - a * H[1]
        D = system.precondition(R)
        rho, before = _inner(R, D), rho
        if rho <= tolerance**2 * first:
            break
        b = dtype(rho / before)
        P = D[0] + b * P[0], D[1] + b * P[1]
    return x
