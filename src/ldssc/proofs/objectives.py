"""Three costs of a partition, each as (what is fixed) − ⟨A, G_W⟩, and what rounding may hide between the two.

G_W = WWᵀ with W the normalised membership matrix: column r is s on group r, scaled to length one. With weights wᵢ:

    k-means          A = diag(s)XXᵀdiag(s), s = √w:       Σ wᵢ‖xᵢ − centre‖² = Σ wᵢ‖xᵢ‖² − ⟨A, G_W⟩
    kernel k-means   A = diag(s)K diag(s), s = √w:        the same in the feature space of K, Σ wᵢKᵢᵢ − ⟨A, G_W⟩
    normalised cut   A = D^(-½)BD^(-½), s = √degrees:     Σ cut(r)/degree(r) = k − ⟨A, G_W⟩, B = diag(w)K diag(w)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldssc.accurate import EPS, LONG_EPS
from ldssc.certificate import weigh
from ldssc.exceptions import InputError
from ldssc.projections import gram
from ldssc.proofs.bounds import Piece, low_rank_bound, partition_bound
from ldssc.validation import Matrix, Vector, check_affinity

Codes = npt.NDArray[np.int64]


class Objective(Protocol):
    """What a partition costs, and what an upper bound on ⟨A, G_W⟩ says about the cost of all of them."""

    name: str
    s: Vector | None

    def __len__(self) -> int: ...

    @property
    def A(self) -> Matrix:
        """The matrix of (22)."""
        ...

    def size(self, k: int) -> float:
        """What costs are a difference of: their rounding is relative to this."""
        ...

    def cost(self, codes: Codes) -> float:
        """Of the partition with these labels, 0 to k − 1."""
        ...

    def lower(self, upper: float, k: int) -> float:
        """What no partition into k groups costs less than, where none has ⟨A, G_W⟩ above `upper`."""
        ...


class KMeans:
    """Within-cluster sum of squares. The rows are centred first, which changes no cost by more than its rounding."""

    name = "k-means"

    def __init__(self, X: Matrix, weights: Vector | None = None) -> None:
        self.weights = weights
        self.s = None if weights is None else np.sqrt(weights)
        w = np.ones(len(X)) if weights is None else weights
        scale = float(np.abs(X).max(initial=0.0))
        mean = (w / w.sum()) @ (X / scale) * scale if scale > 0 else np.zeros(X.shape[1])
        self.X = X - mean
        #: diag(s)X: its Gram matrix is A
        self.factor = self.X if self.s is None else self.X * self.s[:, None]
        long = self.factor.astype(np.longdouble)
        self.total = float(np.einsum("ij,ij->", long, long))

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def A(self) -> Matrix:
        return gram(self.factor)

    def size(self, k: int) -> float:  # noqa: ARG002
        return self.total

    def cost(self, codes: Codes) -> float:
        squares: float = within(self.X, codes, self.weights).sum()
        return float(squares)

    def lower(self, upper: float, k: int, *, exact: bool = False) -> float:  # noqa: ARG002
        """`exact`: the bound was on the Gram matrix of `factor` itself, not on its rounded A."""
        d = self.X.shape[1]
        rounded = 16 * EPS + (self.X.size + 4) * LONG_EPS  # of √w, and of the sum
        slack = (rounded + (0 if exact else (d + 8) * EPS)) * self.total
        floor = max(0.0, self.total - upper - slack)
        # centring and weighing has moved the points by ε of their size: ‖(I − G_W)E‖ ≤ ‖E‖
        root = max(0.0, floor**0.5 * (1 - 4 * EPS) - 4 * EPS * self.total**0.5)
        return float(root * root * (1 - 4 * EPS))

    def principal(self, k: int) -> float:
        """(24) with Q = 0, for any n: the principal components that no partition can do better than."""
        d = self.X.shape[1]
        weight = np.ones(len(self)) if self.s is None else self.s
        upper = low_rank_bound([Piece(np.arange(d), self.factor, weight)], np.eye(d), k)
        return self.lower(upper, k, exact=True)


def within(X: Matrix, codes: Codes, weights: Vector | None = None) -> Vector:
    """Σ wᵢ‖xᵢ − centre‖² of each group."""
    k = int(codes.max()) + 1
    w = np.ones(len(X)) if weights is None else weights
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(k))
    long, wl = X[order].astype(np.longdouble), w[order].astype(np.longdouble)[:, None]
    centres = np.add.reduceat(long * wl, starts) / np.add.reduceat(wl, starts)
    squares = wl[:, 0] * ((long - centres[codes[order]]) ** 2).sum(axis=1)
    return np.asarray(np.add.reduceat(squares, starts), dtype=np.float64)


class Kernel:
    """The within-cluster sum of squares in the feature space of K; for an indefinite K the same expression."""

    name = "kernel k-means"

    def __init__(self, K: Matrix, weights: Vector | None = None) -> None:
        self.K, self.weights = K, weights
        self.s = None if weights is None else np.sqrt(weights)
        self.A = weigh(K, self.s)
        diagonal = K.diagonal().astype(np.longdouble)
        self.total = float((diagonal if weights is None else diagonal * weights).sum())
        self._size = float(np.linalg.norm(self.A))
        #: the costs of a semidefinite kernel are not negative
        self.lowest = -np.inf

    def __len__(self) -> int:
        return len(self.K)

    def size(self, k: int) -> float:
        return float(abs(self.total) + self._size * k**0.5)

    def cost(self, codes: Codes) -> float:
        masses, sums = _block_sums(self.K, codes, self.weights)
        return max(float(self.total - (sums.diagonal() / masses).sum()), self.lowest)

    def lower(self, upper: float, k: int) -> float:
        diagonal = float(np.abs(self.A.diagonal()).sum())
        slack = 16 * EPS * (self._size * k**0.5 + diagonal)
        return float(max(self.total - upper - slack - 4 * EPS * abs(upper), self.lowest))


class Cut:
    """The normalised cut of a graph with affinities ≥ 0."""

    name = "normalised cut"

    def __init__(self, B: Matrix, weights: Vector | None = None) -> None:
        self.B = weigh(B, weights)
        degrees = np.concatenate([rows.astype(np.longdouble).sum(axis=1) for rows in np.array_split(self.B, 16)])
        self.degrees: Vector = degrees.astype(np.float64)
        if self.degrees.min() <= 0:
            i = int(self.degrees.argmin())
            raise InputError(
                f"row {i} of the affinities has no positive entry, and its normalised cut is 0/0; leave the point out "
                f"(label -1), or connect it"
            )
        self.s: Vector | None = np.sqrt(self.degrees)
        self.A: Matrix = self.B / np.outer(self.s, self.s)

    def __len__(self) -> int:
        return len(self.B)

    def size(self, k: int) -> float:
        return float(k)

    def cost(self, codes: Codes) -> float:
        _, sums = _block_sums(self.B, codes, None)
        outside = sums.sum(axis=1) - sums.diagonal()
        return float((outside / sums.sum(axis=1)).sum())

    def lower(self, upper: float, k: int) -> float:
        # A, s and the degrees are right to a few ε each, A ≥ 0 and ⟨A, G_W⟩ ≤ k
        return max(0.0, k - upper - 32 * EPS * k)


def _block_sums(K: Matrix, codes: Codes, weights: Vector | None) -> tuple[Any, Any]:
    """The weight of each group, and Σ wᵢwⱼKᵢⱼ over each pair of groups, in the long type."""
    n, k = len(K), int(codes.max()) + 1
    w = np.ones(n, np.longdouble) if weights is None else weights.astype(np.longdouble)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(k))
    sums = np.zeros((k, k), np.longdouble)
    height = max(1, (1 << 20) // n)
    for first in range(0, n, height):
        rows = slice(first, first + height)
        columns = np.add.reduceat(K[rows][:, order] * w[order], starts, axis=1)
        np.add.at(sums, codes[rows], columns * w[rows, None])
    return np.add.reduceat(w[order], starts), sums


def dense_bound(objective: Objective, C: Matrix, k: int, **how: Any) -> float:
    """What no partition into k groups costs less than, by (24) with Q = C − A ≥ 0."""
    return objective.lower(partition_bound(C, k, objective.s, **how), k)


def check_cut(data: Any) -> Matrix:
    """Affinities of a normalised cut."""
    B = check_affinity(data, "the affinity matrix")
    if B.min() < 0:
        i, j = np.unravel_index(int(B.argmin()), B.shape)
        raise InputError(
            f"the affinity matrix has negative entries, the lowest {B[i, j]:.3g} at [{i}, {j}], and a normalised cut needs "
            f"affinities >= 0; subtract the minimum, or use objective='kernel', which takes any sign"
        )
    return B
