"""A feasible matrix from Z alone and its proof (12a), in a few arrays, without a decomposition; arrays of any namespace.

F = Π_D(K + Z) is doubly stochastic and complementary to its own Q = max(−(K + Z + M), 0), so that a = 0 and ⟨F, Q⟩ = 0 in
(12a) but for rounding. The lowest eigenvalue of F is bounded by a Cholesky factorisation, and made good by the identity (13).

Rounding is in the bound. Sums are double, and NumPy's are taken again in long double where that would be felt. No weights,
no trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ldssc.accurate import EPS, LONG_EPS
from ldssc.blocks import Rows, add_diagonal, row_blocks, shifted_rows
from ldssc.certificate import Certificate
from ldssc.projections.namespace import beside, namespace, norm
from ldssc.spectrum import lowest_eigenvalue_bound
from ldssc.validation import Matrix, Vector

_FELT = 1.001  # times the bound without rounding


@dataclass
class Closing:
    """F with its multipliers, and what they prove. Q is written out on demand, and follows from the rest where it is None.

    F is feasible to rounding, Z symmetric to the last bit, `missed` bounds ‖Z₋‖; `bound` is that of (12a) on ‖F − F*‖, which
    would be `exact` if nothing were rounded; `gap` is (11), `dual` is (3).
    """

    K: Matrix
    F: Matrix
    u: Vector
    Z: Matrix
    missed: float
    Q: Matrix | None = None
    bound: float = math.inf
    gap: float = math.inf
    dual: float = -math.inf
    exact: float = math.inf

    @property
    def distance(self) -> float:
        """The proven distance."""
        return self.bound / norm(self.F)

    def signs(self, rows: slice) -> Matrix:
        """Rows of Q."""
        if self.Q is not None:
            return self.Q[rows, :]
        G = shifted_rows(self.K, self.u, None, rows) + self.Z[rows, :]
        return namespace(G).maximum(-G, namespace(G).zeros_like(G))  # type: ignore[no-any-return]

    def write_signs(self) -> Matrix:
        """Q, written out."""
        Q: Matrix = namespace(self.F).empty_like(self.F)
        for rows in row_blocks(Q):
            Q[rows, :] = self.signs(rows)
        return Q

    def certificate(self) -> Certificate:
        """What was measured on F, and what it proves."""
        return Certificate(
            row_sum=norm_of_rows(self.F),
            negativity=max(0.0, -float(namespace(self.F).min(self.F))),
            indefiniteness=0.0,
            gap=self.gap,
            distance=self.distance,
        )


def close(K: Matrix, Z: Matrix, missed: float, u: Vector | None = None, low: Vector | None = None) -> Closing:
    """F = Π_D(K + Z), mended, with its bound; float64. `u` and `low`, the lowest eigenvector of F, are guesses."""
    xp = namespace(K)
    F = xp.empty_like(K)
    for rows in row_blocks(K):
        F[rows, :] = K[rows, :] + Z[rows, :]
    dual = Rows(F)
    u = dual.solve(u)
    dual.write(u)
    del dual
    mend(F, lowest_eigenvalue_bound(F, low))
    return proven(Closing(K, F, u, Z, missed))


def mend(F: Matrix, lowest: float) -> None:
    """Make F, doubly stochastic to rounding, feasible (13), in place; `lowest` bounds its eigenvalues from below."""
    xp = namespace(F)
    # what rounding and the last digits of the rows can take from the lowest eigenvalue
    spare = 8 * EPS * (1 + norm(F)) + 4 * norm_of_rows(F)
    if (shortfall := spare - lowest) > 0:
        t = shortfall / (1 + shortfall)
        for rows in row_blocks(F):
            F[rows, :] = (1 - t) * F[rows, :]
        add_diagonal(F, t * xp.ones(F.shape[0], **beside(F)))
    add_diagonal(F, -xp.minimum(row_excess(F), xp.linalg.diagonal(F)))


def row_excess(F: Matrix) -> Vector:
    """F1 − 1, correct to its own rounding: in long double, or by sums that carry their errors along."""
    xp = namespace(F)
    found = xp.zeros(F.shape[0], **(beside(F) | {"dtype": xp.float64}))
    for rows in row_blocks(F):
        if isinstance(F, np.ndarray):
            found[rows] = (F[rows, :].sum(axis=1, dtype=np.longdouble) - 1).astype(np.float64)
        else:
            found[rows] = _sums_less_one(_double(F[rows, :]))
    return found  # type: ignore[no-any-return]


def _sums_less_one(x: Matrix) -> Vector:
    """Row sums less one, folded in halves; the rounding of each addition is exact (Knuth) and summed beside."""
    xp = namespace(x)
    x = xp.concat([x, -xp.ones((x.shape[0], 1), **beside(x))], axis=1)
    errors = xp.zeros(x.shape[0], **beside(x))
    while (half := x.shape[1] // 2) > 0:
        a, b = x[:, :half], x[:, half : 2 * half]
        total = a + b
        part = total - a
        errors = errors + xp.sum((a - (total - part)) + (b - part), axis=1)
        x = xp.concat([total, x[:, 2 * half :]], axis=1)
    sums: Vector = x[:, 0] + errors
    return sums


def norm_of_rows(F: Matrix) -> float:
    """The largest |F1 − 1|."""
    xp = namespace(F)
    return float(xp.max(xp.abs(row_excess(F))))


def _wide(part: Any) -> Any:
    """In the longest type."""
    if isinstance(part, np.ndarray):
        return part.astype(np.longdouble)
    return _double(part)


def _double(part: Any) -> Any:
    return namespace(part).astype(part, namespace(part).float64, copy=False)


class _Sums(NamedTuple):
    """Over all entries: ‖F − G‖², what went into it, ⟨F, Q⟩, ⟨F, Z⟩, the sizes of their terms, off∘diag(Q), and (3)."""

    square: float
    reach: float
    signs: float
    kernel: float
    sizes: float
    charged: float
    dual: float


def _sums(closing: Closing, off: Vector, convert: Callable[[Any], Any]) -> _Sums:
    K, F, Z, xp = closing.K, closing.F, closing.Z, namespace(closing.F)
    u, total = convert(closing.u), [0.0] * 7
    for rows in row_blocks(F):
        Q_rows = closing.signs(rows)
        K_rows, Q, Z_rows, F_rows = (convert(part) for part in (K[rows, :], Q_rows, Z[rows, :], F[rows, :]))
        change = u[rows, None] + u[None, :] + Q + Z_rows
        FQ, FZ = F_rows * Q, F_rows * Z_rows
        found = (
            xp.sum((F_rows - (K_rows + change)) ** 2),
            xp.sum(K_rows**2) + xp.sum(Q**2) + xp.sum(Z_rows**2),
            xp.sum(FQ),
            xp.sum(FZ),
            xp.sum(FQ) + xp.sum(xp.abs(FZ)),
            xp.sum(off[rows] * xp.linalg.diagonal(Q_rows[:, rows])),
            -xp.sum(K_rows * change) - xp.sum(change**2) / 2,
        )
        total = [before + float(here) for before, here in zip(total, found, strict=True)]
    return _Sums(*total)


def proven(closing: Closing) -> Closing:
    """With gap (11), bound (12a) and dual value (3); `certificate.prove` has the reasoning.

    Sums are tried in double precision first, and repeated in the longest type where their rounding would be felt.
    """
    plain = _proven(closing, _double, EPS)
    if not isinstance(closing.F, np.ndarray) or plain.bound <= _FELT * plain.exact:
        return plain
    return _proven(closing, _wide, LONG_EPS)


def _proven(closing: Closing, convert: Callable[[Any], Any], eps: float) -> Closing:
    F, u, Z = closing.F, closing.u, closing.Z
    xp, n = namespace(F), F.shape[0]
    r = row_excess(F)
    # of a sum of n² products, relative to the sum of their sizes; sums of blocks are added up in double precision
    rounded = (8 + 2 * n) * eps + len(list(row_blocks(F))) * EPS
    off = xp.abs(r) + rounded
    sums = _sums(closing, off, convert)
    a, c = math.sqrt(sums.square), max(sums.signs, 0.0) + max(sums.kernel, 0.0)
    exact = (a + math.sqrt(a * a + 4 * c)) / 2
    a += rounded * (a + math.sqrt(sums.reach) + 2 * norm(u) * math.sqrt(n))
    # F − diag(r) has the right rows: it is the feasible matrix that the bound speaks of
    charged = sums.charged + float(xp.sum(off * xp.abs(xp.linalg.diagonal(Z))))
    c += (rounded + 2 * EPS) * sums.sizes
    c += (2 * abs(float(u @ r)) + charged) * (1 + n * EPS) + 2 * n * EPS * norm(u) * norm(r)
    # x² ≤ ax + c + ⟨F*, Z₋⟩ with ⟨F*, Z₋⟩ ≤ (‖F‖ + x)‖Z₋‖
    slope = a + norm(off) + closing.missed
    c += closing.missed * norm(F)
    bound = (slope + math.sqrt(slope * slope + 4 * c)) / 2 * (1 + 16 * EPS) + norm(off)
    dual = sums.dual + 2 * float(xp.sum(u))
    return replace(closing, bound=bound, gap=a * a / 2 + c, dual=dual, exact=exact)


def single(closing: Closing) -> tuple[Closing, Certificate]:
    """The answer rounded to single precision, and the certificate of just those arrays, by double precision."""
    xp = namespace(closing.F)
    F, u, Q, Z = (xp.astype(part, xp.float32) for part in (closing.F, closing.u, closing.write_signs(), closing.Z))
    missed = closing.missed + _apart(Z, closing.Z)
    # the double F is feasible and near: the bound is its, with the multipliers that are returned
    bound = proven(Closing(closing.K, closing.F, xp.astype(u, xp.float64), Z, missed, Q))
    moved = _apart(F, closing.F)
    size = norm(xp.astype(F, xp.float64))
    distance = (bound.bound + moved) * (1 + 8 * EPS) / size
    note = (
        f"in single precision, proven through a double-precision matrix at distance {moved:.1e}; "
        f"in double precision the distance was {closing.distance:.2e}"
    )
    certificate = Certificate(
        row_sum=norm_of_rows(F),
        negativity=max(0.0, -float(xp.min(F))),
        indefiniteness=max(0.0, -lowest_eigenvalue_bound(F)),
        gap=bound.gap,
        distance=distance,
        note=note,
    )
    return Closing(closing.K, F, u, Z, missed, Q, bound.bound, bound.gap, bound.dual), certificate


def _apart(A: Matrix, B: Matrix) -> float:
    """‖A − B‖, rounded up."""
    xp = namespace(A)
    square = sum(
        float(xp.sum((xp.astype(A[rows, :], xp.float64) - xp.astype(B[rows, :], xp.float64)) ** 2))
        for rows in row_blocks(A)
    )
    return math.sqrt(square) * (1 + 2 * int(A.shape[0]) * EPS)
