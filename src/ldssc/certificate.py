"""The proof that comes with every answer: how far a matrix can be from the exact solution of (1).

For F feasible and any multipliers, with G = K + M + Q + Z, a = ‖F − G‖ and c = ⟨F, Q⟩ + ⟨F, Z⟩:

    (11)   gap = ½a² + c
    (12a)  ‖F − F*‖ ≤ (a + √(a² + 4c)) / 2

Rounding is part of it: sums are taken in the longest type and bounded, what the rows miss enters c, and so does what Z
misses of being semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from ldssc.accurate import inner, row_excess, stationarity
from ldssc.exceptions import InputError
from ldssc.problem import Point, eigenvalue_margin, lowest_eigenvalue, make_feasible
from ldssc.projections import EPS, gram, project_doubly_stochastic, project_semidefinite, split, spread
from ldssc.validation import Matrix, Vector, as_matrix, check_affinity, check_finite, check_square

_ROWS = 1e-12  # rows further off than this are repaired before anything is proven
_FIT_STEPS = 200


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was measured on a matrix F, and what that proves.

    `distance` is a proven upper bound on ‖F − F*‖ / ‖F‖, F* the exact solution. The others are largest row-sum error,
    size of the lowest negative entry, size of the lowest negative eigenvalue, and duality gap (11).
    """

    row_sum: float
    negativity: float
    indefiniteness: float
    gap: float
    distance: float
    note: str = ""

    def __str__(self) -> str:
        return (
            f"proven within {self.distance:.2e} of the exact matrix (relative Frobenius distance); rows sum to one "
            f"within {self.row_sum:.1e}, no entry below {-self.negativity + 0.0:.1e}, no eigenvalue below "
            f"{-self.indefiniteness + 0.0:.1e}, duality gap {self.gap:.2e}" + (f"; {self.note}" if self.note else "")
        )


def certify(F: Any, K: Any, u: Any = None, Q: Any = None, Z: Any = None) -> Certificate:
    """Prove how near F is to the solution of (1) for K, by (12a); for any F, from any tool.

    An F that is not feasible is repaired first and the repair's length is added to the distance. A Q or Z that is no
    multiplier is made one. Multipliers that are missing are found: exactly where only one of Q and Z is missing,
    and from the face on which F lies where both are; `note` says what was done.
    """
    K = check_affinity(K)
    F = _same_shape(F, K, "F")
    notes: list[str] = []
    u, Q, Z = _multipliers(F, K, u, Q, Z, notes)
    lowest = lowest_eigenvalue(F)
    feasible = F
    if not _is_feasible(F, lowest):
        feasible = make_feasible(F, lowest)
        notes.append(f"F is not feasible: proven for a repaired matrix at distance {la.norm(F - feasible):.1e}")
    gap, bound = prove(Point(feasible, u, Q, Z), K, indefiniteness_of(Z))
    size = float(la.norm(F))
    moved = 0.0 if feasible is F else float(la.norm(F - feasible)) * (1 + 8 * EPS)
    return Certificate(
        row_sum=float(np.abs(row_excess(F)).max()),
        negativity=max(0.0, -float(F.min())),
        indefiniteness=max(0.0, -lowest),
        gap=gap,
        distance=(bound + moved) / size if size > 0 else float("inf"),
        note="; ".join(notes),
    )


def prove(point: Point, K: Matrix, indefiniteness: float) -> tuple[float, float]:
    """The gap (11) and the bound (12a) on ‖F − F*‖, for a feasible F; `indefiniteness` bounds ‖Z₋‖."""
    F, u, Q, Z = point
    r = row_excess(F)
    a, a_rounding = stationarity(F, K, u, Q, Z)
    (signs, signs_rounding), (kernel, kernel_rounding) = inner(F, Q), inner(F, Z)
    # F − diag(r) has unit rows: it is the feasible matrix that the bound speaks of
    miss = float(la.norm(r))
    on_diagonal = float(np.abs(r) @ (Q.diagonal() + np.abs(Z.diagonal())))
    c = max(signs, 0.0) + max(kernel, 0.0) + signs_rounding + kernel_rounding + 2 * abs(float(u @ r)) + on_diagonal
    # x² ≤ ax + c + ⟨F*, Z₋⟩ with ⟨F*, Z₋⟩ ≤ (‖F‖ + x)‖Z₋‖
    slope = a + a_rounding + miss + indefiniteness
    c_all = c + indefiniteness * float(la.norm(F))
    return a * a / 2 + c, (slope + float(np.sqrt(slope * slope + 4 * c_all))) / 2 + miss


def indefiniteness_of(Z: Matrix) -> float:
    """A bound on ‖Z₋‖, the negative part of Z: as computed, and what the computation may have missed."""
    size = float(la.norm(Z))
    if size == 0:
        return 0.0
    w = la.eigvalsh(Z, driver="evd", check_finite=False)
    return float(la.norm(np.minimum(w, 0))) + 8 * EPS * size


def _is_feasible(F: Matrix, lowest: float) -> bool:
    off = float(np.abs(row_excess(F)).max())
    return bool(F.min() >= 0 and off <= _ROWS and lowest >= eigenvalue_margin(len(F)) + off)


def _same_shape(value: Any, K: Matrix, name: str) -> Matrix:
    A = check_square(as_matrix(value, name), name)
    if A.shape != K.shape:
        raise InputError(f"{name} has shape {A.shape} and K has {K.shape}; they must be equal")
    return np.asarray((A + A.T) / 2)


def _multipliers(F: Matrix, K: Matrix, u: Any, Q: Any, Z: Any, notes: list[str]) -> tuple[Vector, Matrix, Matrix]:
    """Valid multipliers from what was given: Q ≥ 0, Z ⪰ 0, the missing ones found."""
    if u is not None:
        u = np.array(u, dtype=np.float64)
        if u.shape != (len(K),):
            raise InputError(f"u must hold one number a row, {len(K)} in all, and has shape {u.shape}")
        check_finite(u, "u")
    if Q is not None:
        Q = _same_shape(Q, K, "Q")
        if Q.min() < 0:
            notes.append(f"Q had entries down to {Q.min():.1e}, set to zero")
            Q = np.maximum(Q, 0)
    if Z is not None:
        Z = _same_shape(Z, K, "Z")
        if la.eigvalsh(Z)[0] < -1e-10 * (
            la.norm(K) + la.norm(Z)
        ):  # less than that is rounding, and priced in the bound
            Z = split(Z).plus
            notes.append("Z was not positive semidefinite: replaced by its semidefinite part")
    if Q is None and Z is None:
        notes.append("Q and Z found from the face of F")
        Z = _fit_kernel(F, K)
    if Q is None:
        _, u, _ = project_doubly_stochastic(K + Z)
        Q = np.maximum(-(K + Z + spread(u)), 0)
        notes.append("u and Q are the best ones for Z")
    elif Z is None:
        _, u, Z = project_semidefinite(K + Q)
        Z = split(Z).plus
        notes.append("u and Z are the best ones for Q")
    elif u is None:
        rest = (F - K - Q - Z).sum(axis=1)
        u = (rest - rest.sum() / (2 * len(K))) / len(K)
        notes.append("u fitted by least squares")
    return u, Q, Z


def _fit_kernel(F: Matrix, K: Matrix) -> Matrix:
    """Z = N Y Nᵀ on the null space N of F: accelerated gradient on (7) within it, whose gradient is NᵀΠ_D(K + Z)N."""
    w, U = la.eigh(F)
    N = U[:, w <= 1e-5]
    Y = previous = np.zeros((N.shape[1], N.shape[1]))
    u, momentum = None, 1.0
    for _ in range(_FIT_STEPS if N.shape[1] else 0):
        D, u, _ = project_doubly_stochastic(K + N @ Y @ N.T, u)
        new = split(Y - N.T @ D @ N).plus
        if float(la.norm(new - previous)) <= 1e-14 * (1 + float(la.norm(new))):
            break
        if np.vdot(Y - new, new - previous) > 0:
            momentum = 1.0
        step = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        Y, previous, momentum = new + (momentum - 1) / step * (new - previous), new, step
    roots, vectors = la.eigh(previous) if len(previous) else (np.zeros(0), previous)
    return gram(N @ (vectors * np.sqrt(np.maximum(roots, 0))))
