"""Accelerated gradient with restart on the dual in which the needed PSD part has low rank: Z (7) or Q (5).

A zero diagonal is what makes Z heavy: where Π_D(A) leaves diagonal entries at zero, Z has to lift every one of them, and its
rank is about that of the identity, while F has low rank. So the Q dual is taken where more than a third of the diagonal is
clipped, and later where Z turns out to be heavy. Large matrices are worked on in single precision until that is exhausted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from ldssc.blocks import Rows
from ldssc.filtering import Filter, PositivePart
from ldssc.problem import Problem
from ldssc.projections import eigh, project_doubly_stochastic
from ldssc.projections.namespace import count, namespace
from ldssc.solvers.base import Halt, Run
from ldssc.solvers.duals import QDual, ZDual, no_factor
from ldssc.solvers.records import Status
from ldssc.solvers.sharpen import HEAVY
from ldssc.solvers.splitting import CLASS_TEST
from ldssc.spectrum import FAILURES
from ldssc.validation import Matrix, Vector

CLIPPED = 0.3  # of the diagonal of Π_D(A)
_SINGLE_ROWS = 600  # from so many rows on, single precision comes first
_SINGLE_UNTIL = 1e-3  # proven distance
_SINGLE_REACH = 1e4  # entries of A, beyond which single precision says nothing
_IDLE = 4  # proofs without gain, after which single precision is exhausted


def accelerated(run: Run, settings: Filter | None = None) -> None:
    """Until the loop stops it."""
    settings = Filter() if settings is None else settings
    descend(run, settings, *first_dual(run, settings), until=lambda: False)


def descend(run: Run, settings: Filter, dual: ZDual | QDual, note: str, until: Callable[[], bool]) -> ZDual | QDual:
    """Steps on a dual until it is enough, and the dual then."""
    proofs, gained, level = len(run.history), len(run.history), run.proven
    k = 0
    while True:
        try:
            dual.step()
        except FAILURES:
            raise Halt(Status.NONFINITE) from None
        k += 1
        if isinstance(dual, ZDual) and k == CLASS_TEST and dual.weight > HEAVY and run.problem.trace is None:
            note = f"Q dual: tr Z = {dual.weight:.2g} n"
            Q = run.problem.complete(dual.kernel().Z).Q
            dual = QDual(run.problem, PositivePart(run.sound_eigh, settings, run.tally), dual.single, Q)
            dual.step()
        run.observe(dual, note=note)
        if until():
            return dual
        note = ""
        if len(run.history) > proofs:
            proofs = len(run.history)
            if run.proven < 0.98 * level:
                level, gained = run.proven, proofs
        if dual.single and (run.proven < _SINGLE_UNTIL or proofs - gained >= _IDLE):
            dual, note = dual.double(), f"double precision from iteration {run.n_iter}"


def first_dual(run: Run, settings: Filter) -> tuple[ZDual | QDual, str]:
    """The dual to begin with, and why."""
    problem, part = run.problem, PositivePart(run.sound_eigh, settings, run.tally)
    A = problem.A
    single = A.shape[0] >= _SINGLE_ROWS and Rows(A).reach < _SINGLE_REACH
    if run.start is not None:
        u, Q, Z, _, tau, _ = run.start
        if float(namespace(Z).linalg.trace(Z)) > HEAVY * A.shape[0] and problem.trace is None:
            return QDual(
                problem, part, single, problem.complete(Z, u).Q if Q is None else Q
            ), "Q dual: Z is heavy at the start"
        return ZDual(problem, part, single, factor(Z), u, tau), "Z dual: from the start"
    if problem.trace is not None:
        return ZDual(problem, part, single, no_factor(A)), "Z dual: a trace is prescribed"
    u, clipped = clipped_diagonal(problem)
    if clipped > CLIPPED:
        xp = namespace(A)
        why = f"Q dual: Π_D(A) leaves {clipped:.0%} of the diagonal at zero, so that Z has no low rank"
        return QDual(problem, part, single, xp.zeros_like(A)), why
    return ZDual(problem, part, single, no_factor(A), u), f"Z dual: {clipped:.0%} of the diagonal of Π_D(A) are zero"


def clipped_diagonal(problem: Problem) -> tuple[Vector, float]:
    """The multiplier u of Π_D(A), and the share of its diagonal that is zero."""
    A, s = problem.A, problem.s
    xp, n = namespace(A), A.shape[0]
    u = Rows(A, s).solve(None, 1e-3) if n >= 300 else project_doubly_stochastic(A, None, s).u
    diagonal = xp.linalg.diagonal(A) + 2 * u * (1.0 if s is None else s)
    return u, count(diagonal <= 0) / n


def factor(Z: Matrix) -> Matrix:
    """V with VVᵀ = Z for a semidefinite Z: Cholesky with pivots where LAPACK is at hand, else its eigenvectors."""
    if isinstance(Z, np.ndarray):
        L, pivots, rank, _ = la.lapack.dpstrf(Z, lower=1)
        V = np.empty((len(Z), rank))
        V[pivots - 1] = np.tril(L)[:, :rank]
        return V
    xp = namespace(Z)
    w, U = eigh(Z)
    first = Z.shape[0] - count(w > 0)
    return U[:, first:] * xp.sqrt(w[first:])[None, :]
