"""The paper's CVX-SSC: problem (1) handed to a general conic solver through CVXPY, Clarabel when small, SCS above."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ldssc.certificate import fit_rows
from ldssc.exceptions import InputError, require
from ldssc.memory import require_memory
from ldssc.solvers.base import Halt, Run
from ldssc.solvers.records import State, Status
from ldssc.validation import Matrix

LARGEST_FOR_CLARABEL = 60
HOPELESS_SECONDS = 4 * 3600.0


def forecast(n: int) -> tuple[str, float, float]:
    """Name of the solver, seconds and bytes to expect, from runs on one core at n = 40 to 200."""
    if n <= LARGEST_FOR_CLARABEL:
        # a dense block of n(n+1)/2 rows is factorised: n⁶; 20 s and 750 MB at n = 80
        return "CLARABEL", 20 * (n / 80) ** 6, 7.5e8 * (n / 80) ** 4
    # 1,000-2,000 steps of one n³ decomposition, and the model itself: 11 s at n = 200
    return "SCS", 11 * (n / 200) ** 3, 4e3 * n * n


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds:.0f} seconds"


def conic(run: Run) -> None:
    """Model, solve, and take the multipliers from the solver; one observation."""
    n = len(run.K)
    name, seconds, n_bytes = forecast(n)
    if seconds > min(HOPELESS_SECONDS, 3 * run.seconds_left):
        raise InputError(
            f"solver 'conic' at n = {n} would take {name} about {_duration(seconds)}; use solver='auto', or fewer rows"
        )
    require_memory(n_bytes, f"solver 'conic' ({name}) at n = {n}", "use solver='auto', or fewer rows")
    cvxpy = require("cvxpy", "conic")
    require(name.lower(), "conic")
    F = cvxpy.Variable((n, n), symmetric=True)
    rows, signs, semidefinite = cvxpy.sum(F, axis=1) == 1, F >= 0, F >> 0
    model = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(F - run.K) / 2), [rows, signs, semidefinite])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inaccurate answers are judged by the certificate, like all others
        try:
            model.solve(solver=name, **_options(name, run))
        except cvxpy.error.SolverError:
            raise Halt(Status.STALLED) from None
    if F.value is None or signs.dual_value is None:
        raise Halt(Status.STALLED)
    Q, Z = symmetric(signs.dual_value), symmetric(semidefinite.dual_value)
    run.n_inner = int(model.solver_stats.num_iters or 0)
    state = _state(run.K, symmetric(F.value), np.maximum(Q, 0), run.split(Z).plus)
    run.observe(state, note=f"{name} of CVXPY", force=True)


def symmetric(A: object) -> Matrix:
    """What CVXPY returns, as an exactly symmetric array."""
    B = np.asarray(A, dtype=np.float64)
    return np.asarray((B + B.T) / 2)


def _state(K: Matrix, F: Matrix, Q: Matrix, Z: Matrix) -> State:
    """With u the best fit of M to F − K − Q − Z: CVXPY's own multiplier of the rows is not a symmetric one."""
    return State(fit_rows(F - K - Q - Z), Q, Z, F)


def _options(name: str, run: Run) -> dict[str, float | int]:
    if name == "CLARABEL":
        accuracy = 1e-12  # the proof is the root of a gap
        limit = {} if math.isinf(run.time_limit) else {"time_limit": run.seconds_left}
        return {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy, **limit}
    accuracy = max(1e-9, min(1e-4, run.tol**1.5))
    options: dict[str, float | int] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": 20_000}
    if not math.isinf(run.time_limit):
        options["time_limit_secs"] = run.seconds_left
    if not math.isinf(run.max_iter) and run.max_iter > 1:
        options["max_iters"] = int(run.max_iter)
    return options
