"""The loop of all solvers with the proof of (22) in it: a bound (24), a value, and what the negative entries come to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as la

from ldssc.memory import require_memory
from ldssc.projections import counting, row_shift
from ldssc.proofs.answers import Relaxation, RelaxationCertificate
from ldssc.proofs.bounds import partition_bound
from ldssc.proofs.repair import feasible_value
from ldssc.proofs.rounding import Codes, fit_multiplier, group_sums, improve, membership, round_factor, targets
from ldssc.proofs.splitting import Splitting
from ldssc.proofs.subspace import Pairs, Subspace, all_pairs
from ldssc.solvers.base import Halt, Run
from ldssc.solvers.records import Record, State, Status
from ldssc.threads import threads_for
from ldssc.validation import Matrix, Vector

ARRAYS = 10  # of n² doubles, at the peak
_PROOF_EVERY, _MEASURE_EVERY = 20, 10
_ALL_PAIRS = 350  # rows, up to which a proof takes all eigenpairs
_SHARP = 1e-5  # residual of the eigenpairs of a proof elsewhere
_NEARLY = 0.97  # tightness from which the nearest partition is looked at
_NEAR, _EXACT = (
    0.05,
    1e-8,
)  # gaps, relative to the value, at which to close in on a partition, and to take it for the answer


@dataclass
class RelaxationRun(Run):
    """One solve of (22)."""

    #: round G at every proof, not only where it is nearly a partition
    rounding: bool = False
    #: of (bound, value of the best partition met): whether that will do
    enough: Callable[[float, float], bool] | None = None
    bound: float = math.inf
    best_labels: Codes | None = None
    best_value: float = -math.inf
    exact: bool = False
    _at: Splitting | None = None
    _Q: Matrix | None = None
    _theta: float = 0.0
    _pairs: Subspace | None = field(default=None, repr=False)

    @property
    def k(self) -> int:
        """The trace."""
        return int(self.problem.trace or 1)

    def solve(self) -> Relaxation:
        """Run to the end, whatever that is, and return what has been proven."""
        status = Status.STALLED
        with counting(self.tally), threads_for(len(self.problem)):
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    self._advance(self._begin())
            except Halt as halt:
                status = halt.status
            except KeyboardInterrupt:
                status = Status.STOPPED
            while True:
                try:
                    return self._end(status)
                except KeyboardInterrupt:  # nothing found is lost: the proof is begun again, without the caller
                    status, self.callback = Status.STOPPED, None

    def save(self, *, now: bool = False) -> None:
        """Write the checkpoint, where there is one: N stands in the place of Z, the weight ρ in that of σ."""
        if self.checkpoint is not None and self._at is not None and (now or self.checkpoint.due()):
            N = np.maximum(self._at.V, 0)
            self._state = State(np.zeros(len(N)), self._at.Q, np.maximum(N, N.T), sigma=self._at.rho)
            super().save(now=True)

    def _begin(self) -> Splitting:
        A, s, state = self.problem.A, self.problem.weight, self.start
        if state is None or state.sigma is None or state.Q is None:
            at = self._at = Splitting.start(A, s, self.k)
            at.spectral()
        else:
            at = self._at = Splitting.start(A, s, self.k, state.Z - state.Q / state.sigma, state.sigma)
            at.step()
        self._unproven = True
        return at

    def _advance(self, at: Splitting) -> None:
        if self.n_iter or self.k == 1 or self.k >= len(self.problem) - 1:  # begun before, or next to nothing to find
            self._judge(self._proof())
        while self.n_iter < self.max_iter:
            at.step(measure=self.n_iter % _MEASURE_EVERY == 0)
            self.n_iter += 1
            self.tally.n_eig += 1
            self._unproven = True
            if not np.isfinite(at.L).all():
                raise Halt(Status.NONFINITE)
            if self.n_iter % _PROOF_EVERY == 0:
                self._judge(self._proof())
            self.save()
            if self.seconds > self.time_limit:
                raise Halt(Status.TIME_LIMIT)
        raise Halt(Status.MAX_ITER)

    def _end(self, status: Status) -> Relaxation:
        if status is Status.STOPPED:
            self.save(now=True)  # whoever sends signals may not wait for the proof
        at = self._begin() if self._at is None else self._at
        if not np.isfinite(at.L).all():
            at.spectral()
        if self._unproven or not self.history:
            record = self._proof()
            if self.callback is not None:
                self.callback(record)
        self.save(now=True)
        return self._relaxed(at, Status.SOLVED if self._distance <= self.tol else status)

    def _proof(self) -> Record:
        """The bound for the present Q, and how far the present G is from it."""
        at, s = self._at, self.problem.s
        assert at is not None
        at.rest()
        Q = at.Q
        C = self.problem.A + Q
        pairs = self._leading(C, at)
        bound = partition_bound(C, self.k, s, pairs, overwrite=True)
        if bound < self.bound:
            self._take(bound, Q, pairs)
        del C
        size = at.norm()
        if self.rounding or size**2 > _NEARLY * self.k:
            self._round(at)
        gap = abs(self.bound - self._value(at.factor())) / self._scale(self.bound)
        self._distance = 0.0 if self.exact else max(gap, at.negativity()[0] / size)
        self._own = min(self._own, self._distance)
        self._unproven = False
        record = Record(self.n_iter, self.n_eig, self.seconds, self._distance, self.bound, "; ".join(self._notes))
        self._notes.clear()
        self.history.append(record)
        if self.enough is not None and self.enough(self.bound, self.best_value):
            self._distance = 0.0
        return record

    def _take(self, bound: float, Q: Matrix, pairs: Pairs) -> None:
        self.bound, self._Q = bound, Q
        self._theta = float(pairs.values[min(self.k, len(pairs.values)) - 1]) if len(pairs.values) else 0.0

    def _leading(self, C: Matrix, at: Splitting) -> Pairs:
        """The leading eigenpairs of PCP: as many are nearly equal as G has rank, and the block must hold them all."""
        if len(C) <= _ALL_PAIRS:
            return all_pairs(C, self.problem.weight)
        if self._pairs is None:
            self._pairs = Subspace(self.problem.weight)
        count = max(self.k, at.L.shape[1] + 1) + 1
        return self._pairs.leading(C, lambda _: count, _SHARP)

    def _value(self, factor: Matrix) -> float:
        """⟨A, G⟩."""
        return float(np.einsum("ij,ij->", self.problem.A @ factor, factor))

    def _scale(self, value: float) -> float:
        """What a gap is relative to: the value, or what rounding leaves of it."""
        return max(abs(value), 1e-12 * float(la.norm(self.problem.A)), float(np.finfo(np.float64).tiny))

    def _round(self, at: Splitting) -> None:
        """The nearest partition, improved; where it closes the gap, it is the answer."""
        codes = round_factor(at.factor(), at.s, self.k)
        if codes is not None:
            codes, value = improve(lambda S: self.problem.A @ S, codes, at.s)
            if value > self.best_value:
                self.best_labels, self.best_value = codes, value
        if self.best_labels is None:
            return
        if _EXACT < (self.bound - self.best_value) / self._scale(self.best_value) < _NEAR:
            self._close(at, self.best_labels)
        self.exact = self.bound - self.best_value <= _EXACT * self._scale(self.best_value)

    def _close(self, at: Splitting, codes: Codes) -> None:
        """A multiplier near Q that belongs to the partition (25), and its bound."""
        A, s = self.problem.A, at.s
        W = membership(codes, s)
        sums = group_sums(A @ (W * np.sqrt(np.bincount(codes, s * s))), codes, s)
        for theta in (self._theta, 1.01 * self._theta):
            assert self._Q is not None
            near = fit_multiplier(self._Q, targets(sums, codes, s, theta), codes, s)
            C = A + near
            pairs = self._leading(C, at)
            bound = partition_bound(C, self.k, self.problem.s, pairs, overwrite=True)
            if bound < self.bound:
                self._take(bound, near, pairs)

    def _relaxed(self, at: Splitting, status: Status) -> Relaxation:
        problem, s = self.problem, at.s
        labels = self.best_labels if self.exact else None
        factor = at.factor() if labels is None else membership(labels, s)
        assert self._Q is not None
        # Z = θP − P(A + Q)P
        u = row_shift(problem.A + self._Q, problem.s) + (self._theta - 1) * s / (2 * float(s @ s))
        return Relaxation(
            factor=factor,
            u=u / problem.unit,
            Q=self._Q,
            tau=-self._theta,
            s=problem.root,
            n_clusters=self.k,
            status=status,
            certificate=self._certificate(at, factor),
            history=tuple(self.history),
            tol=self.tol,
            n_iter=self.n_iter,
            n_eig=self.n_eig,
            seconds=self.seconds,
            labels=labels,
            A=problem.A,
        )

    def _certificate(self, at: Splitting, factor: Matrix) -> RelaxationCertificate:
        norm, lowest = (0.0, 0.0) if self.exact else at.negativity()
        s = at.s
        return RelaxationCertificate(
            row_sum=float(np.abs((factor @ (factor.T @ s) - s) / s).max()),
            negativity=lowest,
            indefiniteness=0.0,
            trace=abs(float(np.sum(factor * factor)) - self.k),
            violation=norm / float(la.norm(factor.T @ factor)),
            value=self._value(factor),
            feasible_value=self._feasible(factor, s),
            bound=self.bound,
        )

    def _feasible(self, factor: Matrix, s: Vector) -> float:
        """The better of two feasible matrices: G repaired, and the best partition near it."""
        if self.exact:
            return self._value(factor)
        if self.best_labels is None and (codes := round_factor(factor, s, self.k)) is not None:
            self.best_labels, self.best_value = improve(lambda S: self.problem.A @ S, codes, s)
        return max(feasible_value(self.problem.A, factor, s, self.k), self.best_value)


def require_relaxation(n: int) -> None:
    """Refuse what does not fit, and say what does."""
    require_memory(8.0 * ARRAYS * n**2, f"the relaxation (22) of {n} points", "use fewer points, or a sample of them")
