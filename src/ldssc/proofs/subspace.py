"""The few leading eigenpairs of a matrix that changes a little at a time: a filtered subspace that stays warm.

The block X (n x m, orthonormal, orthogonal to s) is multiplied by a Chebyshev polynomial of the matrix, which is small on
the unwanted end of the spectrum and grows fast beyond it, then rotated to Ritz vectors. Guard columns beyond the wanted ones
keep the next eigenvectors in sight. Nothing is proven here: `bounds` proves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from ldssc.projections import center, eigh
from ldssc.validation import Matrix, Vector

#: Rows, up to which all eigenpairs are found at once.
FULL = 120
_DEGREE = 4
_LANCZOS = 6
_ROUNDS = 40


class Pairs(NamedTuple):
    """Eigenpairs as computed, largest first."""

    values: Vector
    vectors: Matrix


class Subspace:
    """Leading eigenpairs of a symmetric B on the complement of s, warm from call to call."""

    def __init__(self, s: Vector) -> None:
        self.n = len(s)
        self.e = s / la.norm(s)
        self._rng = np.random.default_rng(0)
        self.X: Matrix | None = None
        self._low = self._rng.standard_normal(self.n)

    def leading(self, B: Matrix, enough: Callable[[Vector], int], tol: float) -> Pairs:
        """At least the wanted pairs, largest first; `enough` says of Ritz values, descending, how many are wanted.

        More than there are means that the block must grow. The wanted pairs have residuals below `tol` times the
        largest size of a Ritz value, if that many rounds suffice.
        """
        if self.n <= FULL:
            return all_pairs(B, self.e)
        if self.X is None:
            self.X = self._orthonormal(self._rng.standard_normal((self.n, min(24, self.n // 4))))
        X, fresh = self.X, True
        low = self._lowest(B)
        Y = self._product(B, X)
        for _ in range(_ROUNDS):
            values, X, Y, residuals = _ritz(X, Y)
            wanted = enough(values)
            if wanted > self.n // 4:
                self.X = None
                return all_pairs(B, self.e)
            scale = float(np.abs(values).max())
            done = not fresh and float(residuals[:wanted].max(initial=0.0)) <= tol * scale
            size = wanted + max(4, wanted // 4)
            if done and wanted <= len(values) - 2:
                self.X = X[:, :size]
                return Pairs(values, X)
            if len(values) < size:
                X = np.column_stack([X, self._rng.standard_normal((self.n, size - len(values)))])
            X = self._filtered(B, X, low, values)
            Y, fresh = self._product(B, X), False
        self.X = X
        return Pairs(values, X) if fresh else Pairs(*_ritz(X, Y)[:2])

    def _product(self, B: Matrix, X: Matrix) -> Matrix:
        Y = B @ X
        return np.asarray(Y - np.outer(self.e, self.e @ Y))

    def _orthonormal(self, X: Matrix) -> Matrix:
        X = X - np.outer(self.e, self.e @ X)
        return np.asarray(np.linalg.qr(X)[0])

    def _lowest(self, B: Matrix) -> float:
        """A number below the spectrum, in practice: the lowest Ritz value of a few Lanczos steps less its residual."""
        V = np.zeros((self.n, _LANCZOS))
        v = self._low - (self.e @ self._low) * self.e
        v /= la.norm(v)
        T = np.zeros((_LANCZOS, _LANCZOS))
        beta, steps = 0.0, 0
        for j in range(_LANCZOS):
            V[:, j], steps = v, j + 1
            w = self._product(B, v[:, None])[:, 0]
            T[j, j] = v @ w
            w -= V[:, :steps] @ (V[:, :steps].T @ w)
            w -= V[:, :steps] @ (V[:, :steps].T @ w)
            beta = float(la.norm(w))
            if beta <= 1e-12 * abs(T[j, j]) or steps == _LANCZOS:
                break
            T[j, j + 1] = T[j + 1, j] = beta
            v = w / beta
        values, vectors = np.linalg.eigh(T[:steps, :steps])
        self._low = V[:, :steps] @ vectors[:, 0]
        return float(values[0]) - beta * abs(float(vectors[-1, 0]))

    def _filtered(self, B: Matrix, X: Matrix, low: float, values: Vector) -> Matrix:
        """X times a Chebyshev polynomial of B, small on [low, smallest Ritz value], scaled to one at the largest."""
        top, cut = float(values[0]), float(values[-1])
        if not low < cut < top:
            return self._orthonormal(self._product(B, X))
        half, middle = (cut - low) / 2, (cut + low) / 2
        sigma = first = half / (top - middle)
        before, X = X, (self._product(B, X) - middle * X) * (sigma / half)
        for _ in range(_DEGREE - 1):
            sigma_next = 1 / (2 / first - sigma)
            after = (self._product(B, X) - middle * X) * (2 * sigma_next / half) - (sigma * sigma_next) * before
            before, X, sigma = X, after, sigma_next
        return self._orthonormal(X)


def all_pairs(B: Matrix, s: Vector | None = None) -> Pairs:
    """All eigenpairs of B, or with s of PBP on the complement of s."""
    if s is None:
        w, U = eigh(B)
        return Pairs(w[::-1], U[:, ::-1])
    far = 2 * float(la.norm(B)) + 1.0
    w, U = eigh(center(B, s) - (far / float(s @ s)) * np.outer(s, s))  # s goes to the low end
    return Pairs(w[1:][::-1], U[:, 1:][:, ::-1])


def _ritz(X: Matrix, Y: Matrix) -> tuple[Vector, Matrix, Matrix, Vector]:
    """Ritz values, descending, their vectors, the products with those, and the lengths of the residuals; Y = BX."""
    T = X.T @ Y
    values, U = np.linalg.eigh((T + T.T) / 2)
    values, U = values[::-1], U[:, ::-1]
    X, Y = X @ U, Y @ U
    return values, X, Y, np.asarray(la.norm(Y - X * values, axis=0))
