"""A matrix near an answer to (22) that violates nothing."""

from __future__ import annotations

import numpy as np

from ldssc.proofs.bounds import slices
from ldssc.validation import Matrix, Vector


def feasible_value(A: Matrix, factor: Matrix, s: Vector, k: int) -> float:
    """⟨A, Ĝ⟩ of a matrix Ĝ near G = `factor` `factor`ᵀ that is feasible in (22) up to rounding.

    Each negative entry −ν at (i, j) is met by ν(eᵢ + eⱼ)(eᵢ + eⱼ)ᵀ, which is semidefinite; the rows are made right again by
    diagonal scaling, the trace by mixing in ssᵀ/‖s‖² or I.
    """
    n = len(A)
    H = factor @ factor.T
    owed = np.zeros(n)
    for rows in slices(n):
        part = H[rows]
        owed[rows] = np.maximum(-part, 0).sum(axis=1)
        np.maximum(part, 0, out=part)
    H.flat[:: n + 1] += owed
    x = np.ones(n)
    for _ in range(100):
        have = x * (H @ (x * s)) / s
        if float(np.abs(have - 1).max()) < 1e-13:
            break
        x /= np.sqrt(have)
    values = np.array([x @ (H * A) @ x, np.sum(x * x * H.diagonal())])
    uniform = np.array([s @ A @ s / (s @ s), 1.0])
    identity = np.array([float(A.trace()), float(n)])
    excess = values[1] - k
    other = uniform if excess > 0 else identity
    t = excess / (values[1] - other[1]) if abs(excess) > 1e-12 * k else 0.0
    return float(((1 - t) * values + t * other)[0])
