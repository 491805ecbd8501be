"""Diagonal scaling: the last digits of the rows."""

from __future__ import annotations

import numpy as np

from ldssc.accurate import EPS
from ldssc.projections.linear import conjugate_gradients
from ldssc.projections.namespace import ones_of
from ldssc.validation import Matrix, Vector


def balance(F: Matrix, s: Vector | None = None) -> Matrix:
    """diag(x) F diag(x) with rows s, for an F whose rows are nearly that: keeps signs, zeros and semidefiniteness.

    Newton on x: with x = 1 + d, (diag(s∘Fs) + diag(s)F diag(s))d = s∘(s − Fs) to first order.
    """
    weight = ones_of(F, s)
    for _ in range(4):
        rows = F @ weight
        if (off := float(np.abs(rows - weight).max())) <= 4 * EPS:
            break
        weighted = F if s is None else F * np.outer(weight, weight)
        d = conjugate_gradients(weighted.dot, weight * rows + EPS, weight * (weight - rows), 1e-6)
        if float(np.abs(d).max()) > 0.5:
            break  # not nearly right: leave it to the projection
        scaled = F * np.outer(1 + d, 1 + d)
        if float(np.abs(scaled @ weight - weight).max()) >= off:
            break  # on a bipartite support the system is singular, and its rounding may win
        F = scaled
    return F
