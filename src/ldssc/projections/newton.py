"""Semismooth Newton on the dual of (6), on vectors alone: the matrix stays behind `Dual`, dense, screened or sparse.

h(u, τ) = ½‖max(A + usᵀ + suᵀ + τI, 0)‖² − 2·level·sᵀu − level·τ·trace is convex; its gradient is 2(Fs − level·s) and
tr F − level·trace. The projection is at level 1; a large A, which is nearly an assignment problem, is approached through
higher levels: there the support is wide, and it changes little from one level to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ldssc.projections.namespace import eps_of, largest, namespace
from ldssc.validation import Vector

MAX_STEPS = 300
_PATIENCE = 100  # steps without a better gradient
_HIGH = 30.0  # entries of A + M at the first guess, beyond which it takes levels
_BETWEEN_LEVELS = 10.0
_SURELY = 16.0  # roundings of one: the sum of a row is not known better
_ROUGH = 1e-2  # of the level, where it is not the last


class Multipliers(NamedTuple):
    """Of the rows and of the trace."""

    u: Vector
    tau: float

    def along(self, direction: Multipliers, step: float) -> Multipliers:
        """This, and a step along a direction."""
        return Multipliers(self.u + step * direction.u, self.tau + step * direction.tau)


@dataclass(slots=True)
class Evaluation:
    """The gradient of h: what rows and trace miss; `where` is the dual's own record of the support of F.

    `size` is the largest of it, rows in units of their weight.
    """

    rows: Vector
    excess: float
    where: Any
    s: Vector | None = None
    size: float = 0.0

    def __post_init__(self) -> None:
        rows = largest(self.rows if self.s is None else self.rows / self.s)
        self.size = max(rows, abs(self.excess))

    def slope(self, direction: Multipliers) -> float:
        """Of h along a direction."""
        return 2 * float(self.rows @ direction.u) + self.excess * direction.tau


class Support(Protocol):
    """J = diag(count) + diag(s)S diag(s) with S the 0/1 support of F and count = S(s∘s); `on` is the diagonal of S."""

    count: Vector
    on: Vector

    def prepare(self, diagonal: Vector, tolerance: float) -> Callable[[Vector], Vector]:
        """b ↦ (diag(diagonal) + diag(s)S diag(s))⁻¹b."""
        ...


class Dual(Protocol):
    """h for one matrix; `reach` is the largest |A|, on the support that is allowed."""

    s: Vector | None
    weight: Vector
    trace: float | None
    reach: float

    def guess(self, level: float) -> Vector: ...
    def height(self, u: Vector) -> float: ...
    def evaluate(self, at: Multipliers, level: float) -> Evaluation: ...
    def support(self, now: Evaluation) -> Support: ...


def minimise(dual: Dual, start: Multipliers | None, enough: float = 0.0) -> tuple[Multipliers, int]:
    """The multipliers at which h is least, to the rounding of A or to `enough`, and how many Newton steps that took."""
    steps = 0
    at = start
    if at is None:
        at = Multipliers(dual.guess(1.0), 0.0)
        level = 1.0
        while dual.height(dual.guess(level)) > _HIGH * level:
            level *= _BETWEEN_LEVELS
        if level > 1:
            at = Multipliers(dual.guess(level), 0.0)
        while level > 1:
            at, more = _descend(dual, at, level, _ROUGH * level)
            steps, level = steps + more, level / _BETWEEN_LEVELS
    at, more = _descend(dual, at, 1.0, enough)
    return at, steps + more


def _descend(dual: Dual, at: Multipliers, level: float, enough: float) -> tuple[Multipliers, int]:
    """Newton's method at one level, until the gradient is at most `enough`, or as small as rounding lets it be."""
    now = dual.evaluate(at, level)
    eps, n = eps_of(at.u), at.u.shape[0]
    steps = idle = since = 0
    best = now.size
    while now.size > max(enough, _SURELY * eps) and steps < MAX_STEPS and idle < 3 and since < _PATIENCE:
        direction = _direction(dual, now, level)
        step, trial = _line_search(dual, at, direction, now, level)
        floor = 4 * eps * n**0.5 * (1 + dual.reach + largest(at.u))
        if now.size <= floor and trial.size > now.size / 2:
            break
        idle = idle + 1 if trial.size > 0.99 * now.size and step < 1e-6 else 0
        at, now = at.along(direction, step), trial
        steps += 1
        best, since = (now.size, 0) if now.size < 0.9 * best else (best, since + 1)
    return at, steps


def _direction(dual: Dual, now: Evaluation, level: float) -> Multipliers:
    """The Newton step in u and τ: Jv + cδ = −(Fs − s), 2cᵀv + mδ = −(tr F − trace).

    c = s on the diagonal entries of the support, m of them. J is singular for bipartite parts and empty rows, and shifted.
    """
    support = dual.support(now)
    xp, weight = namespace(now.rows), dual.weight
    size = now.size / level
    empty = weight * weight  # what a row without support would count with its diagonal entry
    shift = max(1e-8, 8 * eps_of(now.rows)) + min(1e-2, 1e-2 * size)
    diagonal = (1 + shift) * xp.maximum(support.count, empty)
    solve = support.prepare(diagonal, max(min(1e-2, size), eps_of(now.rows) ** (2 / 3)))
    v = solve(-now.rows)
    if dual.trace is None:
        return Multipliers(v, 0.0)
    c = support.on * dual.weight
    w = solve(c)
    m = float(xp.sum(support.on))
    schur = m - 2 * float(c @ w)
    delta = -(now.excess + 2 * float(c @ v)) / max(schur, shift * max(m, 1.0))
    return Multipliers(v - delta * w, delta)


def _line_search(
    dual: Dual, at: Multipliers, direction: Multipliers, start: Evaluation, level: float
) -> tuple[float, Evaluation]:
    """A step along a Newton direction, by the sign of the slope alone: values of h cancel where A is large.

    h is convex, so a slope of less than half the size is progress; one that is still steep asks for a longer step: where
    the support falls apart h is linear over long ways.
    """
    low, high, step = 0.0, float("inf"), 1.0
    slope = start.slope(direction)
    for _ in range(60):
        trial = dual.evaluate(at.along(direction, step), level)
        now = trial.slope(direction)
        if abs(now) <= 0.5 * abs(slope) or trial.size <= start.size / 2:
            break
        if now < 0:
            low = step
        else:
            high = step
        step = 4 * step if high == float("inf") else (low + high) / 2
    return step, trial
