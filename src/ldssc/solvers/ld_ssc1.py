"""LD-SSC1, the paper's Algorithm 1: L-BFGS-B on u alone, then Z and Q in closed form, in turn. n variables.

Q = I.  Repeat:  u ← L-BFGS-B on ½‖(K + M + Q)₊‖² − 2·1ᵀu, Q fixed (4);
                 Z ← (−(K + M + Q))₊;   Q ← max(−(K + M + Z), 0)
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ldssc.problem import reduced_dual
from ldssc.projections import spread
from ldssc.solvers.base import Run
from ldssc.solvers.records import State
from ldssc.validation import Vector

OUTER, INNER = 100, 10  # the paper reports 50-100 rounds of 5-10 L-BFGS-B iterations
MEMORY = 10  # correction pairs of L-BFGS-B; the paper does not give its own


def paper_bytes(n: int) -> int:
    """Bytes of the parameters of L-BFGS-B behind the paper's Table V."""
    return 16 * n * n + 16 * n


def ld_ssc1(run: Run) -> None:
    """Algorithm 1, until the loop stops it."""
    K = run.K
    n = len(K)
    run.lbfgs_memory, run.lbfgs_bytes = MEMORY, paper_bytes(n)
    u, Q = (np.zeros(n), np.eye(n)) if run.start is None else run.start.given()
    while True:

        def dual(u: Vector, Q: np.ndarray = Q) -> tuple[float, Vector]:
            at = reduced_dual(K, u, Q, run.eigh)
            return at.value, at.gradient_u

        options = {"maxiter": INNER, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
        found = minimize(dual, u, jac=True, method="L-BFGS-B", options=options)
        run.n_inner += int(found.nit)
        u = found.x
        M = spread(u)
        Z = run.split(K + M + Q).minus
        Q = np.maximum(-(K + M + Z), 0)
        run.observe(State(u, Q, Z))
