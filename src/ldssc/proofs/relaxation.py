"""The trace-constrained linear limit (22), for any symmetric matrix.

    (22)  maximise ⟨A, G⟩ over G = Gᵀ, G ≥ 0, G ⪰ 0, Gs = s, tr G = k

Every partition into k groups is a point of this set. The value therefore bounds them all, and so does (24) for the multiplier
Q ≥ 0, whether or not anything has converged.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ldssc.certificate import pose
from ldssc.checkpoint import Checkpoint, terminable
from ldssc.problem import Problem
from ldssc.proofs.answers import Relaxation
from ldssc.proofs.loop import RelaxationRun, require_relaxation
from ldssc.solvers.records import Record
from ldssc.validation import check_count, check_limits


def relax(
    A: Any,
    n_clusters: int,
    *,
    weights: Any = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Record], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 60.0,
) -> Relaxation:
    """Maximise ⟨A, G⟩ over G ≥ 0, G ⪰ 0, G1 = 1, tr G = n_clusters (22), and bound it from above (24).

    Parameters
    ----------
    A : symmetric matrix, any sign; dense or SciPy sparse. Only its doubly centred part matters for G.
    n_clusters : the trace k.
    weights : how often each point counts (19); G is then for diag(√w)A diag(√w), with Gs = s, s = √w.
    tol : stop where |bound − value| ≤ tol·|value| and ‖max(−G, 0)‖ ≤ tol·‖G‖.
    max_iter, time_limit, callback, checkpoint, checkpoint_interval : as in `project`. A record's `distance` is the larger of
        the two numbers that `tol` bounds, its `dual` the lowest bound proven so far.

    Returns
    -------
    Relaxation : G (and F), multipliers, status, history, `tightness` (23) and the certificate, whose `bound` is rigorous.
    """
    tol, iterations, seconds = check_limits(tol, max_iter, time_limit, callback, checkpoint_interval)
    posed = pose(A, weights)
    k = check_count(n_clusters, "n_clusters", high=len(posed), high_name="the number of rows")
    require_relaxation(len(posed))
    problem = Problem(posed.A, posed.s, float(k), posed.unit)
    run = RelaxationRun(
        problem,
        tol,
        max_iter=iterations,
        time_limit=seconds,
        callback=callback,
    )
    if checkpoint is None:
        return run.solve()
    run.checkpoint = Checkpoint(checkpoint, problem, "relax", checkpoint_interval)
    run.resume(run.checkpoint.take())
    with terminable():
        return run.solve()
