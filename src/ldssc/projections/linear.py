"""Linear systems (diag(d) + S)v = b with S symmetric and nonnegative, its diagonal at most d."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from ldssc.validation import Matrix, Vector

_MOST_STEPS = 500


def conjugate_gradients(multiply: Callable[[Vector], Vector], diagonal: Vector, b: Vector, tolerance: float) -> Vector:
    """(diag(diagonal) + S)⁻¹b to a relative tolerance, preconditioned by the diagonal; v ↦ Sv is given. Any namespace."""
    enough = (tolerance**2) * float(b @ b)
    v, residual = 0 * b, b
    search = z = b / diagonal
    rho = float(b @ z)
    for _ in range(_MOST_STEPS):
        image = diagonal * search + multiply(search)
        curvature = float(search @ image)
        if not curvature > 0:
            break
        v = v + (rho / curvature) * search
        residual = residual - (rho / curvature) * image
        if float(residual @ residual) <= enough:
            break
        z = residual / diagonal
        before, rho = rho, float(residual @ z)
        search = z + (rho / before) * search
    return v


def cholesky_solver(J: Matrix) -> Callable[[Vector], Vector]:
    """b ↦ J⁻¹b by a factorisation of the semidefinite J, shifted by as little as rounding asks for. NumPy."""
    shift = 0.0
    while True:
        try:
            factor = la.cho_factor(J + shift * np.eye(len(J)) if shift else J, check_finite=False)
            return lambda b: np.asarray(la.cho_solve(factor, b, check_finite=False))
        except la.LinAlgError:
            shift = max(10 * shift, 1e-12 * float(J.diagonal().max()))
