"""The one loop of all solvers: it stops, records, proves, and keeps the best answer. A solver only steps.

A solver is a function of a `Run`. It asks the run for eigendecompositions, hands it a `State` after every iteration, and
returns when it can go no further. Stopping reaches it as an exception that it does not catch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as la

from ldssc.certificate import Certificate, certify_point, prove, rough_bound, weigh
from ldssc.problem import Point, Problem, eigenvalue_margin
from ldssc.projections import Split, Tally, counting, eigh, split
from ldssc.solvers.records import Progress, Record, Result, Sketch, State, Status
from ldssc.solvers.sharpen import Sharpening
from ldssc.spectrum import FAILURES
from ldssc.threads import threads_for
from ldssc.validation import Matrix, Vector

if TYPE_CHECKING:
    from ldssc.checkpoint import Checkpoint

_PROOF_COST = 2  # eigendecompositions in one proof
_PROOF_SHARE = 0.15  # of all work, at most, once a run is long
_PATIENCE = 2  # times as long to wait for a proof that would not suffice, as far as the solver can tell
_FAR, _FAR_SHARE = 100.0, 0.4  # beyond so many times tol a proof is for the record only
_STALL_SHARE = 0.5  # no 2 % of progress in so much of the run is a stall
_STALL_LEAST = 400  # ... nor in less than so many eigendecompositions
_STALL_ITERATIONS = 100  # ... and iterations


class Halt(Exception):
    """Raised by the loop to end a solver, wherever it is."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.sentence)
        self.status = status


@dataclass
class Run:
    """One solve of (1): the problem, the rules for stopping, and what has been found."""

    problem: Problem
    tol: float
    max_iter: float = math.inf
    time_limit: float = math.inf
    callback: Callable[[Record], object] | None = None
    prove_at_end: bool = False
    start: State | None = None
    checkpoint: Checkpoint | None = None
    n_iter: int = 0
    n_inner: int = 0
    tally: Tally = field(default_factory=Tally)
    lbfgs_memory: int | None = None
    lbfgs_bytes: int | None = None
    history: list[Record] = field(default_factory=list)
    certificate: Certificate | None = None
    _best: Point | None = None
    _answer: Matrix | None = None
    _distance: float = math.inf
    _state: State | Sketch | None = None
    _unproven: bool = False
    _last_proof: int = 0
    _own: float = math.inf
    _notes: list[str] = field(default_factory=list)
    _last_gain: tuple[int, int, float] = (0, 0, math.inf)
    _ending: bool = False
    _optimism: float = 2.0  # proven distance / the solver's estimate of it, at the last proof
    _start: float = field(default_factory=time.perf_counter)
    _sharpening: Sharpening = field(init=False)

    def __post_init__(self) -> None:
        self._sharpening = Sharpening(self.problem, self.tol)

    @property
    def K(self) -> Matrix:
        """The matrix to project, weighted (19)."""
        return self.problem.A

    @property
    def n_eig(self) -> int:
        """Eigendecompositions so far."""
        return self.tally.n_eig

    @property
    def proven(self) -> float:
        """The best proven distance so far."""
        return self._distance

    @property
    def _written(self) -> State:
        """The last state; a sketch is written out here. If that fails, the best takes its place."""
        assert self._state is not None
        if isinstance(self._state, State):
            return self._state
        sketch, self._state = self._state, self._fallback()
        try:
            state = sketch.state()
        except FAILURES:
            raise Halt(Status.NONFINITE) from None
        if not all(np.isfinite(part).all() for part in state[:3] if part is not None):
            raise Halt(Status.NONFINITE)
        self._state = state
        return state

    def _fallback(self) -> State:
        """The best so far as a state, or no multipliers at all."""
        if self._best is None:
            zero = np.zeros_like(self.K)
            return State(np.zeros(len(self.K)), zero, zero)
        F, u, Q, Z, tau = self._best
        return State(u, Q, Z, F, tau)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._start

    @property
    def seconds_left(self) -> float:
        """Until the time limit."""
        return self.time_limit - self.seconds

    def eigh(self, A: Matrix, /) -> tuple[Vector, Matrix]:
        """An eigendecomposition for a solver; the time limit is looked at here, where the time goes."""
        if self.seconds > self.time_limit:
            raise Halt(Status.TIME_LIMIT)
        return self.sound_eigh(A)

    def sound_eigh(self, A: Matrix, /) -> tuple[Vector, Matrix]:
        """An eigendecomposition of finite numbers into finite numbers."""
        if not np.isfinite(A).all():
            raise Halt(Status.NONFINITE)
        try:
            w, U = eigh(A)
        except la.LinAlgError:
            raise Halt(Status.NONFINITE) from None
        if not (np.isfinite(w).all() and np.isfinite(U).all()):
            raise Halt(Status.NONFINITE)
        return w, U

    def split(self, A: Matrix) -> Split:
        """A₊ and (−A)₊."""
        return split(A, self.eigh)

    def resume(self, progress: Progress | None) -> None:
        """Take up what an earlier run has left, if any. The time limit is for what follows, all counts go on."""
        if progress is None:
            return
        self.start = self._state = progress.state
        self.history = list(progress.history)
        self.n_iter, self.n_inner, self.tally.n_eig = progress.n_iter, progress.n_inner, progress.n_eig
        self._last_gain = progress.gain
        self._last_proof = self.history[-1].n_eig if self.history else 0
        self._unproven = not self.history or self.history[-1].iteration < self.n_iter
        self._start -= progress.seconds
        self.time_limit += progress.seconds
        if progress.best is not None:
            self.offer(progress.best)

    def save(self, *, now: bool = False) -> None:
        """Write the checkpoint, where there is one and it is due."""
        if self.checkpoint is None or self._state is None or not (now or self.checkpoint.due()):
            return
        counts = self.n_iter, self.n_inner, self.n_eig
        try:
            state = self._written
        except Halt:
            state = self._fallback()
        found = Progress(self._best, state, tuple(self.history), *counts, self.seconds, self._last_gain)
        self.checkpoint.write(found)

    def begin(self) -> None:
        """What is there to go on from may suffice."""
        if self.n_iter > 0:
            if self._distance <= self.tol and self._certify().distance <= self.tol:
                raise Halt(Status.SOLVED)
            if self.n_iter >= self.max_iter:
                raise Halt(Status.MAX_ITER)
        elif self.start is not None:
            self._state, self._unproven = self.start._replace(Q=None, iterate=None), True
            self._notes.append("warm start")
            self._judge(self._prove())

    def observe(self, state: State | Sketch, *, note: str = "", force: bool = False) -> None:
        """Take a solver's state after an iteration: prove it when due, and stop where a rule says so.

        A note goes into the record of the next proof.
        """
        if isinstance(state, State):
            finite = all(np.isfinite(part).all() for part in state[:3] if part is not None)
        else:
            finite = state.finite()
        if not finite:
            raise Halt(Status.NONFINITE)
        self._state, self._unproven = state, True
        self.n_iter += 1
        if note:
            self._notes.append(note)
        if force or self._due():
            self._judge(self._prove())
        self.save()
        if self.n_iter >= self.max_iter:
            raise Halt(Status.MAX_ITER)
        if self.seconds > self.time_limit:
            raise Halt(Status.TIME_LIMIT)

    @property
    def _estimate(self) -> float:
        """What the solver thinks that a proof would show; zero where it has no idea."""
        return float(getattr(self._state, "estimate", 0.0))

    def _due(self) -> bool:
        since = self.n_eig - self._last_proof
        patience = _PATIENCE if self._estimate * self._optimism > self.tol else 1
        share = _PROOF_SHARE if self._distance < _FAR * self.tol and patience == 1 else _FAR_SHARE
        return not self.prove_at_end and since >= max(2 * patience * _PROOF_COST, share * self.n_eig)

    def _prove(self) -> Record:
        """Close the state (13), (13a), keep the best proof, and record it.

        A solver on the D side hands over no Q: its own matrix, or the best one for its Z, is mended. Others are closed on
        both sides; any feasible matrix goes with any multipliers.
        """
        estimate = self._estimate
        u, Q, Z, iterate, tau, _ = self._written
        problem = self.problem
        near = problem.complete(Z, u, tau)
        if Q is None:
            mine = problem.make_feasible(near.F if iterate is None else iterate)
            best = near._replace(F=mine)
        else:
            closed = [near._replace(F=problem.make_feasible(near.F))]
            self.offer(closed[0])  # needs no eigenvectors: there is an answer even where they fail
            closed.append(problem.close_semidefinite(Q, self.sound_eigh))
            matrices = [point.F for point in closed]
            if iterate is not None and not self._ending:
                matrices.append(problem.make_feasible(iterate))
            pairs = [point._replace(F=F) for point in closed for F in matrices]
            best = min(pairs, key=lambda pair: rough_bound(problem, pair))
        own = self.offer(best)
        if 0 < estimate < math.inf:
            self._optimism = own / estimate
        self._unproven = False
        self._own = min(self._own, own)
        self._sharpen(near, own)
        if self._distance <= self.tol:  # so far the multipliers were taken at their word
            self._distance = self._certify().distance
        return self._record()

    def _sharpen(self, near: Point, own: float) -> None:
        """Offer sharper proofs where they could suffice; `own` is what the solver's own point proves."""
        if self.tol < self._distance and self.seconds < self.time_limit:
            iterate = self._written.iterate
            points = self._sharpening.points(near, iterate, own, self.n_eig, self.sound_eigh)
            self._sharpening.offer(points, own, self.offer)

    def _record(self) -> Record:
        assert self._best is not None
        self._last_proof = self.n_eig
        dual = self.problem.dual_value(*self._best[1:])
        record = Record(self.n_iter, self.n_eig, self.seconds, self._distance, dual, "; ".join(self._notes))
        self._notes.clear()
        self.history.append(record)
        return record

    def offer(self, point: Point) -> float:
        """Keep a feasible point if it proves more than the best so far; the distance that it proves."""
        _, bound = prove(self.problem, point, eigenvalue_margin(len(point.Z)) * float(la.norm(point.Z)))
        distance = bound / float(la.norm(point.F))
        if distance < self._distance:
            self._best, self._distance = point, distance
        return distance

    def _judge(self, record: Record) -> None:
        """Stop where the proof suffices, on request, and where nothing is gained any more."""
        wants_stop = bool(self.callback(record)) if self.callback is not None else False
        if self._distance <= self.tol:
            raise Halt(Status.SOLVED)
        if wants_stop:
            raise Halt(Status.STOPPED)
        n_iter, n_eig, level = self._last_gain
        if self._own < 0.98 * level:  # a landing is no progress of the solver
            self._last_gain = (self.n_iter, self.n_eig, self._own)
        elif self.n_iter - n_iter > _STALL_ITERATIONS and self.n_eig - n_eig > max(
            _STALL_LEAST, _STALL_SHARE * self.n_eig
        ):
            raise Halt(Status.STALLED)

    def _certify(self) -> Certificate:
        """The proof on the very arrays that are returned: with weights, on the G that follows from F (19)."""
        assert self._best is not None
        root = self.problem.root
        self._answer = weigh(self._best.F, None if root is None else 1 / root)
        self._best = self._best._replace(F=weigh(self._answer, root))
        self.certificate = certify_point(self.problem, self._best, [])
        return self.certificate

    def last_proof(self) -> None:
        """Prove the last state, whatever ended the run; where that fails, what was proven before stands."""
        self._ending = True
        if self._state is None:
            self._state, self._unproven = self._fallback(), True
        if self._unproven or not self.history:
            try:
                record = self._prove()
            except Halt:
                record = self._record() if self._best is not None else self._prove()
            if self.callback is not None:
                self.callback(record)

    def _iterate(self) -> Matrix:
        """The solver's own last matrix."""
        u, Q, Z, iterate, tau, _ = self._written
        if iterate is not None:
            return iterate
        return self.problem.complete(Z, u, tau).F if Q is None else self.problem.recover(u, Q, Z, tau)

    def account(self) -> dict[str, Any]:
        """What every result says of its run."""
        return {
            "history": tuple(self.history),
            "tol": self.tol,
            "n_iter": self.n_iter,
            "n_inner": self.n_inner,
            "n_eig": self.n_eig,
            "n_products": self.tally.products,
            "seconds": self.seconds,
        }

    def result(self, status: Status, solver: str) -> Result:
        """The best answer so far, with its proof."""
        if status is not Status.SOLVED or self.certificate is None:
            status = Status.SOLVED if self._certify().distance <= self.tol else status
        assert self._best is not None
        assert self.certificate is not None
        assert self._answer is not None
        return Result(
            self._answer,
            self._best.u / self.problem.unit,
            self._best.Q,
            self._best.Z,
            tau=self._best.tau,
            s=self.problem.root,
            iterate=self._iterate(),
            status=status,
            certificate=self.certificate,
            solver=solver,
            **self.account(),
            lbfgs_memory=self.lbfgs_memory,
            lbfgs_bytes=self.lbfgs_bytes,
        )


Solver = Callable[[Run], None]


def solve(run: Run, solver: Solver, name: str) -> Result:
    """Run a solver to its end, whatever that is, and return the best answer with its proof."""
    with counting(run.tally), threads_for(len(run.problem)):
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                run.begin()
                solver(run)
            status = Status.STALLED
        except Halt as halt:
            status = halt.status
        except KeyboardInterrupt:
            status = Status.STOPPED
        while True:
            try:
                if status is Status.STOPPED:
                    run.save(now=True)  # whoever sends signals may not wait for the proof
                if status is not Status.SOLVED:
                    run.last_proof()
                result = run.result(status, name)
                run.save(now=True)
                return result
            except KeyboardInterrupt:  # nothing found is lost: the proof is begun again, without the caller
                status, run.callback = Status.STOPPED, None
