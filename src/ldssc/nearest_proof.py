"""How far a matrix can be from the exact projection on D, on all entries or on a support: (12a) with Z = 0.

For F ≥ 0 on the support with rows that miss r = Fs − s, and G = A + usᵀ + suᵀ + Q + τI there with Q ≥ 0,

    a = ‖F − G‖,  c = ⟨F, Q⟩

bound the distance of a feasible F̂ from the exact matrix. F̂ exists near F, and only how near is computed, by `mending`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ldssc.accurate import EPS, LONG_EPS, row_excess, trace_excess
from ldssc.projections.newton import Multipliers
from ldssc.threads import in_threads
from ldssc.validation import Matrix, Vector

BLOCK = 1 << 16  # entries at a time


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
    height = max(1, BLOCK // n)

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

    height = max(1, BLOCK * n // max(A.nnz, 1))
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


def bound(measured: Measured, way: Mend) -> tuple[float, float]:
    """The gap (11) and the bound (12a) on ‖F − F*‖."""
    if not np.isfinite(way.moved):
        return float("inf"), float("inf")
    slope, c = measured.a + way.moved, measured.c + way.cost
    return slope * slope / 2 + c, ((slope + float(np.sqrt(slope * slope + 4 * c))) / 2 + way.moved) * (1 + 8 * EPS)
