"""Accelerated gradient with restart on the dual (7), in which only Z ⪰ 0 is left.

The gradient at Z is Π_D(A + Z), so a step is  Z ← (Y − Π_D(A + Y))₊  at an extrapolated Y: one projection on the doubly
stochastic matrices and one eigendecomposition.
"""

from __future__ import annotations

import numpy as np

from ldssc.projections import project_doubly_stochastic
from ldssc.solvers.base import Run
from ldssc.solvers.records import State


def accelerated(run: Run) -> None:
    """Nesterov's momentum, forgotten whenever it points uphill (O'Donoghue and Candès)."""
    problem = run.problem
    Y = Z = np.zeros_like(problem.A)
    u, tau, t = None, 0.0, 1.0
    if run.start is not None:
        Y = Z = run.start.Z
        u, tau = run.start.u, run.start.tau
    while True:
        F, u, _, tau = project_doubly_stochastic(problem.A + Y, u, problem.s, problem.trace, tau)
        new = run.split(Y - F).plus
        if np.vdot(Y - new, new - Z) > 0:
            t = 1.0
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        Y, Z, t = new + (t - 1) / following * (new - Z), new, following
        Q = np.maximum(-problem.recover(u, np.zeros_like(Z), Z, tau), 0)
        run.observe(State(u, Q, Z, tau=tau))
