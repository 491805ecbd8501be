"""One step of accelerated gradient with restart, on the Z dual (7) and on the Q dual (5); arrays of any namespace.

Momentum is forgotten whenever it points uphill (O'Donoghue and Candès). Of each matrix to decompose only the PSD part is
needed, see `spectrum.PositivePart`:

    (7)   Z ← (Y − F)₊,       F = Π_D(A + Y):                     the rank of Z counts
    (5)   Q ← max(Y − F, 0),  F = ssᵀ/‖s‖² + (P(A + Y)P)₊:        the rank of F counts

A step works in the precision of its A; what it hands over for a proof is double.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from ldssc.accurate import EPS
from ldssc.blocks import Rows, add_diagonal, add_product, row_blocks, symmetrise
from ldssc.filtering import PositivePart
from ldssc.problem import Problem
from ldssc.projections import center, project_doubly_stochastic
from ldssc.projections.namespace import beside, namespace, norm, ones_of
from ldssc.solvers.records import State
from ldssc.spectrum import lowest_eigenvalue_bound
from ldssc.validation import Matrix, Vector

_IN_PLACE = 300  # rows, from which Π_D is computed in place
_ENOUGH = 1e-3  # of the last change of Z, what rows may miss
_MATTERS = 0.3  # of the violation so far: a smaller eigenvalue may be missing from a PSD part
_MATTERS_Q = 0.02


class Kernel(NamedTuple):
    """What a proof starts from, in double precision: Z with a bound on ‖Z₋‖, and guesses."""

    Z: Matrix
    missed: float
    u: Vector | None
    tau: float
    low: Vector | None


class Dual:
    """What the two have in common. `problem` is in double precision, A a copy of its matrix in the precision of the steps."""

    name = ""

    def __init__(self, problem: Problem, part: PositivePart, single: bool) -> None:
        xp = namespace(problem.A)
        self.problem, self.part, self.single = problem, part, single
        self.A: Matrix = xp.astype(problem.A, xp.float32 if single else xp.float64, copy=False)
        self.s = None if problem.s is None else xp.astype(problem.s, self.A.dtype)
        self.t = 1.0

    def _momentum(self, uphill: bool) -> float:
        """β of the next extrapolation: Nesterov's sequence, none after a restart."""
        t = 1.0 if uphill else self.t
        self.t = (1 + math.sqrt(1 + 4 * t * t)) / 2
        return (t - 1) / self.t

    def step(self) -> None:
        raise NotImplementedError

    def kernel(self) -> Kernel:
        raise NotImplementedError

    def state(self) -> State:
        """Z and u, written out; Q follows from them."""
        Z, _, u, tau, _ = self.kernel()
        if u is None:
            _, u, _, tau = project_doubly_stochastic(self.problem.A + Z, None, self.problem.s, self.problem.trace)
        return State(u, None, Z, tau=tau)


class ZDual(Dual):
    """(7). Z = VVᵀ, Y = Z + β(Z − the Z before), both in factors."""

    name = "Z"

    def __init__(
        self, problem: Problem, part: PositivePart, single: bool, V: Matrix, u: Vector | None = None, tau: float = 0.0
    ) -> None:
        super().__init__(problem, part, single)
        xp = namespace(self.A)
        self.V = self.before = xp.astype(V, self.A.dtype)
        self.u = None if u is None else xp.astype(u, self.A.dtype)
        self.tau, self.beta, self.change, self.estimate = tau, 0.0, 1.0, math.inf
        self.low: Vector | None = None
        self.in_place = self.A.shape[0] >= _IN_PLACE and problem.trace is None
        self.B: Matrix = xp.empty_like(self.A)
        self.S: Matrix | None = xp.empty_like(self.A, dtype=xp.float32) if self.in_place else None

    def step(self) -> None:
        """Z ← (Y − Π_D(A + Y))₊, and the next Y."""
        xp = namespace(self.A)
        right = xp.concat([self.V, self.before], axis=1)
        left = xp.concat([(1 + self.beta) * self.V, -self.beta * self.before], axis=1)
        F = self._project(left, right)
        Z = self.part(self.A, lambda X: left @ (right.T @ X) - F @ X, lambda: _symmetric(left @ right.T - F))
        new = Z.V
        one, two, three = as_double(new), as_double(self.V), as_double(self.before)  # differences cancel
        own, old, cross = _inner(one, one), _inner(two, two), _inner(one, two)
        # ⟨Y − new, new − Z⟩
        along = (1 + self.beta) * (cross - old) - (own - cross)
        along -= self.beta * (_inner(three, one) - _inner(three, two))
        self.change = math.sqrt(max(own - 2 * cross + old, 0.0))
        self._estimate(F, Z.E, Z.w, left, right)
        self.beta = self._momentum(along > 0)
        self.before, self.V = self.V, new

    def _project(self, left: Matrix, right: Matrix) -> Matrix:
        """F = Π_D(A + Y), Y = left rightᵀ."""
        problem = self.problem
        add_product(self.A, left, right, self.B)
        if not self.in_place:
            F, self.u, _, self.tau = project_doubly_stochastic(
                _symmetric(self.B), self.u, self.s, problem.trace, self.tau
            )
            return F
        dual = Rows(self.B, self.s, self.S)
        self.u = dual.solve(self.u, min(1e-3, _ENOUGH * self.change))
        return dual.write(self.u)

    def _estimate(self, F: Matrix, E: Matrix, w: Vector, left: Matrix, right: Matrix) -> None:
        """The distance that a proof might show, from the Ritz values of F on the range of Z: it says when to try one."""
        if E.shape[1] == 0:
            self.estimate = 0.0
            return
        xp = namespace(E)
        values = xp.linalg.diagonal((E.T @ left) @ (right.T @ E)) - w
        lowest = min(float(xp.min(values)), 0.0)
        c = -lowest * float(xp.sum(w)) + abs(float(xp.sum(w * values)))
        self.estimate = math.sqrt(c) / norm(F)
        self.low = E @ xp.exp((lowest - values) / max(-lowest, 1e-30))  # mostly the lowest
        if lowest < 0:
            self.part.cutoff = -_MATTERS * lowest

    def kernel(self) -> Kernel:
        """Z = VVᵀ, whose rounding is bounded."""
        V, xp = as_double(self.V), namespace(self.V)
        Z = xp.empty_like(self.problem.A)
        for rows in row_blocks(Z):
            Z[rows, :] = V[rows, :] @ V.T
        symmetrise(Z)
        missed = 2 * (V.shape[1] + 2) * EPS * norm(V) ** 2
        u = None if self.u is None else as_double(self.u)
        return Kernel(Z, missed, u, self.tau, None if self.low is None else as_double(self.low))

    def keep(self) -> Callable[[], Kernel]:
        """The kernel of now, to be written out later."""
        frozen = copy(self)
        del frozen.B, frozen.S, frozen.A
        return frozen.kernel

    def finite(self) -> bool:
        """Whether the last step was."""
        return math.isfinite(self.change) and math.isfinite(self.t)

    def double(self) -> ZDual:
        """The same in double precision."""
        self.part.forget()
        return ZDual(self.problem, self.part, False, self.V, self.u, self.tau)

    @property
    def weight(self) -> float:
        """tr Z / n."""
        return norm(self.V) ** 2 / len(self.problem)

    @property
    def rank(self) -> int:
        """Of Z."""
        return int(self.V.shape[1])


class QDual(Dual):
    """(5). B = A + Y and Q are written out; of F, the factor."""

    name = "Q"

    def __init__(self, problem: Problem, part: PositivePart, single: bool, Q: Matrix) -> None:
        super().__init__(problem, part, single)
        xp = namespace(self.A)
        self.Q: Matrix = xp.astype(Q, self.A.dtype, copy=True)
        self.B: Matrix = self.A + self.Q
        weight = ones_of(self.A, self.s)
        self.unit = weight / norm(weight)
        self.rank, self.violation, self._along = 0, math.inf, 0.0

    def step(self) -> None:
        """Q ← max(Y − F, 0), and the next A + Y."""
        A, B, Q, xp = self.A, self.B, self.Q, namespace(self.A)
        V = self._factor(lambda X: B @ X, lambda: B)
        L = xp.concat([V, self.unit[:, None]], axis=1)
        self.rank = int(V.shape[1])
        along = violation = 0.0
        for rows in row_blocks(A):
            F = L[rows, :] @ L.T
            Y = B[rows, :] - A[rows, :]
            new = xp.maximum(Y - F, xp.zeros_like(F))
            violation += float(xp.sum(xp.minimum(F, xp.zeros_like(F)) ** 2))
            along += float(xp.sum((Y - new) * (new - Q[rows, :])))
            B[rows, :] = new
        beta = self._momentum(along > 0)
        for rows in row_blocks(A):
            new = B[rows, :]
            step = new - Q[rows, :]
            Q[rows, :] = new
            B[rows, :] = A[rows, :] + (new + beta * step)
        self._along, self.violation = along, math.sqrt(violation)
        self.part.cutoff = max(_MATTERS_Q * self.violation, 1e-12)

    def _factor(self, multiply: Callable[[Matrix], Matrix], dense: Callable[[], Matrix]) -> Matrix:
        """V with VVᵀ = (PBP)₊."""
        unit = self.unit

        def compressed(X: Matrix) -> Matrix:
            X = X - unit[:, None] * (unit @ X)[None, :]
            Y = multiply(X)
            return Y - unit[:, None] * (unit @ Y)[None, :]

        return self.part(self.A, compressed, lambda: _symmetric(center(dense(), self.s))).V

    def _at_q(self) -> Matrix:
        """V with VVᵀ = (P(A + Q)P)₊, at Q itself."""
        return self._factor(lambda X: self.A @ X + self.Q @ X, lambda: self.A + self.Q)

    def kernel(self) -> Kernel:
        """Z = (−P(A + Q)P)₊."""
        return _complement(self.problem, self.Q, self._at_q())

    def keep(self) -> Callable[[], Kernel]:
        """The kernel of now, to be written out later."""
        Q, V = namespace(self.Q).asarray(self.Q, copy=True), self._at_q()
        return lambda: _complement(self.problem, Q, V)

    def finite(self) -> bool:
        """Whether the last step was."""
        return math.isfinite(self._along) and math.isfinite(self.violation)

    def double(self) -> QDual:
        """The same in double precision."""
        self.part.forget()
        return QDual(self.problem, self.part, False, self.Q)


def _complement(problem: Problem, Q: Matrix, V: Matrix) -> Kernel:
    """Z = VVᵀ − P(A + Q)P for a VVᵀ near (P(A + Q)P)₊; what that leaves below zero is lifted by a multiple of I."""
    A, s, V = problem.A, problem.s, as_double(V)
    xp = namespace(A)
    Z = xp.empty_like(A)
    for rows in row_blocks(Z):
        Z[rows, :] = A[rows, :] + as_double(Q[rows, :])
    weight = ones_of(A, s)
    size = float(weight @ weight)
    mean = Z @ weight / size
    mean = mean - float(weight @ mean) / (2 * size) * weight
    for rows in row_blocks(Z):
        centre = mean[rows, None] * weight[None, :] + weight[rows, None] * mean[None, :]
        Z[rows, :] = V[rows, :] @ V.T - Z[rows, :] + centre
    symmetrise(Z)
    lift = max(0.0, -lowest_eigenvalue_bound(Z)) * (1 + 4 * EPS)
    add_diagonal(Z, xp.full_like(mean, lift))
    lifted = 4 * EPS * norm(Z)  # adding it is rounded
    return Kernel(Z, lifted, None, 0.0, None)


def _inner(V: Matrix, W: Matrix) -> float:
    """⟨VVᵀ, WWᵀ⟩."""
    return norm(V.T @ W) ** 2 if V.shape[1] and W.shape[1] else 0.0


def _symmetric(B: Matrix) -> Matrix:
    return (B + B.T) / 2


def as_double(B: Any) -> Any:
    """In float64; the same array where it is."""
    xp = namespace(B)
    return xp.astype(B, xp.float64, copy=False)


def no_factor(like: Matrix) -> Matrix:
    """V with no columns: Z = 0."""
    return namespace(like).zeros((like.shape[0], 0), **beside(like))  # type: ignore[no-any-return]
