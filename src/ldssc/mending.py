"""That a matrix on D is near one whose rows miss a little: existence and distance, for the proof of `nearest_proof`.

What the rows miss is made up for either along the entries where F is positive, where Q costs nothing, or on the diagonal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ldssc.accurate import EPS
from ldssc.nearest_proof import BLOCK, Measured, Mend, bound
from ldssc.projections.newton import Multipliers
from ldssc.threads import in_threads
from ldssc.validation import Matrix, Vector

_HEAVIEST = 4  # entries a row, of a full F, along which its rows may be mended


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


def heaviest(F: Matrix, A: Matrix, s: Vector | None, at: Multipliers) -> Any:
    """The largest entries of each row of a full F and their mirror images, where Q is zero for sure."""
    n = len(F)
    k = min(_HEAVIEST, n)
    height = max(1, BLOCK // n)

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
