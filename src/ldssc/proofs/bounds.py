"""What no partition exceeds: upper bounds (24) on ⟨A, G_W⟩ that hold for the computed numbers, rounding included.

W is the normalised membership matrix of a partition into k groups and G_W = WWᵀ. For any C ≥ A entrywise, C − A is a Q of

    (24)  ⟨A, G_W⟩ ≤ sᵀCs/‖s‖² + the sum of the k − 1 largest eigenvalues of PCP on the complement of s.

No eigenvalue is believed. Approximate eigenpairs (λᵢ, vᵢ) only suggest θ and Y = Σ (λᵢ − θ)vᵢvᵢᵀ ⪰ 0; where

    (24a) θI + Y + usᵀ + suᵀ + σssᵀ − C  is semidefinite,  the sum is at most (k − 1)θ + tr Y,

for any u and σ, and a Cholesky factorisation that runs to its end proves that, up to (n + 2)ε times the trace (Demmel; Rump).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as la

from ldssc.accurate import EPS, LONG_EPS, rounding
from ldssc.projections import ones_of, row_shift
from ldssc.proofs.subspace import Pairs, Subspace, all_pairs
from ldssc.validation import Matrix, Vector

_DENSE = 250  # rows, up to which LAPACK finds a few eigenpairs soonest
_SHARP = 1e-9  # residual of eigenpairs, relative to the largest
_BLOCK = 1 << 20  # entries converted at a time


def partition_bound(
    C: Matrix,
    k: int,
    s: Vector | None = None,
    pairs: Pairs | None = None,
    *,
    clip: bool = False,
    overwrite: bool = False,
) -> float:
    """An upper bound on ⟨A, G_W⟩ for every partition into k groups and every A ≤ C (24).

    C is symmetric to the last bit. `pairs` may hold approximations of the leading eigenpairs of PCP on the complement of s,
    at least k of them: they make the bound sharp or blunt, never wrong. With `clip` negative eigenvalues count as zero: the
    bound then holds for every G ⪰ 0 with G ⪯ I, Gs = s and a trace of at most k. `overwrite` saves a copy of C.
    """
    first, error = mean_form(C, s)
    rest = largest_sum(C, k - 1, s, pairs, clip=clip, overwrite=overwrite)
    return _up(first + rest, error)


def mean_form(C: Matrix, s: Vector | None = None) -> tuple[float, float]:
    """sᵀCs/‖s‖² and a bound on its rounding."""
    n = len(C)
    long = ones_of(C, s).astype(np.longdouble)
    total, size = np.longdouble(0), np.longdouble(0)
    for rows in slices(n, _BLOCK):
        weighted = C[rows] * long
        total += (weighted.sum(axis=1) * long[rows]).sum()
        size += (np.abs(weighted).sum(axis=1) * long[rows]).sum()
    norm = (long * long).sum()
    return float(total / norm), rounding(n) * float(size / norm) + EPS * abs(float(total / norm))


def largest_sum(
    C: Matrix,
    m: int,
    s: Vector | None = None,
    pairs: Pairs | None = None,
    *,
    whole: bool = False,
    clip: bool = False,
    overwrite: bool = False,
) -> float:
    """An upper bound on the sum of the m largest eigenvalues of PCP on the complement of s (24a).

    With `clip` negative ones count as zero; if `whole`, the same of C itself.
    """
    n = len(C)
    m = min(m, n if whole else n - 1)
    largest = float(np.abs(C).max(initial=0.0))
    if m <= 0 or largest == 0:
        return 0.0
    unit = 2.0 ** math.frexp(largest)[1]  # a power of two: dividing by it rounds nothing
    C = np.divide(C, unit, out=C if overwrite else None)
    pairs = None if pairs is None or len(pairs.values) < m else Pairs(pairs.values / unit, pairs.vectors)
    weight = None if whole else ones_of(C, s)
    if weight is not None and (extreme := float(weight.max())) > 0:
        weight = weight / 2.0 ** math.frexp(extreme)[1]
    if pairs is None:
        pairs = leading_pairs(C, m + 1, ones_of(C, s), whole)
    attempt = _prove(C, m, weight, pairs, clip or whole, attempts=6)
    if attempt is None:  # a direction was missed
        attempt = _prove(C, m, weight, all_pairs(C, weight), clip or whole, attempts=200)
    assert attempt is not None
    return _up(unit * attempt)


def leading_pairs(C: Matrix, count: int, s: Vector, whole: bool = False) -> Pairs:
    """The `count` leading eigenpairs of PCP on the complement of s, approximately; of C itself if `whole`."""
    if whole or len(C) <= _DENSE or count > len(C) // 5:
        return all_pairs(C, None if whole else s)
    return Subspace(s).leading(C, lambda _: count, _SHARP)


def _prove(C: Matrix, m: int, s: Vector | None, pairs: Pairs, clip: bool, attempts: int) -> float | None:
    """(24a) for C with entries below one: mθ + tr Y, or None where the factorisation fails time and again."""
    n = len(C)
    theta = float(pairs.values[min(m, len(pairs.values) - 1)])
    if clip:
        theta = max(theta, 0.0)
    rise = np.maximum(pairs.values[:m] - theta, 0)
    V = pairs.vectors[:, :m]
    lengths = np.einsum("ij,ij->j", V, V)
    raised = V * np.sqrt(rise)
    size = float(la.norm(C)) + float(rise @ lengths)
    residual = C @ V - V * pairs.values[:m]
    u, sigma = np.zeros(n), 0.0
    if s is not None:
        u = -row_shift(C, s) + s / (2 * (s @ s))  # as in `center`
        sigma = max(0.0, 1 + size - theta) / float(s @ s)
        size += 2 * float(la.norm(u) * la.norm(s)) + sigma * float(s @ s)
        residual -= np.outer(s, s @ residual) / (s @ s)
    # rounding of every entry of the matrix of (24a), as a bound on its norm
    noise = 8 * EPS * (size + abs(theta) * math.sqrt(n)) + EPS * (m + 4) * float(rise @ lengths)
    slack = float(la.norm(residual)) / 2 + 8 * EPS * math.sqrt(n) * (size + abs(theta))
    for _ in range(attempts):
        M = _rest(C, raised, s, u, sigma)
        M.flat[:: n + 1] += theta + slack
        trace = float(np.abs(M.diagonal()).sum())
        if _is_definite(M):
            level = theta + slack + noise + 8 * EPS * math.sqrt(n) * slack + (n + 2) * EPS * trace
            return m * level + float(rise @ lengths) * (1 + (n + 4) * EPS)
        slack *= 4
    return None


def _rest(C: Matrix, raised: Matrix, s: Vector | None, u: Vector, sigma: float) -> Matrix:
    """Y + usᵀ + suᵀ + σssᵀ − C."""
    M = raised @ raised.T
    for rows in slices(len(C)):
        M[rows] -= C[rows]
        if s is not None:
            M[rows] += u[rows, None] * s + s[rows, None] * u
            M[rows] += sigma * (s[rows, None] * s)
    return M


def _is_definite(M: Matrix) -> bool:
    """Whether a Cholesky factorisation of one triangle of M runs to its end; M is overwritten."""
    try:
        factor, _ = la.cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
    except la.LinAlgError:
        return False
    return bool(np.isfinite(factor.diagonal()).all())


def is_semidefinite(K: Matrix) -> float | None:
    """A δ with K + δI ⪰ 0, proven, that rounding alone accounts for; None where there is none."""
    n = len(K)
    M = K.copy()
    delta = 8 * (n + 2) * EPS * max(float(np.abs(K.diagonal()).sum()), float(np.abs(K).max()))
    M.flat[:: n + 1] += delta
    return 2 * delta if _is_definite(M) or delta == 0 else None


def slices(n: int, entries: int = 1 << 16) -> Iterator[slice]:
    """Rows of an n x n matrix, so many at a time that they stay in the cache."""
    height = max(1, entries // n)
    for start in range(0, n, height):
        yield slice(start, min(n, start + height))


class Piece(NamedTuple):
    """Some rows of a thin F: their entries in those columns that are not zero there, and their part of s."""

    columns: npt.NDArray[np.intp]
    block: Matrix
    weight: Vector


def low_rank_bound(pieces: Sequence[Piece], S: Matrix, k: int) -> float:
    """The bound (24) for C = F S Fᵀ with few columns: no n x n matrix is formed.

    With T = RSRᵀ for any R with RᵀR ⪰ FᵀPF, the eigenvalues of PCP interlace those of T: C is a corner of a matrix whose
    factor has RᵀR as its Gram matrix. The Gram matrix is summed in the long type, and raised by what rounding may hide.
    """
    largest = np.full(len(S), np.finfo(np.float64).tiny)
    for columns, block, _ in pieces:
        largest[columns] = np.maximum(largest[columns], np.abs(block).max(axis=0, initial=0.0))
    unit = 2.0 ** np.frexp(largest)[1]
    S = S * np.outer(unit, unit)
    moments = _moments(pieces, unit)
    sums, sizes, norm = moments.sums, moments.sizes, moments.norm
    rows = np.abs(S) @ np.abs(sums)
    first = float(sums @ S @ sums) / norm
    # what t = Fᵀs and tᵀSt may be off by
    hidden = 4 * (moments.n + 8) * LONG_EPS
    error = (4 * (len(S) + 2) * EPS * float(np.abs(sums) @ rows) + hidden * float(sizes @ rows)) / norm
    if k == 1:
        return _up(first, error)
    G, trace = moments.centred, float(moments.centred.trace())
    lift = hidden * (float(sizes @ sizes) / norm + moments.squares) + (len(S) + 4) * EPS * trace
    while (R := _upper_factor(G, lift)) is None:
        lift = 4 * lift + np.finfo(np.float64).tiny
    T = R @ S @ R.T
    noise = 4 * (len(S) + 4) * EPS * float(la.norm(np.abs(R) @ np.abs(S) @ np.abs(R.T)))
    m = min(k - 1, len(S))
    return _up(first + largest_sum((T + T.T) / 2, m, whole=True) + m * noise, error)


class _Moments(NamedTuple):
    """t = Fᵀs, |F|ᵀs, FᵀF − ttᵀ/‖s‖² = FᵀPF, ‖F‖², ‖s‖², and the number of rows."""

    sums: Vector
    sizes: Vector
    centred: Matrix
    squares: float
    norm: float
    n: int


def _moments(pieces: Sequence[Piece], unit: Vector) -> _Moments:
    r, n = len(unit), 0
    sums, sizes = np.zeros(r, np.longdouble), np.zeros(r, np.longdouble)
    G = np.zeros((r, r), np.longdouble)
    norm: Any = np.longdouble(0)
    for columns, block, weight in pieces:
        height = max(1, _BLOCK // max(1, len(columns)))
        for start in range(0, len(block), height):
            part = (block[start : start + height] / unit[columns]).astype(np.longdouble)
            s = weight[start : start + height].astype(np.longdouble)
            sums[columns] += part.T @ s
            sizes[columns] += np.abs(part).T @ s
            G[np.ix_(columns, columns)] += part.T @ part
            norm += s @ s
        n += len(block)
    squares = float(G.trace())
    G -= np.outer(sums, sums) / norm
    short = [np.asarray(x, dtype=np.float64) for x in (sums, sizes, G)]
    return _Moments(short[0], short[1], short[2], squares, float(norm), n)


def _upper_factor(G: Matrix, lift: float) -> Matrix | None:
    """R with RᵀR = G + lift·I up to rounding."""
    try:
        return np.asarray(la.cholesky(G + lift * np.eye(len(G)), check_finite=False))
    except la.LinAlgError:
        return None


def _up(value: float, error: float = 0.0) -> float:
    """Never below value + error."""
    return value + 4 * error + 8 * EPS * abs(value)
