"""Douglas-Rachford splitting of (1) into the cone S+ and the doubly stochastic side, with Anderson acceleration.

One matrix W carries the primal and the dual: its PSD part X = W₊ estimates F, and Z = σ(−W)₊. An iteration is one
eigendecomposition and one projection on D:

    X = W₊,  N = (−W)₊;    F = Π_D((A + σ(X + N)) / (1 + σ));    W ← W + F − X

At a fixed point F = X solves (1) with the multiplier Z = σN. The map is firmly nonexpansive, so plain steps converge;
Anderson's extrapolation over the last steps is tried first, and dropped whenever the residual ‖F − X‖ grows too much.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import scipy.linalg as la

from ldssc.projections import project_doubly_stochastic, spread
from ldssc.solvers.base import Run, State
from ldssc.validation import Matrix, Vector

SIGMA = 10.0
BALANCE = 15.0  # σ is kept near this many times ‖Z‖/‖F‖
WARM = 3.0  # ... and so many times that from a warm start
MEMORY = 10
_RESCALE = frozenset({10, 20, 40, 80, 160, 320, 640})
_GROWTH = 2.0  # of the residual, at which an extrapolation is undone
_REGULARISATION = 1e-8


def splitting(run: Run, sigma: float = SIGMA) -> None:
    """Until the loop stops it."""
    problem = run.problem
    A = problem.A
    if run.start is None:
        W, u, _, tau = project_doubly_stochastic(A, None, problem.s, problem.trace)
    else:
        W, u, tau, sigma = _warm(run, run.start, sigma)
    anderson = Anderson(MEMORY)
    fallback: Matrix | None = None
    allowed = np.inf
    for k in count():
        X, N, _ = run.split(W)
        if k in _RESCALE and not 0.25 < (ratio := _balance(X, N)) < 4:
            sigma, N, fallback = sigma * ratio, N / ratio, None
            W = X - N
            anderson.forget()
        B = (A + sigma * (X + N)) / (1 + sigma)
        F, u, _, tau = project_doubly_stochastic(B, u, problem.s, problem.trace, tau)
        R = F - X
        size = float(la.norm(R))
        if fallback is not None and size > allowed:
            W, fallback = fallback, None
            anderson.forget()
            continue
        # stationarity of F in its projection, times 1 + σ: A + M' + Q' + Z + τ'I = F + σ(F − X)
        Q = np.maximum(F - B - spread(u, problem.s), 0)
        Q.flat[:: len(Q) + 1] = np.maximum(Q.diagonal() - tau, 0)
        run.observe(State((1 + sigma) * u, (1 + sigma) * Q, sigma * N, F, (1 + sigma) * tau, sigma))
        fallback, allowed = W + R, _GROWTH * size
        W = anderson.step(W, R)


def _warm(run: Run, start: State, sigma: float) -> tuple[Matrix, Vector, float, float]:
    """W = F − Z/σ, the u and τ of its projection on D, and σ: where a run was, or what another problem's answer suggests.

    Of a neighbour's answer, Z is kept; F follows from it (6), and so does a σ, larger than in a run from nothing.
    """
    u, _, Z, F, tau, known = start
    if known is None or F is None:
        F, u, _, tau = project_doubly_stochastic(run.problem.A + Z, u, run.problem.s, run.problem.trace, tau)
        known = WARM * BALANCE * float(la.norm(Z)) / float(la.norm(F)) or sigma
    return F - Z / known, u / (1 + known), tau / (1 + known), known


def _balance(X: Matrix, N: Matrix) -> float:
    """By how much σ should grow for σ = BALANCE ‖σN‖/‖X‖."""
    primal, dual = float(la.norm(X)), float(la.norm(N))
    return BALANCE * dual / primal if primal > 0 and dual > 0 else 1.0


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
        scale = float(la.norm(R))
        if not self.residuals or scale == 0:
            return W + R
        r = (R / scale).astype(np.float32).ravel()
        D = [d.ravel() for d in self.residuals]
        H = np.array([[float(np.dot(a, b)) for a in D] for b in D])
        d = np.sqrt(H.diagonal()) + 1e-6 * scale  # where W drifts, R does not change: no long leaps
        H = H / d[:, None] / d[None, :] + _REGULARISATION * np.eye(len(d))
        g = np.linalg.solve(H, scale * np.array([float(np.dot(a, r)) for a in D]) / d) / d
        step = W + R
        if not np.isfinite(g).all():
            return step
        for weight, change, residual in zip(g, self.changes, self.residuals, strict=True):
            step -= weight * (change + residual)
        return np.asarray((step + step.T) / 2)
