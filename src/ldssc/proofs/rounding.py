"""Between matrices and partitions: labels from a G, better labels from labels, and multipliers Q from labels.

s_a is s on group a and zero elsewhere, A_ab the block of A between two groups, n_a = ‖s_a‖². A partition is optimal for (22)
if there are τ and Q ≥ 0, zero within groups, with Z = τI − A − usᵀ − suᵀ − Q ⪰ 0 and Z s_a = 0 for all a. The latter says

    (25)  u_a = ((τ − c_a) s_a − A_aa s_a) / n_a,  c_a = (τ − s_aᵀA s_a / n_a) / 2,
          Q_ab s_b = r_ab = −(A_ab s_b + n_b u_a + c_b s_a)

of which Q_ab = r_ab r_baᵀ / (s_aᵀ r_ab) is one solution, of rank one, where r ≥ 0. Any Q ≥ 0 bounds all partitions (24), so
what is negative in r is set to zero; the bound is then less than sharp, and holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as la

from ldssc.embedding import robust_svd
from ldssc.exceptions import InputError
from ldssc.labels import kmeans
from ldssc.validation import Matrix, Vector

Codes = npt.NDArray[np.int64]
_SWEEPS = 30


def membership(codes: Codes, s: Vector) -> Matrix:
    """W, n x k: s on each group, scaled to length one."""
    W = np.zeros((len(codes), int(codes.max()) + 1))
    W[np.arange(len(codes)), codes] = s
    return np.asarray(W / np.sqrt((W * W).sum(axis=0)))


def round_factor(factor: Matrix, s: Vector, k: int) -> Codes | None:
    """Labels from G = `factor` `factor`ᵀ; None where its rows are too much alike to make k groups.

    k rows of the k leading eigenvectors are chosen by pivoted QR; each point goes to the one that it is most alike once they
    are turned to be orthogonal (Damle, Minden and Ying); then centres and labels in turn.
    """
    U, sizes, _ = np.linalg.svd(factor / s[:, None], full_matrices=False)
    V = (U * sizes)[:, :k]
    if V.shape[1] == k:
        pivots = la.qr(V.T, mode="r", pivoting=True)[1][:k]
        left, _, right = robust_svd(V[pivots].T)
        codes = np.argmax(np.abs(V @ (left @ right)), axis=1).astype(np.int64)
        if len(np.unique(codes)) == k:
            return improve(lambda S: factor @ (factor.T @ S), codes, s)[0]
    with contextlib.suppress(InputError):
        return kmeans(factor / s[:, None], k, n_init=3, random_state=0)
    return None


def improve(product: Callable[[Matrix], Matrix], codes: Codes, s: Vector) -> tuple[Codes, float]:
    """A partition with ⟨A, G_W⟩ no less, by moving all points to their nearest centre at once; with its value.

    `product` multiplies A by n x k matrices. The squared distance of point i to the centre of group r is, but for a constant,
    g_r − 2(A s_r)ᵢ/(sᵢ n_r) with g_r = s_rᵀA s_r/n_r². Where A is indefinite a sweep may lose: the best partition is kept.
    """
    k = int(codes.max()) + 1
    best, best_value = codes, -np.inf
    for _ in range(_SWEEPS):
        S = np.zeros((len(codes), k))
        S[np.arange(len(codes)), codes] = s
        mass = (S * S).sum(axis=0)
        AS = product(S)
        g = np.einsum("ij,ij->j", S, AS)
        value = float((g / mass).sum())
        if value <= best_value + 1e-12 * abs(best_value):
            break
        best, best_value = codes, value
        moved = np.argmin(g / mass**2 - 2 * AS / (s[:, None] * mass), axis=1).astype(np.int64)
        if len(np.unique(moved)) < k:
            break
        codes = moved
    return best, best_value


class GroupSums(NamedTuple):
    """A s_b for every group b (n x k), n_b, and s_bᵀA s_b / n_b."""

    AS: Matrix
    mass: Vector
    own: Vector


def group_sums(AS: Matrix, codes: Codes, s: Vector) -> GroupSums:
    """From the n x k products A s_b."""
    mass = np.asarray(np.bincount(codes, s * s), dtype=np.float64)
    own = np.bincount(codes, s * AS[np.arange(len(codes)), codes]) / mass
    return GroupSums(AS, mass, own)


def targets(sums: GroupSums, codes: Codes, s: Vector, tau: float) -> Matrix:
    """r of (25): row i holds r_ab(i) for its group a and every b; zero for b = a, and where it is negative."""
    rows = np.arange(len(codes))
    c = (tau - sums.own) / 2
    u = ((tau - c[codes]) * s - sums.AS[rows, codes]) / sums.mass[codes]
    r = -(sums.AS + np.outer(u, sums.mass) + np.outer(s, c))
    r[rows, codes] = 0.0
    return np.maximum(r, 0, out=r)


def pair_scales(r: Matrix, codes: Codes, s: Vector) -> Matrix:
    """1/√(s_aᵀr_ab · s_bᵀr_ba) for each pair of groups, zero where one of them is."""
    k = r.shape[1]
    flow = np.zeros((k, k))
    np.add.at(flow, codes, r * s[:, None])
    both = flow * flow.T
    return np.where(both > 0, 1 / np.sqrt(np.where(both > 0, both, 1.0)), 0.0)


def rank_one_multiplier(r: Matrix, codes: Codes, s: Vector) -> Matrix:
    """Q with blocks r_ab r_baᵀ / (s_aᵀr_ab), symmetric to the last bit."""
    scale = pair_scales(r, codes, s)
    left = r[:, codes]  # entry (i, j): r of i for the group of j
    Q = left * left.T
    Q *= scale[np.ix_(codes, codes)]
    return np.maximum(Q, Q.T)


def fit_multiplier(Q: Matrix, r: Matrix, codes: Codes, s: Vector) -> Matrix:
    """A Q ≥ 0 near the given one with Q_ab s_b = r_ab as far as that can be: scaled down, then raised by rank one."""
    k = r.shape[1]
    onehot = np.zeros((len(codes), k))
    onehot[np.arange(len(codes)), codes] = s
    Q = np.where(codes[:, None] == codes[None, :], 0.0, Q)

    def shrink(Q: Matrix) -> Matrix:
        have = Q @ onehot
        share = np.minimum(1.0, r / np.where(have > 0, have, 1.0))
        return np.asarray(Q * share[:, codes])

    Q = shrink(shrink(Q).T)
    down, across = np.maximum(r - Q @ onehot, 0), np.maximum(r - Q.T @ onehot, 0)
    flow = np.zeros((k, k))
    np.add.at(flow, codes, down * s[:, None])
    rest = down[:, codes] * across[:, codes].T
    rest /= np.where(flow > 0, flow, 1.0)[np.ix_(codes, codes)]
    Q = Q + np.where((flow > 0)[np.ix_(codes, codes)], rest, 0.0)
    return np.asarray((Q + Q.T) / 2)
