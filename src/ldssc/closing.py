"""A feasible matrix from Z alone and its proof (12a), in a few arrays, without a decomposition; arrays of any namespace.

F = Π_D(A + Z) is doubly stochastic and complementary to its own Q = max(−(A + Z + M), 0), so that a = 0 and ⟨F, Q⟩ = 0 in
(12a) but for rounding. The lowest eigenvalue of F is bounded by a Cholesky factorisation, and made good by the identity (13).

Sums are taken in the longest type that there is: NumPy's long double; elsewhere float64, whose rounding is then in the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldssc.accurate import EPS, LONG_EPS
from ldssc.blocks import Rows, add_diagonal, row_blocks, shifted_rows
from ldssc.certificate import Certificate
from ldssc.problem import Problem
from ldssc.projections.namespace import namespace, norm, ones_of
from ldssc.spectrum import lowest_eigenvalue_bound
from ldssc.validation import Matrix, Vector


@dataclass
class Closing:
    """F feasible to rounding, with u and Z ⪰ 0 (symmetric to the last bit); Q follows from them.

    `missed` is what Z may miss of being semidefinite, in ‖Z₋‖. All is float64. Weights are as in `Problem`.
    """

    problem: Problem
    F: Matrix
    u: Vector
    Z: Matrix
    missed: float
    bound: float = math.inf
    gap: float = math.inf

    @property
    def distance(self) -> float:
        """The proven distance."""
        return self.bound / norm(self.F)

    def signs(self, rows: slice) -> Matrix:
        """Rows of Q."""
        G = shifted_rows(self.problem.A, self.u, self.problem.s, rows) + self.Z[rows, :]
        return namespace(G).maximum(-G, namespace(G).zeros_like(G))  # type: ignore[no-any-return]

    def write_signs(self) -> Matrix:
        """Q, written out."""
        Q = namespace(self.F).empty_like(self.F)
        for rows in row_blocks(Q):
            Q[rows, :] = self.signs(rows)
        return Q


def close(problem: Problem, Z: Matrix, u: Vector | None, missed: float, low: Vector | None = None) -> Closing:
    """F = Π_D(A + Z), mended, with its bound. `low` is a guess at the lowest eigenvector of F."""
    A, s = problem.A, problem.s
    xp = namespace(A)
    B = xp.empty_like(A)
    for rows in row_blocks(A):
        B[rows, :] = A[rows, :] + Z[rows, :]
    S = xp.empty_like(A, dtype=xp.float32)
    dual = Rows(B, s, S)
    u = dual.solve(u)
    dual.write(u)
    del S, dual
    mend(B, s, lowest_eigenvalue_bound(B, low))
    closing = Closing(problem, B, u, Z, missed)
    closing.gap, closing.bound = prove(closing)
    return closing


def mend(F: Matrix, s: Vector | None, lowest: float) -> None:
    """Make F, doubly stochastic to rounding, feasible (13), in place; `lowest` bounds its eigenvalues from below."""
    xp = namespace(F)
    weight = ones_of(F, s)
    excess = row_excess(F, s) / weight
    # what rounding and the last digits of the rows can take from the lowest eigenvalue
    spare = 8 * EPS * (1 + norm(F)) + 4 * float(xp.max(xp.abs(excess)))
    shortfall = spare - lowest
    if shortfall > 0:
        t = shortfall / (1 + shortfall)
        for rows in row_blocks(F):
            F[rows, :] = (1 - t) * F[rows, :]
        add_diagonal(F, xp.full_like(excess, t))
    diagonal = xp.linalg.diagonal(F)
    correction = xp.minimum(row_excess(F, s) / weight, diagonal)
    add_diagonal(F, -correction)


def row_excess(F: Matrix, s: Vector | None) -> Vector:
    """Fs − s in the longest type, rounded to F's."""
    xp, wide = namespace(F), _wide(F)
    weight = wide(ones_of(F, s))
    found = xp.empty_like(F[:, 0])
    for rows in row_blocks(F):
        F_rows = wide(F[rows, :])
        sums = xp.sum(F_rows, axis=1) if s is None else F_rows @ weight
        found[rows] = xp.astype(sums - weight[rows], F.dtype)
    return found


def _wide(like: Matrix) -> Any:
    if isinstance(like, np.ndarray):
        return lambda part: part.astype(np.longdouble)
    return lambda part: part


def _eps(like: Matrix) -> float:
    return LONG_EPS if isinstance(like, np.ndarray) else EPS


def prove(closing: Closing) -> tuple[float, float]:
    """The gap (11) and the bound (12a) on ‖F − F*‖, as `certificate.prove` has them, in one pass over the arrays."""
    problem, F, u, Z = closing.problem, closing.F, closing.u, closing.Z
    A, s = problem.A, problem.s
    xp, wide, n = namespace(F), _wide(F), F.shape[0]
    weight = ones_of(F, s)
    square = reach = signs = kernel = sizes = charged = 0.0
    r = row_excess(F, s)
    rounded = (4 + 2 * n) * _eps(F)  # of a sum of n² products, relative to the sum of their sizes
    off = xp.abs(r / weight) + rounded
    for rows in row_blocks(F):
        Q_rows = closing.signs(rows)
        M, Q, Z_rows, F_rows = (
            wide(part) for part in (shifted_rows(A, u, s, rows), Q_rows, Z[rows, :], F[rows, :])
        )
        G = M + Q + Z_rows
        square += float(xp.sum((F_rows - G) ** 2))
        reach += float(xp.sum(M**2) + xp.sum(A[rows, :] ** 2) + xp.sum(Q**2) + xp.sum(Z_rows**2))
        signs += float(xp.sum(F_rows * Q))
        kernel += float(xp.sum(F_rows * Z_rows))
        sizes += float(xp.sum(xp.abs(F_rows * Q)) + xp.sum(xp.abs(F_rows * Z_rows)))
        here = xp.reshape(xp.linalg.diagonal(Q_rows[:, rows]), (-1,))
        charged += float(xp.sum(off[rows] * here))
    charged += float(xp.sum(off * xp.abs(xp.linalg.diagonal(Z))))
    u_size = norm(u) * norm(weight)
    a = math.sqrt(square)
    # M was summed in float64: two roundings an entry
    a += rounded * (a + math.sqrt(reach) + 2 * u_size) + 4 * EPS * (math.sqrt(reach) + 2 * u_size)
    missed_rows = norm(off)
    c = max(signs, 0.0) + max(kernel, 0.0) + (rounded + 4 * EPS) * sizes
    c += 2 * abs(float(u @ r)) + 4 * n * EPS * norm(u) * norm(r) + charged * (1 + 4 * n * EPS)
    slope = a + missed_rows + closing.missed
    c += closing.missed * norm(F)
    if s is not None:
        missed_rows += 4 * EPS * norm(A)  # A itself is rounded, and projections do not expand
    return a * a / 2 + c, (slope + math.sqrt(slope * slope + 4 * c)) / 2 * (1 + 8 * EPS) + missed_rows


def certificate_of(closing: Closing) -> Certificate:
    """What was measured on F, and what it proves."""
    F, s = closing.F, closing.problem.s
    xp = namespace(F)
    excess = row_excess(F, s) / ones_of(F, s)
    return Certificate(
        row_sum=float(xp.max(xp.abs(excess))),
        negativity=max(0.0, -float(xp.min(F))),
        indefiniteness=0.0,
        gap=closing.gap,
        distance=closing.distance,
    )
