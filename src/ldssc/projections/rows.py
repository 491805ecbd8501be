"""The rows: M = usᵀ + suᵀ, the centring PAP, and the shift that makes the rows right."""

from __future__ import annotations

import numpy as np

from ldssc.validation import Matrix, Vector


def ones_of(A: Matrix, s: Vector | None) -> Vector:
    """s, or the ones that it stands for."""
    return np.ones(len(A)) if s is None else s


def spread(u: Vector, s: Vector | None = None) -> Matrix:
    """M = usᵀ + suᵀ."""
    if s is None:
        return u[:, None] + u[None, :]
    M = u[:, None] * s[None, :]
    return np.asarray(M + M.T)


def center(A: Matrix, s: Vector | None = None) -> Matrix:
    """PAP, exactly symmetric for a symmetric A."""
    s = ones_of(A, s)
    mean = A @ s / (s @ s)
    return np.asarray(A - spread(mean - (s @ mean) / (2 * (s @ s)) * s, s))


def row_shift(A: Matrix, s: Vector | None = None) -> Vector:
    """The u with (A + usᵀ + suᵀ)s = s: the projection on {F = Fᵀ, Fs = s} is A + M."""
    s = ones_of(A, s)
    missing = (s - A @ s) / (s @ s)
    return np.asarray(missing - (s @ missing) / (2 * (s @ s)) * s)


def uniform(n: int, s: Vector | None = None) -> Matrix:
    """ssᵀ/‖s‖²: 11ᵀ/n where all points count once."""
    return np.full((n, n), 1 / n) if s is None else np.outer(s, s) / (s @ s)
