"""`project`: the nearest doubly stochastic, positive semidefinite matrix, by the solver of your choice."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ldssc.certificate import certify, pose
from ldssc.checkpoint import Checkpoint, terminable
from ldssc.exceptions import InputError
from ldssc.filtering import to_numpy
from ldssc.foreign import SINGLE, check_foreign, is_foreign, like, precision
from ldssc.memory import require_memory
from ldssc.problem import Problem
from ldssc.projections.namespace import namespace
from ldssc.solvers import ld_ssc1, ld_ssc2
from ldssc.solvers.accelerated import accelerated
from ldssc.solvers.auto import HUGE, auto, suits_lean
from ldssc.solvers.base import Run, Solver, solve
from ldssc.solvers.conic import conic
from ldssc.solvers.lean import LeanRun
from ldssc.solvers.newton import newton
from ldssc.solvers.records import Record, Result, State, Status
from ldssc.solvers.splitting import splitting
from ldssc.validation import check_choice, check_limits

__all__ = ["SOLVERS", "Record", "Result", "Status", "project"]

#: name -> the solver and the arrays of n² doubles that it holds at its peak
SOLVERS: dict[str, tuple[Solver, int]] = {
    "auto": (auto, 36),
    "accelerated": (accelerated, 20),
    "splitting": (splitting, 36),
    "newton": (newton, 36),
    "ld-ssc1": (ld_ssc1.ld_ssc1, 20),
    "ld-ssc2": (ld_ssc2.ld_ssc2, 50),
    "conic": (conic, 120),
}
#: rows, from which `accelerated` proves without decompositions, and the arrays that it then holds
LEAN_FROM, LEAN_ARRAYS = HUGE, 11
_GENERAL = {"auto", "accelerated", "splitting"}
_LEAN = {"auto", "accelerated"}
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
    dtype: Any = None,
) -> Result:
    """Minimise ½‖F − K‖² over symmetric F with F1 = 1, F ≥ 0, F ⪰ 0 (1), and prove how near the answer is.

    Parameters
    ----------
    K : symmetric matrix, any sign; dense or SciPy sparse. Also an array of PyTorch, CuPy or another library of the array
        API: the answer is of that kind, and on that device. "auto" and "accelerated" compute there, where it has float64; the
        others by NumPy.
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
    dtype : float32 for an answer in single precision, with a certificate of just those arrays, which says what that costs;
        otherwise the answer is float64, whatever K is.

    Returns
    -------
    Result : F, feasible up to rounding; its multipliers u, Q, Z; status; history; and the certificate.
    """
    _check_combination(solver, paper, weights, trace, start)
    tol, iterations, seconds = check_limits(tol, max_iter, time_limit, callback, checkpoint_interval)
    if paper and max_iter is None:
        iterations = _PAPER_ITERATIONS[solver]
    in_single = precision(dtype) == SINGLE
    if is_foreign(K) and not (weights is None and trace is None and checkpoint is None):
        raise InputError("weights, trace and checkpoint are for NumPy arrays; pass np.asarray(K), or leave them out")
    foreign = is_foreign(K) and solver in _LEAN
    given = to_numpy(check_foreign(K)) if is_foreign(K) and not foreign else K
    problem = Problem(check_foreign(K)) if foreign else pose(given, weights, trace)
    lean = _is_lean(problem, solver, tol, start, in_single, foreign)
    n = problem.A.shape[0]
    if not foreign:
        arrays = LEAN_ARRAYS if lean else SOLVERS[solver][1]
        require_memory(8.0 * arrays * n**2, f"solver {solver!r} at n = {n}", _remedy(solver))
    run = (partial(LeanRun, in_single=in_single) if lean else Run)(
        problem,
        tol,
        max_iter=iterations,
        time_limit=seconds,
        callback=callback,
        prove_at_end=paper,
        start=None if start is None else _warm_start(start, problem),
    )
    result = _solve(run, SOLVERS[solver][0], solver, checkpoint, checkpoint_interval)
    if in_single and not lean:
        result = in_single_precision(result, given, weights, trace)
    return in_kind(result, K) if given is not K else result


def _check_combination(solver: str, paper: bool, weights: Any, trace: Any, start: Any) -> None:
    check_choice(solver, "solver", SOLVERS)
    if paper:
        check_choice(solver, "solver (with paper=True)", _PAPER_ITERATIONS)
    if solver not in _GENERAL and (weights is not None or trace is not None):
        raise InputError(
            f"solver {solver!r} knows neither weights nor trace; use one of: {', '.join(sorted(_GENERAL))}"
        )
    if start is not None and (paper or solver == "conic"):
        raise InputError(f"{'paper=True' if paper else f'solver {solver!r}'} takes no start; leave start out")


def _is_lean(problem: Problem, solver: str, tol: float, start: Any, in_single: bool, foreign: bool) -> bool:
    """Whether the run keeps few arrays and proves without decompositions."""
    if solver not in _LEAN or problem.s is not None or problem.trace is not None:
        return False
    if foreign or problem.A.shape[0] >= LEAN_FROM:
        return True
    return in_single if solver == "accelerated" else start is None and suits_lean(problem, tol)


def in_kind(result: Result, K: Any) -> Result:
    """The answer as arrays of K's library, on its device; it was computed by NumPy."""
    F, u, Q, Z, iterate = (like(part, K) for part in (result.F, result.u, result.Q, result.Z, result.iterate))
    return replace(result, F=F, u=u, Q=Q, Z=Z, iterate=iterate)


def _solve(
    run: Run, function: Solver, solver: str, checkpoint: str | os.PathLike[str] | None, checkpoint_interval: float
) -> Result:
    """From the checkpoint on, where there is one."""
    if checkpoint is None:
        return solve(run, function, solver)
    run.checkpoint = Checkpoint(checkpoint, run.problem, solver, checkpoint_interval)
    run.resume(run.checkpoint.take())
    with terminable():
        return solve(run, function, solver)


def _warm_start(start: Any, problem: Problem) -> State:
    """What an earlier answer says about the problem, in the letters of (19)."""
    if not isinstance(start, Result):
        raise InputError(f"start must be a Result of ldssc.project, and is of type {type(start).__name__}")
    G, n = start.G, problem.A.shape[0]
    if G.shape[0] != n:
        raise InputError(f"start is the answer for {G.shape[0]} rows, and K has {n}; they must be equal")
    if is_foreign(problem.A) or is_foreign(G) or G.dtype != np.float64:
        u, Q, Z, F = (like(part, problem.A) for part in (start.u, start.Q, start.Z, G))
        return State(u, Q, Z, F)
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


def in_single_precision(result: Result, K: Any, weights: Any, trace: float | None) -> Result:
    """The answer rounded to float32, with the certificate of just those arrays."""
    parts = result.F, result.u, result.Q, result.Z, result.iterate
    F, u, Q, Z, iterate = (namespace(part).astype(part, np.float32) for part in parts)
    found = certify(F, K, u, Q, Z, weights=weights, trace=trace, tau=result.tau)
    note = f"in double precision the distance was {result.certificate.distance:.2e}"
    found = replace(found, note="; ".join(filter(None, [found.note, note])))
    status = result.status
    if result.solved and found.distance > result.tol:
        status = Status.STALLED
    return replace(result, F=F, u=u, Q=Q, Z=Z, iterate=iterate, certificate=found, status=status)
