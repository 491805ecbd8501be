"""The projection on the doubly stochastic matrices D (6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldssc.projections.dense import Dense
from ldssc.projections.newton import Multipliers, minimise
from ldssc.projections.screened import Screened
from ldssc.validation import Matrix, Vector

_SCREENED = 400  # rows, below which a pass over all of A costs nothing


class DoublyStochasticProjection(NamedTuple):
    """(6): F = max(A + usᵀ + suᵀ + τI, 0), and the multipliers u and τ. `steps` counts Newton steps."""

    F: Matrix
    u: Vector
    steps: int
    tau: float = 0.0


def project_doubly_stochastic(
    A: Matrix, u: Vector | None = None, s: Vector | None = None, trace: float | None = None, tau: float = 0.0
) -> DoublyStochasticProjection:
    """The nearest matrix to A with F = Fᵀ, Fs = s, F ≥ 0 (6), and tr F = trace if given, by semismooth Newton on its dual.

    Any namespace. A start may be given: u, and τ with it. The rows are right up to the rounding of A; `balance` takes care
    of the last digits.
    """
    dual = dual_of(A, s, trace)
    at, steps = minimise(dual, None if u is None else Multipliers(u, 0.0 if trace is None else tau))
    return DoublyStochasticProjection(dual.matrix(at), at.u, steps, at.tau)


def dual_of(A: Matrix, s: Vector | None, trace: float | None) -> Dense | Screened:
    """The dual of (6), in the form that suits the size and the kind of A."""
    screened = isinstance(A, np.ndarray) and len(A) > _SCREENED
    return Screened(A, s, trace) if screened else Dense(A, s, trace)
