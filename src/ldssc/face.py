"""The face of D at F, and landing on it: the repair after which the proof is linear in what is left.

Moves E that keep the zeros and the rows of F form a linear space. With S the 0/1 support of F, the orthogonal projection
on it is

    A(Y) = S∘(Y + v1ᵀ + 1vᵀ),   (diag(S1) + S)v = −(S∘Y)1

Landing (12b): the smallest move E after which Vᵀ(F + E)V = 0, V an orthonormal basis of the range of Z. Then ⟨F, Q⟩ and
⟨F, Z⟩ vanish, c = 0 in (12a), and ‖F − F*‖ ≤ a.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.sparse import csr_matrix

from ldssc.problem import Point, Problem
from ldssc.projections import Eigh, eigh, project_doubly_stochastic, spread
from ldssc.validation import Matrix

Indices = np.ndarray[Any, np.dtype[np.intp]]

_CG_STEPS = 80
_CG_TOLERANCE = 1e-3
_BLOCK = 10.0  # work of the dense block of the preconditioner, in units of n³


class Face:
    """The space of moves at F. `dtype` is that of the products; the row sums are mended in double precision."""

    def __init__(self, F: Matrix, dtype: Any = np.float64) -> None:
        support = F > 0
        n = len(F)
        self.dtype = dtype
        self.S = support.astype(dtype)
        counts = support.sum(axis=1).astype(np.float64)
        self.entries = float(counts.sum() + n) / 2
        self._J = support.astype(np.float64)
        self._J.flat[:: n + 1] += counts
        shifted = self._J.copy()
        shifted.flat[:: n + 1] += 1e-9 * (1 + counts)  # J is singular on bipartite parts, along what A ignores
        self._inverse = _inverse(shifted)
        self._work = np.empty((n, n), dtype)
        self._sums = np.empty((n, n), dtype)

    def mend(self, rows: Matrix) -> Matrix:
        """v for given row sums; refined once, for the shift."""
        v = -(self._inverse @ rows)
        return np.asarray(v - self._inverse @ (rows + self._J @ v))

    def project(self, Y: Matrix) -> Matrix:
        """A(Y) for a symmetric Y."""
        E = np.where(self.S > 0, Y, 0.0)
        return np.asarray(E + self.S * spread(self.mend(E.sum(axis=1))))

    def compress(self, T: Matrix, V: Matrix) -> Matrix:
        """A(TVᵀ + VTᵀ)V, n x r, for T and V of this face's type."""
        np.matmul(T, V.T, out=self._work)
        Y = np.add(self._work, self._work.T, out=self._sums)
        Y *= self.S
        v = -(self._inverse @ Y.sum(axis=1, dtype=np.float64)).astype(self.dtype)
        correction = np.add(v[:, None], v[None, :], out=self._work)
        correction *= self.S
        Y += correction
        return np.asarray(Y @ V)

    def gram(self, U: Matrix, a: Indices, b: Indices) -> Matrix:
        """G_kl = ⟨A(P_k), P_l⟩ for P_k = u_a u_bᵀ + u_b u_aᵀ, halved where a = b; in single precision where it is large."""
        i, j = np.nonzero(np.triu(self.S))
        U = U.astype(np.float32)
        n, m = len(U), len(a)
        G, rows = np.zeros((m, m), np.float32), np.zeros((n, m))
        half = np.where(a == b, np.float32(0.5), np.float32(1.0))
        height = max(1, n * n // max(m, 1))  # n² entries at a time
        left, right = U[:, a] * half, U[:, b]
        for start in range(0, len(i), height):
            one, two = i[start : start + height], j[start : start + height]
            B = left[one] * right[two]
            B += right[one] * left[two]
            off = (one != two).astype(np.float32)
            ends = np.concatenate([one, two]), np.tile(np.arange(len(one)), 2)
            rows += csr_matrix((np.concatenate([np.ones_like(off), off]), ends), (n, len(one))) @ B
            B *= np.sqrt(1 + off)[:, None]
            G += B.T @ B
        return G.astype(np.float64) - 2 * rows.T @ (self._inverse @ rows)


def _inverse(J: Matrix) -> Matrix:
    """J⁻¹ of a positive definite J, by its Cholesky factor."""
    factor, _ = la.lapack.dpotrf(J, lower=1, clean=1)
    inverse, _ = la.lapack.dpotri(factor, lower=1)
    inverse = np.tril(inverse)
    return np.asarray(inverse + np.tril(inverse, -1).T)


def pairs_within(r: int, most: int) -> tuple[Indices, Indices]:
    """All pairs a ≤ b of the last columns of r, not more than `most` of them."""
    size = min(r, max(0, int((np.sqrt(8 * most + 1) - 1) / 2)))
    a, b = np.triu_indices(size)
    return r - 1 - a, r - 1 - b


class _Preconditioner:
    """For W ↦ Vᵀ A(VWVᵀ) V: its diagonal, or all of it where that is cheap."""

    def __init__(self, face: Face, V: Matrix) -> None:
        n, r = V.shape
        squares = V * V
        diagonal = squares.T @ (face.S @ squares)
        self.diagonal = np.maximum((diagonal + diagonal.T) / 2, 1e-3 * diagonal.max())
        self.factor = None
        if r * (r + 1) / 2 <= np.sqrt(_BLOCK * n**3 / face.entries):
            self.a, self.b = np.triu_indices(r)
            G = face.gram(V, self.a, self.b)
            G.flat[:: len(G) + 1] += 3e-6 * G.diagonal().max()
            try:
                self.factor = la.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
            except la.LinAlgError:
                self.factor = None

    def __call__(self, R: Matrix) -> Matrix:
        if self.factor is None:
            return np.asarray(R / self.diagonal)
        weighted = R[self.a, self.b] * np.where(self.a == self.b, 1.0, 2.0)
        y = la.cho_solve(self.factor, weighted, check_finite=False)
        W = np.empty_like(R)
        W[self.a, self.b] = W[self.b, self.a] = y
        return W


def move_onto(F: Matrix, V: Matrix, B: Matrix) -> Matrix:
    """The smallest E on the face of F with VᵀEV = B, as nearly as conjugate gradients get there: E = A(VWVᵀ)."""
    face = Face(F)
    V = np.ascontiguousarray(V)
    precondition = _Preconditioner(face, V)
    W, R = np.zeros_like(B), B.copy()
    D = P = precondition(R)
    rho = float(np.vdot(R, D))
    first = smallest = float(la.norm(R))
    best = W
    for _ in range(_CG_STEPS):
        H = V.T @ face.compress(V @ (0.5 * P), V)
        H = (H + H.T) / 2
        curvature = float(np.vdot(P, H))
        if not curvature > 0:
            break
        W = W + rho / curvature * P
        R = R - rho / curvature * H
        size = float(la.norm(R))
        if size < smallest:
            smallest, best = size, W
        if size <= _CG_TOLERANCE * first or size > 1e3 * smallest:
            break
        D = precondition(R)
        rho, before = float(np.vdot(R, D)), rho
        P = D + rho / before * P
    Y = V @ best @ V.T
    return face.project((Y + Y.T) / 2)


def land(problem: Problem, F: Matrix, Z: Matrix, eigh: Eigh = eigh, loops: int = 2) -> Iterator[Matrix]:
    """Feasible matrices near F that are nearly orthogonal to Z (12b), one a loop: candidates for a proof, no more.

    F is on the D side, unmended. V holds the eigenvectors of Z − F above zero: the range of Z, and the directions in which F
    is slightly negative. Entries that a move makes negative are projected away, so that the next loop meets the new support.
    """
    for _ in range(loops):
        w, U = eigh(Z - F)
        V = U[:, w > 0]
        if not 0 < V.shape[1] < 0.95 * len(F):
            break
        B = -(V.T @ F @ V)
        F = F + move_onto(F, V, (B + B.T) / 2)
        if not np.isfinite(F).all():
            break
        if F.min() < 0:
            F = project_doubly_stochastic(F).F
        yield problem.make_feasible(F)


def land_point(problem: Problem, point: Point, eigh: Eigh = eigh) -> Iterator[Point]:
    """The landings of a point of the D side, with its multipliers: F = Π_D(A + Z) anew, without the identity of (13)."""
    if problem.s is not None or problem.trace is not None or not point.Z.any():
        return
    F = project_doubly_stochastic(problem.A + point.Z, point.u).F
    for landed in land(problem, F, point.Z, eigh):
        yield point._replace(F=landed)
