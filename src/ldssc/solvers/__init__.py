"""`project`: the nearest doubly stochastic, positive semidefinite matrix, by the solver of your choice."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ldssc.certificate import pose
from ldssc.checkpoint import Checkpoint, terminable
from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.problem import Problem
from ldssc.solvers import ld_ssc1, ld_ssc2
from ldssc.solvers.accelerated import accelerated
from ldssc.solvers.auto import auto
from ldssc.solvers.base import Run, Solver, solve
from ldssc.solvers.conic import conic
from ldssc.solvers.newton import newton
from ldssc.solvers.records import Record, Result, State, Status
from ldssc.solvers.splitting import splitting
from ldssc.validation import check_choice, check_count, check_positive

__all__ = ["SOLVERS", "Record", "Result", "Status", "project"]

#: name -> the solver and the arrays of n² doubles that it holds at its peak
SOLVERS: dict[str, tuple[Solver, int]] = {
    "auto": (auto, 45),
    "accelerated": (accelerated, 20),
    "splitting": (splitting, 45),
    "newton": (newton, 45),
    "ld-ssc1": (ld_ssc1.ld_ssc1, 20),
    "ld-ssc2": (ld_ssc2.ld_ssc2, 50),
    "conic": (conic, 120),
}
_GENERAL = {"auto", "accelerated", "splitting"}
_PAPER_ITERATIONS = {"ld-ssc1": ld_ssc1.OUTER, "ld-ssc2": ld_ssc2.ITERATIONS}


def project(
    K: Any,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Record], object] | None = None,
    paper: bool = False,
    weights: Any = None,
    trace: float | None = None,
    start: Result | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 60.0,
) -> Result:
    """Minimise ½‖F − K‖² over symmetric F with F1 = 1, F ≥ 0, F ⪰ 0 (1), and prove how near the answer is.

    Parameters
    ----------
    K : symmetric matrix, any sign; dense or SciPy sparse.
    solver : "auto", "newton", "splitting", "accelerated", "ld-ssc1" (Algorithm 1), "ld-ssc2" (Algorithm 2) or "conic"
        (CVXPY with Clarabel or SCS).
    tol : proven relative distance ‖F − F*‖/‖F‖ at which to stop.
    max_iter : iterations allowed (outer rounds in "ld-ssc1"); None goes on until tol, stall or time limit.
    time_limit : seconds.
    callback : called with a `Record` after every proof; a true answer stops the run.
    paper : run "ld-ssc1" or "ld-ssc2" with the paper's iteration counts (100 rounds of 10; 20), proven at the end only.
        `result.iterate` is then the matrix that the paper clusters.
    weights : how often each point counts (19); `result.F` then has Fw = 1, and is the F of the problem with repeated rows.
    trace : prescribed trace of the G of (19), between 1 and n (20); G = F where there are no weights.
    start : an earlier `Result` of the same size to go on from, such as that of a neighbouring kernel width.
    checkpoint : file that the best so far is written to as the run goes, and at its end; where it exists, the run goes on
        from it: counts and seconds continue, `time_limit` is for what follows, `start` is not looked at. SIGTERM then ends
        the run as Ctrl-C does. The file is refused, not overwritten, if it belongs to anything else.
    checkpoint_interval : seconds between two writes.

    Returns
    -------
    Result : F, feasible up to rounding; its multipliers u, Q, Z; status; history; and the certificate.
    """
    check_choice(solver, "solver", SOLVERS)
    tol = check_positive(tol, "tol")
    if max_iter is not None:
        check_count(max_iter, "max_iter")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function of a record, or None, and is {callback!r}")
    check_positive(checkpoint_interval, "checkpoint_interval", zero=True)
    if paper:
        check_choice(solver, "solver (with paper=True)", _PAPER_ITERATIONS)
        max_iter = _PAPER_ITERATIONS[solver] if max_iter is None else max_iter
    if solver not in _GENERAL and (weights is not None or trace is not None):
        raise InputError(
            f"solver {solver!r} knows neither weights nor trace; use one of: {', '.join(sorted(_GENERAL))}"
        )
    if start is not None and (paper or solver == "conic"):
        raise InputError(f"{'paper=True' if paper else f'solver {solver!r}'} takes no start; leave start out")
    problem = pose(K, weights, trace)
    n = len(problem)
    function, arrays = SOLVERS[solver]
    require_memory(8.0 * arrays * n**2, f"solver {solver!r} at n = {n}", _remedy(solver))
    run = Run(
        problem,
        tol,
        max_iter=math.inf if max_iter is None else max_iter,
        time_limit=math.inf if time_limit is None else time_limit,
        callback=callback,
        prove_at_end=paper,
        start=None if start is None else _warm_start(start, problem),
    )
    if checkpoint is None:
        return solve(run, function, solver)
    run.checkpoint = Checkpoint(checkpoint, problem, solver, checkpoint_interval)
    run.resume(run.checkpoint.take())
    with terminable():
        return solve(run, function, solver)


def _warm_start(start: Any, problem: Problem) -> State:
    """What an earlier answer says about the problem, in the letters of (19)."""
    if not isinstance(start, Result):
        raise InputError(f"start must be a Result of ldssc.project, and is of type {type(start).__name__}")
    G, n = start.G, len(problem)
    if len(G) != n:
        raise InputError(f"start is the answer for {len(G)} rows, and K has {n}; they must be equal")
    if not all(np.isfinite(part).all() for part in (G, start.u, start.Q, start.Z)) or start.Q.min() < 0:
        raise InputError("start is no answer: it holds NaN, infinite numbers or a negative Q; leave start out")
    # τ is a multiplier only where a trace is prescribed
    return State(start.u * problem.unit, start.Q, start.Z, G, start.tau if problem.trace is not None else 0.0)


def _remedy(solver: str) -> str:
    return (
        "use fewer rows"
        if SOLVERS[solver][1] <= SOLVERS["ld-ssc1"][1]
        else "solver='ld-ssc1' needs least; or use fewer rows"
    )
