"""Douglas-Rachford splitting of (1) into the cone S+ and the doubly stochastic side, with Anderson acceleration.

One matrix W carries the primal and the dual: its PSD part X = W₊ estimates F, and Z = σ(−W)₊. An iteration is one
eigendecomposition and one projection on D:

    X = W₊,  N = (−W)₊;    F = Π_D((A + σ(X + N)) / (1 + σ));    W ← W + F − X

At a fixed point F = X solves (1) with the multiplier Z = σN. The map is firmly nonexpansive, so plain steps converge;
Anderson's extrapolation over the last steps is tried first, and dropped whenever the residual ‖F − X‖ grows too much.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from ldssc.projections import project_doubly_stochastic
from ldssc.solvers.base import Run, State
from ldssc.validation import Matrix, Vector

SIGMA = 10.0
MEMORY = 10
_GROWTH = 2.0  # of the residual, at which an extrapolation is undone
_REGULARISATION = 1e-10


def splitting(run: Run, sigma: float = SIGMA) -> None:
    """Until the loop stops it."""
    problem = run.problem
    A = problem.A
    W, u, _, tau = project_doubly_stochastic(A, None, problem.s, problem.trace)
    anderson = Anderson(MEMORY)
    fallback: Matrix | None = None
    allowed = np.inf
    while True:
        X, N, _ = run.split(W)
        B = (A + sigma * (X + N)) / (1 + sigma)
        F, u, _, tau = project_doubly_stochastic(B, u, problem.s, problem.trace, tau)
        R = F - X
        size = float(la.norm(R))
        if fallback is not None and size > allowed:
            W, fallback = fallback, None
            anderson.forget()
            continue
        # stationarity of F in its projection, times 1 + σ: A + M' + Q' + Z + τ'I = F + σ(F − X)
        Q = np.maximum(F - B - _rank_two(u, problem.s), 0)
        Q.flat[:: len(Q) + 1] = np.maximum(Q.diagonal() - tau, 0)
        run.observe(State((1 + sigma) * u, (1 + sigma) * Q, sigma * N, F, (1 + sigma) * tau))
        fallback, allowed = W + R, _GROWTH * size
        W = anderson.step(W, R)


def _rank_two(u: Vector, s: Vector | None) -> Matrix:
    from ldssc.projections import spread

    return spread(u, s)


class Anderson:
    """Type-II Anderson acceleration of W ← W + R(W), remembering the last differences of W and R in single precision."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.forget()

    def forget(self) -> None:
        """Start over."""
        self.changes: list[Matrix] = []
        self.residuals: list[Matrix] = []
        self.last: tuple[Matrix, Matrix] | None = None

    def step(self, W: Matrix, R: Matrix) -> Matrix:
        """W + R, less the combination of remembered steps that would have made the residual smallest."""
        if self.last is not None:
            self.changes.append((W - self.last[0]).astype(np.float32))
            self.residuals.append((R - self.last[1]).astype(np.float32))
            del self.changes[: -self.memory], self.residuals[: -self.memory]
        self.last = W, R
        if not self.residuals:
            return W + R
        scale = float(la.norm(R))
        r = (R / scale).astype(np.float32).ravel()
        D = [d.ravel() for d in self.residuals]
        H = np.array([[float(np.dot(a, b)) for a in D] for b in D])
        d = np.sqrt(H.diagonal()) + np.finfo(np.float32).tiny
        H = H / d[:, None] / d[None, :] + _REGULARISATION * np.eye(len(d))
        g = la.solve(H, scale * np.array([float(np.dot(a, r)) for a in D]) / d, check_finite=False) / d
        step = W + R
        for weight, change, residual in zip(g, self.changes, self.residuals, strict=True):
            step -= weight * (change + residual)
        return np.asarray((step + step.T) / 2)
