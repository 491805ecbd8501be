"""The nearest feasible matrix to an F that is nearly feasible: a few steps of splitting with F itself in the place of A.

Mixing in the identity (13) costs √(ε tr Z), however near F is. Where Z is heavy, projecting F costs a third or less of that,
and what is left to pay is of the order of the distance from F to the solution.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from ldssc.problem import Problem
from ldssc.projections import Eigh, gram, project_doubly_stochastic
from ldssc.solvers.anderson import Anderson
from ldssc.validation import Matrix

_STEPS = 6  # more prove no more
_MEMORY = 5
_GROWTH = 2.0  # of the residual, at which an extrapolation is undone


def polish(problem: Problem, F: Matrix, eigh: Eigh, steps: int = _STEPS) -> Matrix:
    """A matrix of D near F that is more nearly semidefinite; σ = 1, since both multipliers are small."""
    W, X, u, tau = F, F, None, 0.0
    anderson, fallback, allowed = Anderson(len(F), _MEMORY), None, np.inf
    best, smallest = F, np.inf
    for _ in range(steps):
        w, U = eigh(W)
        low = w < 0
        N = gram(U[:, low] * np.sqrt(-w[low]))
        X = W + N
        at, u, _, tau = project_doubly_stochastic((F + X + N) / 2, u, problem.s, problem.trace, tau)
        R = at - X
        size = float(la.norm(R))
        if size < smallest:
            best, smallest = at, size
        if fallback is not None and size > allowed:
            W, fallback = fallback, None
            anderson.forget()
            continue
        fallback, allowed = W + R, _GROWTH * size
        W = anderson.step(W, R)
    return best
