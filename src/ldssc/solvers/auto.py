"""The free exits first, then the fastest solver there is for the kind of problem.

(9)   if Π_D(A) is semidefinite it is the solution: the proof at Z = 0
(10)  if the projection (5) of A is nonnegative it is the solution: the proof at Q = 0

Beyond them: where Z is heavy, splitting. Where it is light, Newton, warmed up by splitting; or by accelerated gradient with
filtered parts where the matrix is large enough for these to pay. That alone suffices for a coarse tolerance.
"""

from __future__ import annotations

import numpy as np

from ldssc.filtering import Filter
from ldssc.problem import Problem
from ldssc.projections import project_semidefinite
from ldssc.solvers.accelerated import CLIPPED, accelerated, clipped_diagonal, descend, first_dual
from ldssc.solvers.base import Run
from ldssc.solvers.duals import ZDual
from ldssc.solvers.lean import Given, LeanRun
from ldssc.solvers.newton import newton
from ldssc.solvers.records import State
from ldssc.solvers.sharpen import HEAVY
from ldssc.solvers.splitting import CLASS_TEST, Splitting
from ldssc.validation import Matrix

FILTERED = 500  # rows, from which filtered parts pay
COARSE = 3e-3  # a tolerance that the accelerated gradient reaches soonest
_SWITCH = 1.2e-2  # proven distance from which Newton is faster
HUGE = 2500  # rows
_ZERO = 1e-9  # an entry that is zero
_PATIENCE = 150  # iterations in which it should get there


def auto(run: Run) -> None:
    """Prove the closings of no multipliers at all, or of the start; go on by the solver for this kind and size."""
    if isinstance(run, LeanRun):
        _lean(run)
        return
    if run.start is None:
        zero = np.zeros_like(run.K)
        run.observe(State(np.zeros(len(run.K)), zero, zero), note="free exits (9) and (10)", force=True)
    plain = run.problem.s is None and run.problem.trace is None
    if plain and run.start is None and len(run.problem) >= FILTERED:
        dual, note = first_dual(run, Filter())
        if isinstance(dual, ZDual):
            newton(run, None, _warmed_up(run, dual, note))
    iteration = Splitting(run)
    if not plain:
        _split_on(run, iteration, "splitting: weights or trace are given")
    while iteration.k < (CLASS_TEST if run.start is None else 1):
        run.observe(iteration.step())
    if iteration.weight > HEAVY:
        _split_on(run, iteration, f"splitting: tr Z = {iteration.weight:.2g} n, too heavy for Newton")
    newton(run, iteration)


def suits_lean(problem: Problem, tol: float) -> bool:
    """Whether the accelerated gradient alone, in a lean run, is the fastest: large, plain, light, and a coarse tolerance."""
    if len(problem) < FILTERED or tol < COARSE or problem.s is not None or problem.trace is not None:
        return False
    return clipped_diagonal(problem)[1] <= CLIPPED


def _lean(run: LeanRun) -> None:
    """(9) is where the accelerated gradient begins; (10) costs a decomposition, which is dear where the matrix is huge."""
    if run.start is None and isinstance(run.K, np.ndarray) and len(run.K) < HUGE:
        F, u, Z, _ = project_semidefinite(run.K, run.eigh)
        if F.min() >= -_ZERO:
            run.observe(Given(Z, u), note="free exit (10)", force=True)  # type: ignore[arg-type]
    accelerated(run)


def _warmed_up(run: Run, dual: ZDual, note: str) -> Matrix:
    """The Z that the accelerated gradient gets to before Newton is faster."""
    last = run.n_iter + _PATIENCE
    level = 0.0 if run.tol >= COARSE else _SWITCH
    reached = descend(run, Filter(), dual, f"accelerated; {note}", lambda: run.proven < level or run.n_iter >= last)
    return reached.kernel().Z


def _split_on(run: Run, iteration: Splitting, note: str) -> None:
    """By splitting alone, until the loop stops it."""
    run.observe(iteration.step(), note=note)
    while True:
        run.observe(iteration.step())
