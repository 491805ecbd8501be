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

from ldssc.face import Face, pairs_within
from ldssc.kernels import pair
from ldssc.problem import Problem
from ldssc.projections import count_products, gram, project_doubly_stochastic
from ldssc.solvers.base import Run
from ldssc.solvers.records import State
from ldssc.solvers.splitting import Splitting
from ldssc.validation import Matrix, Vector

WARM_UP = 15  # iterations of the splitting
_WARM_START = 2  # ... of one that goes on from an earlier answer
_RHO, _LEAST_RHO, _MOST_RHO = 1e-3, 1e-6, 1.0
_LATE = 3e-4  # estimated distance from which systems are solved to more digits
_DOUBLE = 3e-5  # ... and in double precision
_CG_STEPS = 120
_BLOCK = 5.0  # work of the dense block of the preconditioner, in units of n³
_CUTS = 5
_NOTHING = 1e-14  # relative to the largest, an eigenvalue that is zero
_PATIENCE = 25  # Newton steps in which the estimate must fall by a third
_PROOF_RANGE = 20.0  # times tol: proofs, and landings with them, are worth trying from here


def newton(run: Run, iteration: Splitting | None = None, Z: Matrix | None = None) -> None:
    """Splitting and Newton in turns, each of longer turns than the last, until the loop stops them; Newton first from a Z."""
    iteration = Splitting(run) if iteration is None else iteration
    turn = _WARM_START if run.start is not None and run.n_iter == iteration.k else WARM_UP
    if Z is not None:
        _turn(run, iteration, Z)
    while True:
        while True:
            state = iteration.step()
            if iteration.k >= turn:
                break
            run.observe(state)
        run.observe(state, note=f"splitting for {iteration.k} iterations in all, then Newton")
        iteration.restart(iteration.W)  # gives its memory back
        _turn(run, iteration, state.Z)
        turn = 2 * iteration.k


def _turn(run: Run, iteration: Splitting, Z: Matrix) -> None:
    """Newton from Z as long as it gets on; the splitting goes on from there."""
    at, why = newton_steps(run, evaluate(run.problem, Z, None))
    iteration.restart(at.F - at.Z / iteration.sigma)
    run.observe(_state(at), note=f"back to splitting: {why}")


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


def _state(at: Dual) -> State:
    return State(at.u, None, at.Z)


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
        run.observe(_state(at), force=due)
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
    for _ in range(_CUTS if np.isfinite(step.Y).all() else 0):
        trial = evaluate(problem, step.lift(alpha), at.u)
        slope = min(float(np.vdot(at.F, trial.Z - at.Z)), 0.0)
        if trial.h <= at.h + 1e-4 * slope + 1e-13 * abs(at.h):
            return alpha, trial
        alpha /= 2
    return alpha, None


class _Step:
    """One Newton system at a point. U = [N, V]: the eigenvectors of X = Z − F below and above zero; all coordinates are
    n x r, the last r rows those of the symmetric VᵀYV.
    """

    def __init__(self, at: Dual, w: Vector, U: Matrix) -> None:
        self.at, self.w, self.U = at, w, U
        self.r = int((w > _NOTHING * np.abs(w).max()).sum())
        self.V = np.ascontiguousarray(U[:, len(w) - self.r :])

    def estimate(self) -> float:
        """The distance that a proof here would show, from the Ritz values of F on V."""
        F, Z, V = self.at.F, self.at.Z, self.V
        lowest = float(np.linalg.eigvalsh(V.T @ F @ V)[0])
        c = max(-lowest, 0.0) * float(np.trace(Z)) + float(np.vdot(F, Z))
        return float(np.sqrt(max(c, 0.0)) / la.norm(F))

    def gradient_step(self) -> Matrix:
        """(Z − F)₊."""
        return gram(self.V * np.sqrt(self.w[-self.r :]))

    def solve(self, rho: float, tolerance: float, dtype: Any) -> None:
        """Find the step by conjugate gradients in the given precision."""
        right, damping = self._right_hand_side(Face(self.at.F))
        face = Face(self.at.F, dtype)
        system = _System(face, self.U, damping + rho)
        self.Y = conjugate_gradients(system, right.astype(dtype), tolerance).astype(np.float64)

    def _right_hand_side(self, face: Face) -> tuple[Matrix, Matrix]:
        """−Ω⁻¹∘Ĝ − UᵀA(d₀)V, and Ω⁻¹ − 1."""
        Z, U, V, r = self.at.Z, self.U, self.V, self.r
        damping = np.maximum(-self.w, 0)[:, None] / self.w[None, -r:]
        count_products(4 * r / len(U))
        self.Z_hat = U.T @ (Z @ V)
        kept = pair(face.n, face.i, face.j, U @ _halved(self.Z_hat), V) - face.values(Z)
        right = -(1 + damping) * self.Z_hat - U.T @ face.apply(kept, V)
        right[-r:] += np.diag(self.w[-r:])
        return _symmetrised(right), damping

    def lift(self, alpha: float) -> Matrix:
        """The PSD part of Z₊ + αY, of rank at most 2r: the coordinates of N are orthonormalised first."""
        r, Y = self.r, self.Z_hat + alpha * self.Y
        Q, R = np.linalg.qr(Y[:-r])
        M = np.zeros((r + len(R), r + len(R)))
        M[:r, :r] = Y[-r:]
        M[r:, :r], M[:r, r:] = R, R.T
        w, E = np.linalg.eigh((M + M.T) / 2)
        keep = w > 0
        return gram(np.hstack([self.V, self.U[:, :-r] @ Q]) @ (E[:, keep] * np.sqrt(w[keep])))


def _halved(Y: Matrix) -> Matrix:
    """Coordinates of a T with Y = TVᵀ + VTᵀ."""
    r = Y.shape[1]
    T = Y.copy()
    T[-r:] *= 0.5
    return T


def _symmetrised(Y: Matrix) -> Matrix:
    """With the symmetric part of VᵀYV in its place."""
    r = Y.shape[1]
    Y[-r:] = (Y[-r:] + Y[-r:].T) / 2
    return Y


def _inner(A: Matrix, B: Matrix) -> float:
    """⟨A, B⟩ of symmetric matrices, from their coordinates: the mixed ones count twice."""
    r = A.shape[1]
    return 2 * float(np.vdot(A, B)) - float(np.vdot(A[-r:], B[-r:]))


class _System:
    """Ŷ ↦ damping∘Ŷ + UᵀA(Y)V, and its diagonal."""

    def __init__(self, face: Face, U: Matrix, damping: Matrix) -> None:
        self.face, self.damping = face, damping.astype(face.dtype)
        self.U = np.ascontiguousarray(U, face.dtype)
        self.V = np.ascontiguousarray(self.U[:, -damping.shape[1] :])
        squares = self.U * self.U
        diagonal = squares.T @ face.spread(self.V * self.V)
        self.diagonal = _symmetrised(np.maximum(diagonal, 1e-8) + self.damping)
        self._set_block(int(np.sqrt(_BLOCK * len(U) ** 3 / face.entries)))

    def _set_block(self, most: int) -> None:
        """Factor the system on the pairs of V with the largest eigenvalues and on the least damped mixed ones."""
        n, r = self.damping.shape
        a, b = pairs_within(r, most)
        mixed = np.zeros(0, int)
        if len(a) == r * (r + 1) // 2 and len(a) < most:
            free = self.damping[:-r].ravel()
            count = min(most - len(a), len(free))
            mixed = np.argpartition(free, count - 1)[:count] if count else mixed
        i, j = np.divmod(mixed, r)
        self.rows, self.columns = np.concatenate([n - r + a, i]), np.concatenate([b, j])
        self.mirrored = n - r + b, a
        G = self.face.gram(self.U, self.rows, n - r + self.columns)
        self.weights = np.where(self.rows == n - r + self.columns, 1.0, 2.0)
        shift = 1e-6 * G.diagonal().max(initial=0)
        G.flat[:: len(G) + 1] += self.weights * self.damping[self.rows, self.columns] + shift
        try:
            self.factor = la.cho_factor(G.astype(np.float32), lower=True, overwrite_a=True, check_finite=False)
        except la.LinAlgError:
            self.factor = None

    def precondition(self, R: Matrix) -> Matrix:
        """By the block, and by the diagonal elsewhere."""
        D = R / self.diagonal
        if self.factor is not None and len(self.rows):
            right = (self.weights * R[self.rows, self.columns]).astype(np.float32)
            y = la.cho_solve(self.factor, right, check_finite=False)
            D[self.rows, self.columns] = y
            D[self.mirrored] = y[: len(self.mirrored[0])]
        return D

    def apply(self, Y: Matrix) -> Matrix:
        """The left-hand side."""
        count_products(2 * Y.shape[1] / len(Y) + 2 * self.face.entries * Y.shape[1] / len(Y) ** 3)
        H = self.U.T @ self.face.compress(self.U @ _halved(Y), self.V)
        return _symmetrised(H) + self.damping * Y


def conjugate_gradients(system: _System, right: Matrix, tolerance: float) -> Matrix:
    """Solve the system to a relative tolerance in the preconditioned norm, or as far as the allowed steps get."""
    dtype = right.dtype.type
    x, R = np.zeros_like(right), right.copy()
    D = P = system.precondition(R)
    rho = first = _inner(R, D)
    for _ in range(_CG_STEPS):
        H = system.apply(P)
        curvature = _inner(P, H)
        if not curvature > 0:
            break
        x += dtype(rho / curvature) * P
        R -= dtype(rho / curvature) * H
        D = system.precondition(R)
        rho, before = _inner(R, D), rho
        if rho <= tolerance**2 * first:
            break
        P = D + dtype(rho / before) * P
    return x
