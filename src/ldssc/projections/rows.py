"""The rows: M = usᵀ + suᵀ, the centring PAP, and the shift that makes the rows right. Any namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldssc.projections.namespace import beside, namespace, ones_of
from ldssc.validation import Matrix, Vector


def spread(u: Vector, s: Vector | None = None) -> Matrix:
    """M = usᵀ + suᵀ; any namespace."""
    if s is None:
        return u[:, None] + u[None, :]
    M = u[:, None] * s[None, :]
    return M + M.T


def center(A: Matrix, s: Vector | None = None) -> Matrix:
    """PAP, exactly symmetric for a symmetric A; any namespace."""
    s = ones_of(A, s)
    mean = A @ s / (s @ s)
    centered: Matrix = A - spread(mean - (s @ mean) / (2 * (s @ s)) * s, s)
    return centered


def row_shift(A: Matrix, s: Vector | None = None, level: float = 1.0) -> Vector:
    """The u with (A + usᵀ + suᵀ)s = level·s: the projection on {F = Fᵀ, Fs = s} is A + M; any namespace."""
    s = ones_of(A, s)
    missing = (level * s - A @ s) / (s @ s)
    shift: Vector = missing - (s @ missing) / (2 * (s @ s)) * s
    return shift


def uniform(n: int, s: Vector | None = None, like: Any = None) -> Matrix:
    """ssᵀ/‖s‖²: 11ᵀ/n where all points count once. Any namespace: that of s, or of `like`."""
    if s is None:
        if like is None:
            return np.full((n, n), 1 / n)
        full: Matrix = namespace(like).full((n, n), 1 / n, **beside(like))
        return full
    product: Matrix = s[:, None] * s[None, :] / (s @ s)
    return product
