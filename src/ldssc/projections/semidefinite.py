"""Projections on S+ and on the semidefinite matrices with given rows (5) and trace (20). Any namespace."""

from __future__ import annotations

from typing import NamedTuple

from ldssc.projections.eigen import Eigh, eigh, gram
from ldssc.projections.namespace import beside, count, eps_of, identity, namespace, norm
from ldssc.projections.rows import center, row_shift, uniform
from ldssc.validation import Matrix, Vector


class Split(NamedTuple):
    """A = plus − minus with both semidefinite and orthogonal; `values` are the eigenvalues of A."""

    plus: Matrix
    minus: Matrix
    values: Vector


def split(A: Matrix, eigh: Eigh = eigh) -> Split:
    """The PSD parts A₊ (nearest semidefinite matrix to A) and (−A)₊, by one eigendecomposition; any namespace."""
    xp = namespace(A)
    w, U = eigh(A)
    lowest, highest = float(w[0]), float(w[-1])
    noise = eps_of(A) * max(abs(lowest), abs(highest))
    if lowest >= -noise:
        return Split(xp.asarray(A, copy=True), xp.zeros_like(A), w)
    if highest <= noise:
        return Split(xp.zeros_like(A), -A, w)
    below = count(w <= 0)
    if 2 * below >= A.shape[0]:
        plus = gram(U[:, below:] * xp.sqrt(w[below:]))
        minus = plus - A
    else:
        minus = gram(U[:, :below] * xp.sqrt(-w[:below]))
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
    """The nearest matrix to A with Fs = s, F ⪰ 0: ssᵀ/‖s‖² + (PAP)₊ (5), and with tr F = trace the same of PAP + τI (20).

    Any namespace.
    """
    xp = namespace(A)
    aside = uniform(A.shape[0], s, A)
    if trace is None:
        parts = split(center(A, s), eigh)
        # Fs = s and Zs = 0 hold to rounding of A; centring again removes what the decomposition left
        plus, minus, tau = center(parts.plus, s), center(parts.minus, s), 0.0
    else:
        far = 2 * (1 + norm(A))
        w, U = eigh(center(A, s) - far * aside)  # s, the eigenvector to leave out, goes to the low end
        tau = -_threshold(w[1:], trace - 1)
        shifted = w[1:] + tau
        below = 1 + count(shifted <= 0)
        plus = gram(U[:, below:] * xp.sqrt(shifted[below - 1 :]))
        minus = gram(U[:, 1:below] * xp.sqrt(-shifted[: below - 1]))
        plus, minus = center(plus, s), center(minus, s)
    shift = row_shift(A if tau == 0 else A + tau * identity(A), s)
    return SemidefiniteProjection(plus + aside, shift, minus, tau)


def _threshold(w: Vector, total: float) -> float:
    """The θ with Σ (w − θ)₊ = total, for w ascending."""
    xp, n = namespace(w), w.shape[0]
    if n == 0:
        return 0.0
    falling = xp.flip(w)
    counts = xp.arange(1, n + 1, **beside(w))
    thetas = (xp.cumulative_sum(falling) - total) / counts
    above = xp.where(falling >= thetas, counts, xp.zeros_like(counts))
    return float(thetas[int(xp.max(above)) - 1])
