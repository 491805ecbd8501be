"""Projections on S+ and on the semidefinite matrices with given rows (5) and trace (20)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS
from ldssc.projections.eigen import Eigh, eigh, gram
from ldssc.projections.rows import center, row_shift, uniform
from ldssc.validation import Matrix, Vector


class Split(NamedTuple):
    """A = plus − minus with both semidefinite and orthogonal; `values` are the eigenvalues of A."""

    plus: Matrix
    minus: Matrix
    values: Vector


def split(A: Matrix, eigh: Eigh = eigh) -> Split:
    """The PSD parts A₊ (nearest semidefinite matrix to A) and (−A)₊, by one eigendecomposition."""
    w, U = eigh(A)
    noise = EPS * max(abs(w[0]), abs(w[-1]))
    if w[0] >= -noise:
        return Split(A.copy(), np.zeros_like(A), w)
    if w[-1] <= noise:
        return Split(np.zeros_like(A), -A, w)
    keep = w > 0
    if 2 * keep.sum() <= len(w):
        plus = gram(U[:, keep] * np.sqrt(w[keep]))
        minus = plus - A
    else:
        minus = gram(U[:, ~keep] * np.sqrt(-w[~keep]))
        plus = A + minus
    return Split(plus, minus, w)


class SemidefiniteProjection(NamedTuple):
    """(5), (20): F = A + M + Z + τI with F ⪰ 0, Fs = s, Z ⪰ 0, ⟨F, Z⟩ = 0."""

    F: Matrix
    u: Vector
    Z: Matrix
    tau: float


def project_semidefinite(
    A: Matrix, eigh: Eigh = eigh, s: Vector | None = None, trace: float | None = None
) -> SemidefiniteProjection:
    """The nearest matrix to A with Fs = s, F ⪰ 0: ssᵀ/‖s‖² + (PAP)₊ (5), and with tr F = trace the same of PAP + τI (20)."""
    n = len(A)
    if trace is None:
        parts = split(center(A, s), eigh)
        # Fs = s and Zs = 0 hold to rounding of A; centring again removes what the decomposition left
        plus, minus, tau = center(parts.plus, s), center(parts.minus, s), 0.0
    else:
        aside = uniform(n, s)
        far = 2 * (1 + float(la.norm(A)))
        w, U = eigh(center(A, s) - far * aside)  # s, the eigenvector to leave out, goes to the low end
        tau = -_threshold(w[1:], trace - 1)
        shifted = w[1:] + tau
        keep = shifted > 0
        plus = gram(U[:, 1:][:, keep] * np.sqrt(shifted[keep]))
        minus = gram(U[:, 1:][:, ~keep] * np.sqrt(-shifted[~keep]))
        plus, minus = center(plus, s), center(minus, s)
    F = plus + uniform(n, s)
    shift = row_shift(A if tau == 0 else A + tau * np.eye(n), s)
    return SemidefiniteProjection(F, shift, minus, tau)


def _threshold(w: Vector, total: float) -> float:
    """The θ with Σ (w − θ)₊ = total, for w ascending."""
    if not len(w):
        return 0.0
    sums = np.cumsum(w[::-1])
    thetas = (sums - total) / np.arange(1, len(w) + 1)
    count = int(np.flatnonzero(w[::-1] >= thetas)[-1])
    return float(thetas[count])
