"""Bounds that need no relaxation: multipliers of rank one from the labels themselves (25).

Of well separated clusters the rank-one multiplier proves that they are optimal; of others it proves less than (22) does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.proofs.bounds import Piece, low_rank_bound
from ldssc.proofs.objectives import KMeans, Objective, dense_bound
from ldssc.proofs.rounding import (
    Codes,
    GroupSums,
    group_sums,
    membership,
    pair_scales,
    rank_one_multiplier,
    targets,
)
from ldssc.proofs.subspace import Subspace
from ldssc.validation import Matrix, Vector

_LARGEST_FACTOR = 2500  # columns
_FLAT = 1e-9
_STEPS = 14


def rank_one_bound(objective: Objective, codes: Codes) -> float:
    """The best bound (24) of a few rank-one multipliers for this partition; n x n matrices."""
    n, k = len(objective), int(codes.max()) + 1
    A, s = objective.A, np.ones(n) if objective.s is None else objective.s
    W = membership(codes, s)
    AW = A @ W
    sums = group_sums(AW * np.sqrt(np.bincount(codes, s * s)), codes, s)
    # the largest eigenvalue of A on the complement of W is the least τ that can do
    rest = A - W @ AW.T
    rest -= (rest @ W) @ W.T
    level = float(Subspace(s).leading((rest + rest.T) / 2, lambda _: 1, 1e-4).values[0])
    if level <= 0:
        return -np.inf
    bounds = []
    for factor in (1.001, 1.3, 1.8):
        C = A + rank_one_multiplier(targets(sums, codes, s, factor * level), codes, s)
        bounds.append(dense_bound(objective, C, k))
        if len(bounds) > 1 and bounds[-1] < bounds[-2]:
            break
    return max(bounds)


class _Thin(NamedTuple):
    """F S Fᵀ = A + Q for k-means: the d columns of the points, then r_ab on group a for each ordered pair of groups."""

    pieces: list[Piece]
    S: Matrix


def thin_bound(objective: KMeans, codes: Codes) -> float:
    """The same for k-means at any n, with thin factors throughout; the best τ by a search, proven at the end."""
    k, d = int(codes.max()) + 1, objective.X.shape[1]
    if d + k * (k - 1) > _LARGEST_FACTOR or k == 1:
        return objective.principal(k)
    s = np.ones(len(objective)) if objective.s is None else objective.s
    X = objective.factor
    mass = np.bincount(codes, s * s)
    centres = np.zeros((k, d))
    np.add.at(centres, codes, X * s[:, None])  # Xᵀs_b, row b
    sums = group_sums(X @ centres.T, codes, s)
    away = X - s[:, None] * (centres / mass[:, None])[codes]
    level = float(la.eigvalsh(away.T @ away)[-1])
    if level <= 0:
        return objective.principal(k)
    groups = [np.flatnonzero(codes == a) for a in range(k)]

    def rough(tau: float) -> float:
        thin = _thin(X, sums, codes, s, groups, tau)
        return -_rough_bound(thin, objective.total, k) / objective.total

    tau = level * _golden(lambda x: rough(level * x), 0.6, 2.5)
    thin = _thin(X, sums, codes, s, groups, tau)
    return max(objective.principal(k), objective.lower(low_rank_bound(thin.pieces, thin.S, k), k, exact=True))


def _thin(X: Matrix, sums: GroupSums, codes: Codes, s: Vector, groups: list[Codes], tau: float) -> _Thin:
    k, d = len(groups), X.shape[1]
    r = targets(sums, codes, s, tau)
    scale = pair_scales(r, codes, s)
    pieces = []
    place = np.arange(k * (k - 1)).reshape(k, k - 1) + d
    others = [np.delete(np.arange(k), a) for a in range(k)]
    S = np.zeros((d + k * (k - 1),) * 2)
    S[:d, :d] = np.eye(d)
    for a, rows in enumerate(groups):
        pieces.append(
            Piece(np.append(np.arange(d), place[a]), np.hstack([X[rows], r[np.ix_(rows, others[a])]]), s[rows])
        )
        for column, b in zip(place[a], others[a], strict=True):
            S[column, place[b][np.searchsorted(others[b], a)]] = scale[a, b]
    return _Thin(pieces, S)


def _rough_bound(thin: _Thin, total: float, k: int) -> float:
    """What the bound on the cost is about, in plain arithmetic."""
    r = len(thin.S)
    G, t, norm = np.zeros((r, r)), np.zeros(r), 0.0
    for columns, block, weight in thin.pieces:
        G[np.ix_(columns, columns)] += block.T @ block
        t[columns] += block.T @ weight
        norm += float(weight @ weight)
    w, U = la.eigh(G - np.outer(t, t) / norm)
    root = (U * np.sqrt(np.maximum(w, 0))).T
    values = la.eigvalsh(root @ thin.S @ root.T)[::-1]
    return total - float(t @ thin.S @ t) / norm - float(np.maximum(values[: k - 1], 0).sum())


def _golden(f: Callable[[float], float], low: float, high: float) -> float:
    """A minimum of f on [low, high] by golden sections; to the left where f is flat, as it is where it proves nothing."""
    ratio = (5**0.5 - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(_STEPS):
        if at_left <= at_right + _FLAT:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = f(right)
    return left if at_left <= at_right + _FLAT else right
