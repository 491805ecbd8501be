"""The free exits first, then the fastest solver there is for the kind of problem.

(9)   if Π_D(A) is semidefinite it is the solution: the proof at Z = 0
(10)  if the projection (5) of A is nonnegative it is the solution: the proof at Q = 0
"""

from __future__ import annotations

import numpy as np

from ldssc.solvers.base import HEAVY, Run
from ldssc.solvers.newton import newton
from ldssc.solvers.records import State
from ldssc.solvers.splitting import CLASS_TEST, Splitting


def auto(run: Run) -> None:
    """Prove the closings of no multipliers at all, or of the start; go on by Newton where Z is light, else by splitting."""
    if run.start is None:
        zero = np.zeros_like(run.K)
        run.observe(State(np.zeros(len(run.K)), zero, zero), note="free exits (9) and (10)", force=True)
    iteration = Splitting(run)
    if run.problem.s is not None or run.problem.trace is not None:
        _split_on(run, iteration, "splitting: weights or trace are given")
    while iteration.k < (CLASS_TEST if run.start is None else 1):
        run.observe(iteration.step())
    if iteration.weight > HEAVY:
        _split_on(run, iteration, f"splitting: tr Z = {iteration.weight:.2g} n, too heavy for Newton")
    newton(run, iteration)


def _split_on(run: Run, iteration: Splitting, note: str) -> None:
    """By splitting alone, until the loop stops it."""
    run.observe(iteration.step(), note=note)
    while True:
        run.observe(iteration.step())
