"""The free exits first, then the fastest solver there is.

(9)   if Π_D(A) is semidefinite it is the solution: the proof at Z = 0
(10)  if the projection (5) of A is nonnegative it is the solution: the proof at Q = 0
"""

from __future__ import annotations

import numpy as np

from ldssc.solvers.base import Run, State
from ldssc.solvers.splitting import splitting


def auto(run: Run) -> None:
    """Prove the two closings of no multipliers at all, or of the start; go on by splitting where neither is the solution."""
    if run.start is None:
        zero = np.zeros_like(run.K)
        run.observe(State(np.zeros(len(run.K)), zero, zero), note="free exits (9) and (10)", force=True)
    splitting(run)
