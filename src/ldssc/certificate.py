"""The proof that comes with every answer: how far a matrix can be from the exact solution of (1), (19), (20).

For F feasible and any multipliers, with G = A + M + Q + Z + τI, a = ‖F − G‖ and c = ⟨F, Q⟩ + ⟨F, Z⟩:

    (11)   gap = ½a² + c
    (12a)  ‖F − F*‖ ≤ (a + √(a² + 4c)) / 2

Rounding is part of it: sums are taken in the longest type and bounded, what the rows and the trace miss enters c, and so
does what Z misses of being semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg as la

from ldssc.accurate import EPS, inner, rounding, row_excess, stationarity, trace_excess
from ldssc.exceptions import InputError
from ldssc.problem import Point, Problem, eigenvalue_margin, lowest_eigenvalue
from ldssc.projections import eigenvalues, eigh, gram, project_doubly_stochastic, project_semidefinite, split
from ldssc.validation import (
    LARGEST_ENTRY,
    Matrix,
    Vector,
    as_matrix,
    check_affinity,
    check_finite,
    check_square,
    check_weights,
)

_ROWS = 1e-12  # rows further off than this are repaired before anything is proven
_FIT_STEPS = 200
_LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was measured on a matrix F, and what that proves.

    `distance` is a proven upper bound on ‖F − F*‖ / ‖F‖, F* the exact solution; with weights both are the G of (19). The
    others are largest row-sum error, size of the lowest negative entry, size of the lowest negative eigenvalue, error of
    the trace where one is prescribed, and duality gap (11).
    """

    row_sum: float
    negativity: float
    indefiniteness: float
    gap: float
    distance: float
    note: str = ""
    trace: float = 0.0

    def __str__(self) -> str:
        parts = [
            f"proven within {self.distance:.2e} of the exact matrix (relative Frobenius distance)",
            f"rows sum to one within {self.row_sum:.1e}, no entry below {0.0 - self.negativity:.1e}, no eigenvalue below "
            f"{0.0 - self.indefiniteness:.1e}, duality gap {self.gap:.2e}",
        ]
        return "; ".join([*parts, self.note] if self.note else parts)


def certify(
    F: Any,
    K: Any,
    u: Any = None,
    Q: Any = None,
    Z: Any = None,
    *,
    weights: Any = None,
    trace: float | None = None,
    tau: float = 0.0,
) -> Certificate:
    """Prove how near F is to the solution of (1) for K, by (12a); for any F, from any tool.

    An F that is not feasible is repaired first and the repair's length is added to the distance. A Q or Z that is no
    multiplier is made one. Multipliers that are missing are found: exactly where only one of Q and Z is missing,
    and from the face on which F lies where both are; `note` says what was done.

    With `weights` (19), F is the matrix with Fw = 1, and the multipliers and the distance belong to G = diag(√w) F diag(√w);
    with `trace` (20), tr G = trace and `tau` is its multiplier.
    """
    problem = pose(K, weights, trace)
    if not (isinstance(tau, Real) and np.isfinite(tau) and abs(tau) <= _LARGEST):
        raise InputError(f"tau must be a finite number, and is {tau!r}")
    if trace is None and tau != 0:
        raise InputError(
            f"tau={tau} is the multiplier of the trace, and no trace is prescribed; give trace, or leave tau out"
        )
    notes: list[str] = []
    given = weigh(_same_shape(F, problem, "F"), problem.root)
    G = _symmetric(given)
    moved = float(la.norm(given - G))
    if moved > 0:
        notes.append(f"F is not symmetric: proven for its symmetric part at distance {moved:.1e}")
    point = _multipliers(G, problem, u, Q, Z, float(tau), notes)
    return certify_point(problem, point, notes, moved)


def pose(K: Any, weights: Any = None, trace: float | None = None) -> Problem:
    """The checked problem: A = diag(√w) K diag(√w)."""
    K = check_affinity(K)
    if trace is not None:
        if isinstance(trace, bool) or not (isinstance(trace, Real) and 1 <= trace <= len(K)):
            raise InputError(f"trace={trace} is impossible: a feasible matrix has a trace between 1 and n = {len(K)}")
        trace = float(trace)
    if weights is None:
        return Problem(K, None, trace)
    root = np.sqrt(check_weights(weights, len(K)))
    unit = float(np.sqrt(np.mean(root**2)))
    A = weigh(K, root)
    if (largest := float(np.abs(A).max())) > LARGEST_ENTRY:
        raise InputError(
            f"K times the weights has entries as large as {largest:.3g}, beyond {LARGEST_ENTRY:.0e}; divide the weights, "
            f"or K, by their largest entry"
        )
    return Problem(A, root / unit, trace, unit)


def weigh(F: Matrix, s: Vector | None) -> Matrix:
    """diag(s) F diag(s)."""
    return F if s is None else np.asarray(F * np.outer(s, s))


def certify_point(problem: Problem, point: Point, notes: list[str], moved: float = 0.0) -> Certificate:
    """The certificate of a matrix with multipliers, in the letters of (19): F here is G there.

    `moved` is how far F is from the matrix that was asked about.
    """
    F = point.F
    lowest = lowest_eigenvalue(F)
    only = problem.only()
    feasible = F if only is None else only
    if only is None and not _is_feasible(problem, F, lowest):
        feasible = problem.make_feasible(F, lowest)
        notes.append(f"F is not feasible: proven for a repaired matrix at distance {la.norm(F - feasible):.1e}")
    gap, bound = prove(problem, point._replace(F=feasible), indefiniteness_of(point.Z))
    if only is not None:  # there is one feasible matrix, and this is it
        bound = 4 * len(F) * EPS
    size = float(la.norm(F))
    moved += 0.0 if feasible is F else float(la.norm(F - feasible))
    return Certificate(
        row_sum=float(np.abs(row_excess(F, problem.s) / problem.weight).max()),
        negativity=max(0.0, -float(F.min())),
        indefiniteness=max(0.0, -lowest),
        gap=gap,
        distance=(bound + moved * (1 + 8 * EPS)) / size if size > 0 else float("inf"),
        note="; ".join(notes),
        trace=0.0 if problem.trace is None else abs(trace_excess(F, problem.trace)),
    )


def prove(problem: Problem, point: Point, indefiniteness: float) -> tuple[float, float]:
    """The gap (11) and the bound (12a) on ‖F − F*‖, for a feasible F; `indefiniteness` bounds ‖Z₋‖."""
    F, u, Q, Z, tau = point
    r = row_excess(F, problem.s)
    a, a_rounding = stationarity(F, problem.A, u, Q, Z, problem.s, tau)
    (signs, signs_rounding), (kernel, kernel_rounding) = inner(F, Q), inner(F, Z)
    # F − diag(r/s) has the right rows: it is the feasible matrix that the bound speaks of
    d = np.abs(r / problem.weight) + rounding(len(F))
    miss = float(la.norm(d))
    on_diagonal = float(d @ (Q.diagonal() + np.abs(Z.diagonal())))
    if problem.trace is not None:
        # and what the trace misses then is made up for by mixing in ssᵀ/‖s‖² or I, which Q and Z pay for
        excess = abs(trace_excess(F, problem.trace)) + float(d.sum())
        miss += excess
        weight = problem.weight
        on_uniform = float(weight @ Q @ weight + abs(weight @ Z @ weight)) / float(weight @ weight)
        on_diagonal += problem.trace_share(excess) * on_uniform + abs(tau) * excess
        on_diagonal += problem.trace_share(-excess) * float(Q.trace() + abs(Z.trace()))
    c = max(signs, 0.0) + max(kernel, 0.0) + signs_rounding + kernel_rounding + 2 * abs(float(u @ r)) + on_diagonal
    # x² ≤ ax + c + ⟨F*, Z₋⟩ with ⟨F*, Z₋⟩ ≤ (‖F‖ + x)‖Z₋‖
    slope = a + a_rounding + miss + indefiniteness
    c_all = c + indefiniteness * float(la.norm(F))
    if problem.s is not None:
        miss += 4 * EPS * float(la.norm(problem.A))  # A itself is rounded, and projections do not expand
    return a * a / 2 + c_all, (slope + float(np.sqrt(slope * slope + 4 * c_all))) / 2 + miss


def rough_bound(problem: Problem, point: Point) -> float:
    """(12a)/‖F‖ in plain arithmetic, to compare candidates by; nothing is proven by it."""
    F, u, Q, Z, tau = point
    a = float(la.norm(F - problem.recover(u, Q, Z, tau)))
    c = max(0.0, float(np.vdot(F, Q) + np.vdot(F, Z)))
    return (a + float(np.sqrt(a * a + 4 * c))) / 2 / float(la.norm(F))


def indefiniteness_of(Z: Matrix) -> float:
    """A bound on ‖Z₋‖, the negative part of Z: as computed, and what the computation may have missed."""
    size = float(la.norm(Z))
    if size == 0:
        return 0.0
    w = eigenvalues(Z)
    return float(la.norm(np.minimum(w, 0))) + eigenvalue_margin(len(Z)) * size


def _is_feasible(problem: Problem, F: Matrix, lowest: float) -> bool:
    off = float(np.abs(row_excess(F, problem.s) / problem.weight).max())
    if problem.trace is not None:
        off = max(off, abs(trace_excess(F, problem.trace)) / len(F))
    return bool(F.min() >= 0 and off <= _ROWS and lowest >= eigenvalue_margin(len(F)) + off)


def _same_shape(value: Any, problem: Problem, name: str) -> Matrix:
    B = check_square(as_matrix(value, name), name)
    if B.shape != problem.A.shape:
        raise InputError(f"{name} has shape {B.shape} and K has {problem.A.shape}; they must be equal")
    _check_size(B, name)
    return B


def _symmetric(B: Matrix) -> Matrix:
    return B if np.array_equal(B, B.T) else np.asarray((B + B.T) / 2)


def _check_size(B: Matrix | Vector, name: str) -> None:
    if (largest := float(np.abs(B).max())) > _LARGEST:
        raise InputError(f"{name} has entries as large as {largest:.3g}, whose squares overflow; nothing can be proven")


def _multipliers(F: Matrix, problem: Problem, u: Any, Q: Any, Z: Any, tau: float, notes: list[str]) -> Point:
    """F with valid multipliers from what was given: Q ≥ 0, Z ⪰ 0, the missing ones found, τ with them."""
    A, s, trace = problem.A, problem.s, problem.trace
    if u is not None:
        try:
            u = np.array(u)
            u = u.astype(np.float64, casting="same_kind" if u.dtype.kind in "fiub" else "safe")
        except (TypeError, ValueError) as error:
            raise InputError(f"u must hold real numbers, one a row: {error}") from error
        if u.shape != (len(A),):
            raise InputError(f"u must hold one number a row, {len(A)} in all, and has shape {u.shape}")
        check_finite(u, "u")
        _check_size(u, "u")
        u = u * problem.unit
    if Q is not None:
        Q = _symmetric(_same_shape(Q, problem, "Q"))
        if Q.min() < 0:
            notes.append(f"Q had entries down to {Q.min():.1e}, set to zero")
            Q = np.maximum(Q, 0)
    if Z is not None:
        Z = _symmetric(_same_shape(Z, problem, "Z"))
        if eigenvalues(Z)[0] < -1e-10 * (
            1 + la.norm(A) + la.norm(Z)
        ):  # less than that is rounding, priced in the bound
            Z = split(Z).plus
            notes.append("Z was not positive semidefinite: replaced by its semidefinite part")
    shifted = A + tau * np.eye(len(A)) if tau else A
    if Q is None and Z is None:
        notes.append("Q and Z found from the face of F")
        Z = _fit_kernel(F, shifted, s)
    if Q is None:
        _, u, _, tau = project_doubly_stochastic(A + Z, s=s, trace=trace)
        Q = np.maximum(-problem.recover(u, Z, np.zeros_like(Z), tau), 0)
        notes.append("u and Q are the best ones for Z")
    elif Z is None:
        _, u, Z, tau = project_semidefinite(A + Q, s=s, trace=trace)
        Z = split(Z).plus
        notes.append("u and Z are the best ones for Q")
    elif u is None:
        u = fit_rows(F - shifted - Q - Z, s)
        notes.append("u fitted by least squares")
    return Point(F, u, Q, Z, tau)


def fit_rows(R: Matrix, s: Vector | None = None) -> Vector:
    """The u for which usᵀ + suᵀ is nearest to R."""
    weight = np.ones(len(R)) if s is None else s
    rest = R @ weight / (weight @ weight)
    return np.asarray(rest - (weight @ rest) / (2 * (weight @ weight)) * weight)


def _fit_kernel(F: Matrix, A: Matrix, s: Vector | None) -> Matrix:
    """Z = N Y Nᵀ on the null space N of F: accelerated gradient on (7) within it, whose gradient is NᵀΠ_D(A + Z)N."""
    w, U = eigh(F)
    N = U[:, w <= 1e-5]
    Y = previous = np.zeros((N.shape[1], N.shape[1]))
    u, momentum = None, 1.0
    for _ in range(_FIT_STEPS if N.shape[1] else 0):
        D, u, _, _ = project_doubly_stochastic(A + N @ Y @ N.T, u, s)
        new = split(Y - N.T @ D @ N).plus
        if float(la.norm(new - previous)) <= 1e-14 * (1 + float(la.norm(new))):
            break
        if np.vdot(Y - new, new - previous) > 0:
            momentum = 1.0
        step = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        Y, previous, momentum = new + (momentum - 1) / step * (new - previous), new, step
    roots, vectors = eigh(previous) if len(previous) else (np.zeros(0), previous)
    return gram(N @ (vectors * np.sqrt(np.maximum(roots, 0))))
