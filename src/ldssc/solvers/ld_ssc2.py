"""LD-SSC2, the paper's Algorithm 2: L-BFGS-B on Q ≥ 0 and u together. n² + n variables.

minimise ½‖(K + M + Q)₊‖² − 2·1ᵀu over u and Q ≥ 0 (4);   Z = (−(K + M + Q))₊
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ldssc.problem import ReducedDual, reduced_dual
from ldssc.solvers.base import Run
from ldssc.solvers.records import State
from ldssc.validation import Matrix, Vector

ITERATIONS = 20  # the paper reports 10-20
MEMORY = 10  # correction pairs of L-BFGS-B; the paper does not give its own


def paper_bytes(n: int) -> int:
    """Bytes of the parameters of L-BFGS-B behind the paper's Table V."""
    return 40 * n * n + 24 * n


def ld_ssc2(run: Run) -> None:
    """Algorithm 2, started again from where L-BFGS-B gives up for as long as that gains anything."""
    K = run.K
    n = len(K)
    run.lbfgs_memory, run.lbfgs_bytes = MEMORY, paper_bytes(n)
    last: tuple[Vector, ReducedDual] | None = None

    def evaluate(x: Vector) -> ReducedDual:
        nonlocal last
        if last is None or not np.array_equal(last[0], x):
            u, Q = unpack(x, n)
            last = x.copy(), reduced_dual(K, u, Q, run.eigh)
        return last[1]

    def dual(x: Vector) -> tuple[float, Vector]:
        at = evaluate(x)
        return at.value, np.concatenate([at.F.ravel(), at.gradient_u])

    def seen(x: Vector) -> None:
        u, Q = unpack(x, n)
        run.n_inner += 1
        at = evaluate(x)
        run.observe(State(u.copy(), Q.copy(), at.Z, at.F))

    lower = np.concatenate([np.zeros(n * n), np.full(n, -np.inf)])
    options = {"maxiter": 10**9, "maxfun": 10**9, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    x = np.zeros(n * n + n)
    if run.start is not None:
        u, Q = run.start.given()
        x = np.concatenate([Q.ravel(), u])
    found_steps = 2
    while found_steps > 1:
        found = minimize(
            dual, x, jac=True, method="L-BFGS-B", bounds=Bounds(lower, np.inf), callback=seen, options=options
        )
        x, found_steps = found.x, int(found.nit)


def unpack(x: Vector, n: int) -> tuple[Vector, Matrix]:
    """u and Q, symmetric to the last bit, from the vector that L-BFGS-B works on."""
    Q = x[: n * n].reshape(n, n)
    return x[n * n :], (Q + Q.T) / 2
