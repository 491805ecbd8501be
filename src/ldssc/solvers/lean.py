"""The loop for large matrices, for arrays of other libraries, and for single precision.

Proofs are those of `closing`: in few arrays, without eigendecompositions, on the device of the arrays. No weights, no trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ldssc.accurate import EPS
from ldssc.blocks import add_diagonal
from ldssc.certificate import Certificate
from ldssc.closing import Closing, close, single
from ldssc.problem import Point
from ldssc.projections.eigen import eigh
from ldssc.projections.namespace import beside, namespace, norm
from ldssc.solvers.base import Halt, Run
from ldssc.solvers.duals import Kernel
from ldssc.solvers.records import Progress, Record, Result, State, Status
from ldssc.spectrum import FAILURES, lowest_eigenvalue_bound
from ldssc.validation import Matrix, Vector

_PROOF_SHARE = 0.25  # of the iterations, after which the next proof is due
_FIRST_PROOF = 8
_PROOF_WORK = 0.15  # of an eigendecomposition: two factorisations, some products


class Provable(Protocol):
    """A sketch that knows what a proof starts from, now and, if it is kept, later."""

    def kernel(self) -> Kernel: ...
    def keep(self) -> Callable[[], Kernel]: ...


class Given:
    """A Z from elsewhere, lifted where it is not semidefinite."""

    estimate = math.inf

    def __init__(self, Z: Matrix, u: Vector | None = None) -> None:
        self.Z, self.u = Z, u

    def kernel(self) -> Kernel:
        """Z, and what its lifting rounds."""
        xp, Z = namespace(self.Z), self.Z
        if (lift := -lowest_eigenvalue_bound(Z)) > 0:
            Z = xp.asarray(Z, copy=True)
            add_diagonal(Z, lift * xp.ones(Z.shape[0], **beside(Z)))
        return Kernel(Z, 4 * EPS * norm(Z), self.u, 0.0, None)

    def keep(self) -> Callable[[], Kernel]:
        """The same later."""
        return self.kernel


@dataclass
class LeanRun(Run):
    """`Run` for solvers whose sketches are `Provable`; `in_single` asks for an answer in single precision."""

    in_single: bool = False
    _kept: Callable[[], Kernel] | None = None
    _closing: Closing | None = None
    _dual: float = -math.inf
    _u: Vector | None = None
    _proven_at: int = 0

    def sound_eigh(self, A: Matrix, /) -> tuple[Vector, Matrix]:
        """An eigendecomposition of finite numbers into finite numbers."""
        xp = namespace(A)
        try:
            w, U = eigh(A)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise Halt(Status.NONFINITE) from None
        if not bool(xp.all(xp.isfinite(w))):
            raise Halt(Status.NONFINITE)
        return w, U

    def resume(self, progress: Progress | None) -> None:
        """Take up what an earlier run has left, if any."""
        best = None if progress is None else progress.best
        super().resume(None if progress is None else progress._replace(best=None))
        if best is not None:
            self._take(Given(best.Z, best.u))
        self._proven_at = self.n_iter

    def begin(self) -> None:
        """What is there to go on from may suffice."""
        if self.n_iter == 0 and self.start is not None:
            self._state, self._unproven = Given(self.start.Z, self.start.u), True  # type: ignore[assignment]
            self._notes.append("warm start")
            self._judge(self._prove())
        elif self.n_iter > 0:
            super().begin()

    def save(self, *, now: bool = False) -> None:
        """Write the checkpoint, where there is one and it is due: the best, which is also where to go on from."""
        if self.checkpoint is None or not (now or self.checkpoint.due()):
            return
        found = self._best_closing()
        if found is None:
            return
        best = Point(found.F, found.u, found.write_signs(), found.Z)
        counts = self.n_iter, self.n_inner, self.n_eig
        state = State(best.u, best.Q, best.Z)
        self.checkpoint.write(Progress(best, state, tuple(self.history), *counts, self.seconds, self._last_gain))

    def _due(self) -> bool:
        if self.prove_at_end:
            return False
        since = self.n_iter - self._proven_at
        hopeful = 0 < self._estimate * self._optimism <= self.tol and since >= 2
        return hopeful or since >= max(_FIRST_PROOF, _PROOF_SHARE * self.n_iter)

    def _prove(self) -> Record:
        """Close the kernel of the state, keep it if it is the best, and record it."""
        self._unproven, self._proven_at = False, self.n_iter
        state: Any = self._state
        estimate = self._estimate
        own = self._take(state if state is not None else Given(0 * self.problem.A))
        if 0 < estimate < math.inf:
            self._optimism = own / estimate
        self._own = min(self._own, own)
        return self._record()

    def _take(self, sketch: Provable) -> float:
        """Prove a sketch, and keep it if it is the best."""
        try:
            closing = self._close(sketch.kernel())
        except FAILURES:
            raise Halt(Status.NONFINITE) from None
        distance = self._certificate_of(closing).distance
        if distance < self._distance or (self._kept is None and self._closing is None):
            self._distance, self._dual = distance, closing.dual
            ends = distance <= self.tol or self._ending
            self._closing, self._kept = (closing, None) if ends else (None, sketch.keep())
        return distance

    def _close(self, kernel: Kernel) -> Closing:
        if not math.isfinite(norm(kernel.Z)):
            raise Halt(Status.NONFINITE)
        u = self._u if kernel.u is None else kernel.u
        closing = close(self.problem.A, kernel.Z, kernel.missed, u, kernel.low)
        if not math.isfinite(closing.bound):
            raise Halt(Status.NONFINITE)
        self._u = closing.u
        self.tally.add(_PROOF_WORK)
        return closing

    def _certificate_of(self, closing: Closing) -> Certificate:
        """That of the arrays that would be returned."""
        return single(closing)[1] if self.in_single else closing.certificate()

    def _best_closing(self) -> Closing | None:
        if self._closing is None and self._kept is not None:
            return self._close(self._kept())
        return self._closing

    def _certify(self) -> Certificate:
        self._closing = self._best_closing()
        assert self._closing is not None
        return self._certificate_of(self._closing)

    def _record(self) -> Record:
        self._last_proof = self.n_eig
        record = Record(self.n_iter, self.n_eig, self.seconds, self._distance, self._dual, "; ".join(self._notes))
        self._notes.clear()
        self.history.append(record)
        return record

    def last_proof(self) -> None:
        """Prove the last state, whatever ended the run; where that fails, what was proven before stands."""
        self._ending = True
        if not self._unproven and self.history:
            return
        try:
            record = self._prove()
        except Halt:
            if self._best_closing() is None:
                self._take(Given(0 * self.problem.A))
            record = self._record()
        if self.callback is not None:
            self.callback(record)

    def result(self, status: Status, solver: str) -> Result:
        """The best answer so far, with its proof."""
        self._state = None  # what the solver holds is not needed any more
        closing = self._best_closing()
        assert closing is not None
        self._closing, self._kept = closing, None
        certificate = closing.certificate()
        if self.in_single:
            closing, certificate = single(closing)
        if certificate.distance <= self.tol:
            status = Status.SOLVED
        return Result(
            closing.F,
            closing.u,
            closing.write_signs(),
            closing.Z,
            iterate=closing.F,
            status=status,
            certificate=certificate,
            solver=solver,
            **self.account(),
        )
