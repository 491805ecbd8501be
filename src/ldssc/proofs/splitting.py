"""The relaxation (22) by splitting: one matrix V, a projection (20) of low rank, and passes over rows.

With Y the multiplier of G = N ≥ 0 and a weight ρ, the alternating direction method for (22) is, on V = G + Y/ρ:

    G ← projection (20) of |V| + A/ρ,     V ← αG + (1 − α)max(V, 0) + min(V, 0)

N = max(V, 0) is the nonnegative side, Q = ρ max(−V, 0) the multiplier that goes into the bound (24).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from ldssc.projections import center
from ldssc.proofs.bounds import slices
from ldssc.proofs.subspace import Subspace
from ldssc.validation import Matrix, Vector

_RELAX = 1.6
_UNEVEN, _FACTOR = 2.5, 1.6
_RARER = 1.5
_INEXACT = 1e-3
_DROWNS = 1e3


@dataclass
class Splitting:
    """Where the method stands: V and ρ; the last G is ssᵀ/‖s‖² + LLᵀ."""

    A: Matrix
    s: Vector
    k: int
    V: Matrix
    rho: float
    L: Matrix
    size: float

    @classmethod
    def start(cls, A: Matrix, s: Vector, k: int, V: Matrix | None = None, rho: float | None = None) -> Splitting:
        """From nothing, or from an earlier V and ρ. Only PAP matters; it is held where A would drown it in rounding."""
        centred = center(A, s)
        size = float(la.norm(centred))
        if float(la.norm(A)) > _DROWNS * size:
            A = centred
        del centred
        rho = rho or (2 * size / k**0.5 if size > 0 else 1.0)
        return cls(A, s, k, np.zeros_like(A) if V is None else V, rho, np.zeros((len(A), 0)), size)

    def __post_init__(self) -> None:
        self._B: Matrix | None = None
        self._subspace = Subspace(self.s)
        self._e = self.s / la.norm(self.s)
        self.primal = self.dual = np.inf
        self._seen, self._measured, self._next = np.zeros(2), 0, 1

    def spectral(self) -> None:
        """Begin with the G of the k − 1 leading eigenvectors of A, which is (22) without its signs."""
        pairs = self._subspace.leading(self.A, lambda _: self.k - 1, _INEXACT)
        self.L = pairs.vectors[:, : self.k - 1].copy()
        L = self.factor()
        for rows in slices(len(self.A)):
            np.matmul(L[rows], L.T, out=self.V[rows])

    def step(self, *, measure: bool = False) -> None:
        """One iteration; with `measure`, the two residuals relative to what they are residuals of, and ρ after them."""
        B = self._B = np.empty_like(self.V) if self._B is None else self._B
        for rows in slices(len(self.A)):
            np.abs(self.V[rows], out=B[rows])
            B[rows] += self.A[rows] * (1 / self.rho)
        pairs = self._subspace.leading(B, self._wanted, _INEXACT)
        theta = threshold(pairs.values, self.k - 1)
        rise = pairs.values - theta
        keep = rise > 0
        self.L = pairs.vectors[:, keep] * np.sqrt(rise[keep])
        self._move(measure)

    def _wanted(self, values: Vector) -> int:
        return int((values > threshold(values, self.k - 1)).sum())

    def _move(self, measure: bool) -> None:
        L = self.factor()
        primal = dual = 0.0
        for rows in slices(len(self.A)):
            G, V = L[rows] @ L.T, self.V[rows]
            N = np.maximum(V, 0)
            np.minimum(V, 0, out=V)
            V += _RELAX * G
            V += (1 - _RELAX) * N
            if measure:
                new = np.maximum(V, 0)
                primal += float(np.square(G - new).sum())
                dual += float(np.square(new - N).sum())
        if measure:
            self.primal = (primal / self.k) ** 0.5
            self.dual = self.rho * dual**0.5 / (self.size or 1.0)
            self._balance()

    def _balance(self) -> None:
        """Another ρ where one residual outweighs the other; ever more rarely, or nothing converges."""
        self._seen += np.array([self.primal, self.dual])
        self._measured += 1
        if self._measured < self._next:
            return
        primal, dual = self._seen
        if primal > _UNEVEN * dual:
            self._weigh(_FACTOR)
        elif dual > _UNEVEN * primal:
            self._weigh(1 / _FACTOR)
        self._seen[:] = 0.0
        self._next = max(self._measured + 1, math.ceil(_RARER * self._measured))

    def _weigh(self, factor: float) -> None:
        """Another ρ for the same N and Q."""
        self.rho *= factor
        for rows in slices(len(self.A)):
            V = self.V[rows]
            V += np.minimum(V, 0) * (1 / factor - 1)

    @property
    def Q(self) -> Matrix:
        """ρ max(−V, 0), symmetric to the last bit."""
        Q = np.minimum(self.V, 0)
        Q *= -self.rho
        return np.maximum(Q, Q.T)

    def rest(self) -> None:
        """Give back the memory that only steps need."""
        self._B = None

    def factor(self) -> Matrix:
        """The matrix whose product with its transpose is G."""
        return np.column_stack([self._e, self.L])

    def norm(self) -> float:
        """‖G‖."""
        return float(np.sqrt(1 + np.square(np.square(self.L).sum(axis=0)).sum()))

    def negativity(self) -> tuple[float, float]:
        """‖max(−G, 0)‖, and the size of the lowest entry of G."""
        L = self.factor()
        squares, lowest = 0.0, 0.0
        for rows in slices(len(self.A)):
            G = np.minimum(L[rows] @ L.T, 0)
            squares += float(np.square(G).sum())
            lowest = min(lowest, float(G.min()))
        return squares**0.5, 0.0 - lowest


def threshold(values: Vector, total: float) -> float:
    """The θ of (20) with Σ (λ − θ)₊ = total, from the leading eigenvalues, descending, as far as they are known."""
    if not len(values):
        return 0.0
    thetas = (np.cumsum(values) - total) / np.arange(1, len(values) + 1)
    return float(thetas[np.flatnonzero(values >= thetas)[-1]])
