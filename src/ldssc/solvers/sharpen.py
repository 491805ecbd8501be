"""When a proof is worth sharpening, and how: by landing on the face of F (12b) where Z is light, else by polishing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ldssc.face import land_point
from ldssc.problem import Point, Problem
from ldssc.projections import Eigh
from ldssc.solvers.polish import polish
from ldssc.validation import Matrix

HEAVY = 0.3  # tr Z / n, above which Z will have no low rank: zero diagonals, graphs without self-loops

_LANDING_RANGE = 20.0  # times tol: a landing is worth trying from here
_LANDING_BELOW = 2e-3  # ... but not before the support has settled
_LANDING_GAIN = 0.6  # ... and again when so much of the last distance is left
_POLISH_RANGE = 4.0  # times tol: a polished matrix may prove enough from here
_POLISH_GAIN = 0.75  # ... and again when so much of the last distance is left
_POLISH_AFTER = 200  # eigendecompositions, after which one is tried for the record; and after twice as many each time


class Sharpening:
    """What has been tried, so that nothing is tried again before there is reason to."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self._level, self._next = math.inf, _POLISH_AFTER

    def points(self, near: Point, iterate: Matrix | None, own: float, n_eig: int, eigh: Eigh) -> Iterator[Point]:
        """Feasible points that may prove more than `own`, which the solver's matrix proves with the multipliers of `near`.

        `near` is the best point for its Z, unmended.
        """
        if float(np.trace(near.Z)) > HEAVY * len(near.Z):
            if own < min(_POLISH_RANGE * self.tol, _POLISH_GAIN * self._level) or n_eig >= self._next:
                self._level, self._next = own, 2 * n_eig
                polished = polish(self.problem, near.F if iterate is None else iterate, eigh)
                yield near._replace(F=self.problem.make_feasible(polished))
        elif own < min(_LANDING_RANGE * self.tol, _LANDING_BELOW, _LANDING_GAIN * self._level):
            self._level = own
            yield from land_point(self.problem, near, eigh)

    def offer(self, points: Iterator[Point], own: float, take: Callable[[Point], float]) -> None:
        """Offer one after the other, as long as each proves less than half of the last and not yet enough."""
        last = own
        for point in points:
            if not self.tol < (now := take(point)) < last / 2:
                break
            last = now
