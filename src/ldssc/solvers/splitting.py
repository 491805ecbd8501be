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

from ldssc.projections import gram, project_doubly_stochastic
from ldssc.solvers.anderson import Anderson
from ldssc.solvers.base import Run
from ldssc.solvers.records import State
from ldssc.solvers.sharpen import HEAVY
from ldssc.validation import Matrix, Vector

SIGMA = 10.0
BALANCE = 15.0  # σ is kept near this many times ‖Z‖/‖F‖
WARM = 3.0  # ... and so many times that from a warm start
MEMORY = 5  # ten save an eighth of the iterations, and cost 5 n² doubles
_RESCALE = frozenset({10, 20, 40, 80, 160, 320, 640})
CLASS_TEST = 9  # iterations, after which Z is known to be heavy or not
_RISE, _RISE_EVERY = 2.0, 8  # there σ doubles every so often, up to so many times its balance
_LATER = (160, 320, 640)  # ... and to twice as many after each of these
_DEAR = 200  # rows
_GROWTH = 2.0  # of the residual, at which an extrapolation is undone


def splitting(run: Run, sigma: float = SIGMA) -> None:
    """Until the loop stops it."""
    iteration = Splitting(run, sigma)
    while True:
        run.observe(iteration.step())


class Splitting:
    """The iteration, one step at a time."""

    def __init__(self, run: Run, sigma: float = SIGMA, memory: int = MEMORY) -> None:
        self.run, self.sigma, self.k = run, sigma, 0
        problem = run.problem
        if run.start is None:
            self.W, self.u, _, self.tau = project_doubly_stochastic(problem.A, None, problem.s, problem.trace)
        else:
            self.W, self.u, self.tau, self.sigma = _warm(run, run.start, sigma)
        self.anderson = Anderson(len(problem), memory)
        self.weight = 0.0  # tr Z / n
        self._plain: tuple[Matrix, Matrix] | None = (
            None  # the last W and R, whose sum is the step without extrapolation
        )
        self._allowed = np.inf

    def step(self) -> State:
        """The next W, and the state at the last; an extrapolation that led astray is undone first."""
        while True:
            X, N = self._parts()
            if self.k <= CLASS_TEST:
                self.weight = self.sigma * float(np.trace(N)) / len(N)
            if (ratio := self._growth(X, N)) != 1:
                N = self._rescale(X, N, ratio)
            state, R = self._reflect(X, N)
            self.k += 1
            size = float(la.norm(R))
            if self._plain is None or size <= self._allowed:
                break
            self.restart(self._plain[0] + self._plain[1])
        self._plain, self._allowed = (self.W, R), _GROWTH * size
        self.W = self.anderson.step(self.W, R)
        return state

    def _parts(self) -> tuple[Matrix, Matrix]:
        """W₊ and (−W)₊. The second, of which Z is a multiple, is semidefinite to its own rounding, or W's."""
        w, U = self.run.eigh(self.W)
        low = w < 0
        if 2 * low.sum() > len(w) >= _DEAR:
            X = gram(U[:, ~low] * np.sqrt(w[~low]))
            return X, X - self.W
        N = gram(U[:, low] * np.sqrt(-w[low]))
        return self.W + N, N

    def restart(self, W: Matrix) -> None:
        """Go on from W, with nothing remembered."""
        self.W, self._plain = W, None
        self.anderson.forget()

    @property
    def heavy(self) -> bool:
        """Whether Z will not have low rank; known after CLASS_TEST iterations."""
        return self.k >= CLASS_TEST and self.weight > HEAVY

    def _growth(self, X: Matrix, N: Matrix) -> float:
        """What to multiply σ by: towards its balance; where Z is heavy slowly, from below, and past it."""
        if self.heavy and self.k % _RISE_EVERY == 0:
            most = _RISE * 2 ** sum(self.k >= later for later in _LATER)
            return 2.0 if _balance(X, N) > 2 / most else 1.0
        if self.k in _RESCALE:
            ratio = _balance(X, N)
            if ratio >= (32 if self.heavy else 4) or (ratio <= 0.25 and not self.heavy):
                return ratio
        return 1.0

    def _rescale(self, X: Matrix, N: Matrix, ratio: float) -> Matrix:
        """Let σ grow by `ratio`, Z being what it is; returns the new N."""
        self.sigma *= ratio
        self.restart(X - N / ratio)
        return N / ratio

    def _reflect(self, X: Matrix, N: Matrix) -> tuple[State, Matrix]:
        """The state at X and N, and the residual F − X."""
        problem, sigma = self.run.problem, self.sigma
        B = (problem.A + sigma * (X + N)) / (1 + sigma)
        F, self.u, _, self.tau = project_doubly_stochastic(B, self.u, problem.s, problem.trace, self.tau)
        # stationarity of F in its projection, times 1 + σ: A + M' + Q' + Z + τ'I = F + σ(F − X)
        scale = 1 + sigma
        return State(scale * self.u, None, sigma * N, F, scale * self.tau, sigma), F - X


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
