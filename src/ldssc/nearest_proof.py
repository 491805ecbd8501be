"""How far a matrix can be from the exact projection on D, on all entries or on a support: (12a) with Z = 0.

For F ≥ 0 on the support with rows that miss r = Fs − s, and G = A + usᵀ + suᵀ + Q + τI there with Q ≥ 0,

    a = ‖F − G‖,  c = ⟨F, Q⟩

bound the distance of a feasible F̂ from the exact matrix. F̂ exists near F, and only how near is computed: what the rows
miss is made up for either along the entries where F is positive, where Q costs nothing, or on the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ldssc.accurate import EPS, LONG_EPS, row_excess, trace_excess
from ldssc.projections.newton import Multipliers
from ldssc.threads import in_threads
from ldssc.validation import Matrix, Vector

_BLOCK = 1 << 16  # entries at a time
_HEAVIEST = 4  # entries a row, of a full F, along which its rows may be mended


@dataclass(frozen=True, slots=True)
class ProjectionCertificate:
    """What was measured on a matrix F, and what that proves about the projection on D, without semidefiniteness.

    `distance` is a proven upper bound on ‖F − F*‖ / ‖F‖, F* the exact projection; with weights both are the G of (19). The
    others are the largest row-sum error, the error of the trace where one is prescribed, and the gap (11).
    """

    row_sum: float
    gap: float
    distance: float
    trace: float = 0.0

    def __str__(self) -> str:
        return (
            f"proven within {self.distance:.2e} of the exact projection (relative Frobenius distance); rows sum to one "
            f"within {self.row_sum:.1e}, duality gap {self.gap:.2e}"
        )


class Measured(NamedTuple):
    """a and c with their rounding; ‖F‖; r; the diagonal of Q; sᵀQs/‖s‖²; what the trace misses."""

    a: float
    c: float
    size: float
    rows: Vector
    q: Vector
    total_q: float
    excess: float


class _Sums(NamedTuple):
    squares: float
    signs: float
    size: float
    total_q: float

    def __add__(self, other: Any) -> _Sums:
        return _Sums(*(x + y for x, y in zip(self, other, strict=True)))


_NOTHING = _Sums(0.0, 0.0, 0.0, 0.0)


def _terms(f: Any, a: Any, left: Any, right: Any, weights: Any) -> _Sums:
    """Of some entries: B = a + left + right is A + M + τI there, and Q = max(−B, 0) its exact counterpart.

    B is known within δ. Where B < −δ it is negative for sure, F − B − Q = F, and nothing is lost to rounding.
    """
    delta = np.abs(a)
    delta += np.abs(left)
    delta += np.abs(right)
    delta *= 8 * EPS
    B = left + right
    B += a
    off = np.abs(f - np.maximum(B, 0))
    off += np.where(-delta < B, delta, 0.0)
    Q = np.maximum(-B, 0)
    unsure = f * np.where(delta >= B, Q + delta, 0.0)
    return _Sums(
        float(np.vdot(off, off)), float(unsure.sum()), float(np.vdot(f, f)), float((weights * (Q + delta)).sum())
    )


def _measured(sums: _Sums, rows: Vector, q: Vector, s: Vector | None, excess: float) -> Measured:
    """The roots of the sums, a little up: all their terms are ≥ 0, so that their rounding is relative."""
    up = 1 + 1e-9
    scale = float(len(rows) if s is None else s @ s)
    roots = float(np.sqrt(sums.squares)) * up, float(np.sqrt(sums.size))
    return Measured(roots[0], sums.signs * up, roots[1], rows, q * up, sums.total_q / scale * up, excess)


def measure_dense(F: Matrix, A: Matrix, s: Vector | None, at: Multipliers, trace: float | None) -> Measured:
    """For full matrices, in blocks of rows."""
    n = len(F)
    weight = np.ones(n) if s is None else s
    height = max(1, _BLOCK // n)

    def part(start: int) -> _Sums:
        rows = slice(start, min(n, start + height))
        left, right = np.multiply.outer(at.u[rows], weight), np.multiply.outer(weight[rows], at.u)
        on = np.arange(len(left)), np.arange(rows.start, rows.stop)
        left[on] += right[on]  # the diagonal may hold a large τ: keep its three terms apart
        right[on] = at.tau
        return _terms(F[rows], A[rows], left, right, np.multiply.outer(weight[rows], weight))

    sums = sum(in_threads(n, part, range(0, n, height)), _NOTHING)
    rows = _outward(row_excess(F, s), weight, n)
    q = _diagonal_of_q(A.diagonal(), weight, at)
    excess = 0.0 if trace is None else abs(trace_excess(F, trace)) + (4 + n) * LONG_EPS * trace
    return _measured(sums, rows, q, s, excess)


def measure_sparse(F: Any, A: Any, s: Vector | None, at: Multipliers) -> Measured:
    """For CSR arrays on the same pattern, in blocks of rows."""
    n = A.shape[0]
    weight = np.ones(n) if s is None else s
    rows, q = np.empty(n), np.zeros(n)

    def part(block: slice) -> _Sums:
        starts = A.indptr[block.start : block.stop + 1]
        here = slice(starts[0], starts[-1])
        f, a, col = F.data[here], A.data[here], A.indices[here]
        row = np.repeat(np.arange(block.start, block.stop), np.diff(starts))
        total = -weight[block].astype(np.longdouble)
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            total[filled] += np.add.reduceat(f.astype(np.longdouble) * weight[col], starts[filled] - starts[0])
        rows[block] = total.astype(np.float64)
        on = row == col
        q[row[on]] = _diagonal_of_q(a[on], weight[row[on]], at._replace(u=at.u[row[on]]))
        return _terms(f, a, at.u[row] * weight[col], weight[row] * at.u[col], weight[row] * weight[col])

    height = max(1, _BLOCK * n // max(A.nnz, 1))
    blocks = [slice(i, min(n, i + height)) for i in range(0, n, height)]
    sums = sum(in_threads(n, part, blocks), _NOTHING)
    return _measured(sums, _outward(rows, weight, int(np.diff(A.indptr).max())), q, s, 0.0)


def _outward(rows: Vector, weight: Vector, longest: int) -> Vector:
    """What rows miss, and what the sum of so many entries in the long type may have missed of that."""
    return rows + np.copysign((4 + longest) * LONG_EPS * (weight + np.abs(rows)), rows)


def _diagonal_of_q(a: Vector, weight: Vector, at: Multipliers) -> Vector:
    """An upper bound on the diagonal of Q."""
    m = 2 * at.u * weight
    return np.maximum(-(a + m + at.tau), 0) + 8 * EPS * (np.abs(a) + np.abs(m) + abs(at.tau))


class Mend(NamedTuple):
    """A feasible F̂ exists with ‖F̂ − F‖ ≤ `moved`, and making it adds at most `cost` to c."""

    moved: float
    cost: float


def mend(
    measured: Measured, heavy: Any, s: Vector | None, trace: float | None, *, diagonal: bool, complete: bool = False
) -> Mend:
    """True rows, and the true trace with them, in the cheaper of two ways.

    `heavy` is a symmetric CSR array of entries of F, negated where Q may be positive; all of them if `complete`. `diagonal`
    says whether the support holds the diagonal.
    """
    n = len(measured.rows)
    weight = np.ones(n) if s is None else s
    miss = np.abs(measured.rows)
    along, on_diagonal = _along(heavy, miss, weight, complete), _on_diagonal(miss, weight, measured, diagonal)
    ways = [_mix(measured, way, trace) for way in (along, on_diagonal) if way is not None]
    return min(ways, key=lambda way: bound(measured, way)[1], default=Mend(np.inf, np.inf))


class _Way(NamedTuple):
    """Before any mixing: how far F moves, what that adds to c, how negative its diagonal and how wrong its trace may get."""

    moved: float
    cost: float
    below: float = 0.0
    excess: float = 0.0


def _on_diagonal(miss: Vector, weight: Vector, measured: Measured, diagonal: bool) -> _Way | None:
    """F − diag(r/s) has true rows."""
    if not diagonal:
        return None
    d = miss / weight
    return _Way(float(np.linalg.norm(d)), float(d @ measured.q), float(d.max()), float(d.sum()))


def _along(heavy: Any, miss: Vector, weight: Vector, complete: bool) -> _Way | None:
    """True rows along the heavy entries.

    On a spanning tree of a component what is missing is carried from row to row to the root, at most ρ = Σ miss over any
    entry; there it is made up for along an odd cycle, at most ρ more, a diagonal entry being one. Entries with
    F_ij s_i s_j > 2ρ stay positive. A component without an odd cycle has two sides. If they hold as many rows, what is
    missing on them is the same, and nothing is left at the root: where no weights are given, and no entry leads out.
    """
    row, col, n = _rows_of(heavy), heavy.indices, len(miss)
    size = np.abs(heavy.data) * weight[row] * weight[col]
    rho, dropped, limit = float(miss @ weight), 0.0, 0.0
    while 2 * rho * (1 + 1e-9) > limit:  # lighter entries become zero, and rows miss these too
        limit = 8 * rho
        if limit > 1e-3:
            return None
        keep = (heavy.data > 0) & (size > limit)
        if complete:
            dropped = float(size[~keep].sum()) * (1 + 1e-9)
            rho = float(miss @ weight) + dropped
    H = sparse.csr_array((np.ones(int(keep.sum()), np.int8), (row[keep], col[keep])), shape=(n, n))
    cover = sparse.block_array([[None, H], [H, None]], format="csr")
    count, label = connected_components(cover, directed=False)
    two_sided = label[:n] != label[n:]
    if two_sided.any():
        one, other = (np.bincount(part[two_sided], minlength=count) for part in (label[:n], label[n:]))
        if not complete or np.ptp(weight) > 0 or not np.array_equal(one, other):
            return None
    each = 2 * rho / float(weight.min()) ** 2
    dropped /= float(weight.min()) ** 2
    return _Way(each * float(np.sqrt(2.0 * n)) + dropped, 0.0, 0.0, each * n + dropped)


def _rows_of(A: Any) -> Any:
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))


def _mix(measured: Measured, way: _Way, trace: float | None) -> Mend:
    """Mix in I, or with a trace what makes up for it, until no diagonal entry can be negative and the trace is right."""
    n = len(measured.q)
    t = 0.0
    if trace is None:
        t = way.below / (1 + way.below)
    else:
        a = (trace - 1) / max(n - 1, 1)
        excess = measured.excess + way.excess
        t = excess / (min(trace - 1, n - trace) + excess) + (way.below / (a + way.below) if way.below else 0.0)
    moved = way.moved + t * (measured.size + way.moved + float(np.sqrt(n)))
    return Mend(moved, way.cost + t * (float(measured.q.sum()) + (0.0 if trace is None else measured.total_q)))


def bound(measured: Measured, way: Mend) -> tuple[float, float]:
    """The gap (11) and the bound (12a) on ‖F − F*‖."""
    if not np.isfinite(way.moved):
        return float("inf"), float("inf")
    slope, c = measured.a + way.moved, measured.c + way.cost
    return slope * slope / 2 + c, ((slope + float(np.sqrt(slope * slope + 4 * c))) / 2 + way.moved) * (1 + 8 * EPS)


def heaviest(F: Matrix, A: Matrix, s: Vector | None, at: Multipliers) -> Any:
    """The largest entries of each row of a full F and their mirror images, where Q is zero for sure."""
    n = len(F)
    k = min(_HEAVIEST, n)
    height = max(1, _BLOCK // n)

    def largest(start: int) -> Any:
        return np.argpartition(F[start : start + height], n - k, axis=1)[:, n - k :]

    col = np.concatenate(in_threads(n, largest, range(0, n, height))).ravel()
    row, all_rows = np.repeat(np.arange(n), k), np.arange(n)
    rows, cols = np.concatenate([row, col, all_rows]), np.concatenate([col, row, all_rows])
    H = sparse.csr_array((np.ones(len(rows)), (rows, cols)), shape=(n, n))
    row = _rows_of(H)
    return unopposed(H, F[row, H.indices], A[row, H.indices], s, at)


def unopposed(pattern: Any, f: Vector, a: Vector, s: Vector | None, at: Multipliers) -> Any:
    """F on a pattern, with its sign turned where Q may be positive."""
    row, col = _rows_of(pattern), pattern.indices
    weight = np.ones(pattern.shape[0]) if s is None else s
    left, right = at.u[row] * weight[col], weight[row] * at.u[col]
    tau = np.where(row == col, at.tau, 0.0)
    sure = a + left + right + tau > 8 * EPS * (np.abs(a) + np.abs(left) + np.abs(right) + np.abs(tau))
    return sparse.csr_array((np.where(sure, f, -f), col, pattern.indptr), shape=pattern.shape)
