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

from ldssc.kernels import mend, multiply, outer_products, pair, row_sums, support
from ldssc.problem import Point, Problem
from ldssc.projections import Eigh, count_products, eigh, project_doubly_stochastic
from ldssc.validation import Matrix, Vector

Indices = np.ndarray[Any, np.dtype[Any]]

_CG_STEPS = 80
_CG_TOLERANCE = 1e-3
_BLOCK = 60.0  # work of the dense block of the preconditioner, in units of n³


class Face:
    """The space of moves at F. `dtype` is that of the products; the row sums are mended in double precision."""

    def __init__(self, F: Matrix, dtype: Any = np.float64) -> None:
        self.n, self.dtype = len(F), dtype
        self.i, self.j = support(self.n, np.ascontiguousarray(F))
        self.entries = len(self.i)
        self.counts = row_sums(self.n, self.i, self.j, np.ones(self.entries))
        self._tolerance = 1e-13 if dtype == np.float64 else 1e-8

    def values(self, Y: Matrix) -> Vector:
        """The entries of a symmetric Y on the support."""
        return np.asarray(Y[self.i, self.j])

    def mend(self, y: Vector) -> Vector:
        """v for the values y on the support, after which the rows sum to zero."""
        rows = row_sums(self.n, self.i, self.j, y.astype(np.float64, copy=False))
        return np.asarray(mend(self.n, self.i, self.j, self.counts, rows, self._tolerance))

    def project(self, Y: Matrix) -> Matrix:
        """A(Y) for a symmetric Y."""
        y = self.values(Y).astype(np.float64, copy=False)
        v = self.mend(y)
        E = np.zeros_like(Y, dtype=np.float64)
        E[self.i, self.j] = E[self.j, self.i] = y + v[self.i] + v[self.j]
        return E

    def apply(self, y: Vector, V: Matrix) -> Matrix:
        """A(Y)V for the Y with these values on the support."""
        v = self.mend(y).astype(self.dtype, copy=False)
        return np.asarray(multiply(self.n, self.i, self.j, y, v, V))

    def compress(self, T: Matrix, V: Matrix) -> Matrix:
        """A(TVᵀ + VTᵀ)V, n x r, for T and V of this face's type."""
        T, V = np.ascontiguousarray(T), np.ascontiguousarray(V)
        return self.apply(pair(self.n, self.i, self.j, T, V), V)

    def spread(self, V: Matrix) -> Matrix:
        """SV, S the 0/1 support."""
        ones, none = np.ones(self.entries, V.dtype), np.zeros(self.n, V.dtype)
        return np.asarray(multiply(self.n, self.i, self.j, ones, none, np.ascontiguousarray(V)))

    def gram(self, U: Matrix, a: Indices, b: Indices) -> Matrix:
        """G_kl = ⟨A(P_k), P_l⟩ for P_k = u_a u_bᵀ + u_b u_aᵀ, halved where a = b; in single precision where it is large."""
        U = np.ascontiguousarray(U, np.float32)
        m = len(a)
        count_products((self.entries * m**2 / 2 + self.n * m**2 + self.n**2 * m) / 2 / self.n**3)
        a, b = a.astype(np.int32), b.astype(np.int32)
        G, rows = np.zeros((m, m), np.float32, order="F"), np.zeros((self.n, m), np.float32)
        height = max(1, self.n * self.n // max(m, 1))  # n² entries at a time
        for start in range(0, self.entries, height):
            part = slice(start, start + height)
            B = outer_products(self.n, self.i[part], self.j[part], U, a, b, rows)
            G = la.blas.ssyrk(1.0, B.T, beta=1.0, c=G, lower=1, overwrite_c=1)
        root = self._halved_inverse_root(rows)
        G = la.blas.ssyrk(-2.0, root.T, beta=1.0, c=G, lower=1, overwrite_c=1)
        return np.asarray(np.tril(G) + np.tril(G, -1).T, np.float64)

    def _halved_inverse_root(self, rows: Any) -> Any:
        """L⁻¹ rows with J = LLᵀ; J is singular on bipartite parts, along what A ignores."""
        J = np.zeros((self.n, self.n))
        J[self.i, self.j] = J[self.j, self.i] = 1.0
        J.flat[:: self.n + 1] += self.counts + 1e-9 * (1 + self.counts)
        L = la.cholesky(J, lower=True, overwrite_a=True, check_finite=False).astype(np.float32)
        return np.asarray(la.solve_triangular(L, rows, lower=True, check_finite=False))


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
        diagonal = squares.T @ face.spread(squares)
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


def land(problem: Problem, F: Matrix, Z: Matrix, eigh: Eigh = eigh, loops: int = 3) -> Iterator[Matrix]:
    """Feasible matrices near F that are nearly orthogonal to Z (12b), one a loop: candidates for a proof, no more.

    F is on the D side, unmended. V holds the eigenvectors of Z − F above zero: the range of Z, and the directions in which F
    is slightly negative; after the first move as many of the lowest of F itself, without which FV = 0 holds to first order
    only. Entries that a move makes negative are projected away, so that the next loop meets the new support.
    """
    w, U = eigh(Z - F)
    V = U[:, w > 0]
    r = V.shape[1]
    for loop in range(loops if 0 < r < 0.95 * len(F) else 0):
        if loop:
            V = eigh(F)[1][:, :r]
        B = -(V.T @ F @ V)
        E = move_onto(F, V, (B + B.T) / 2)
        if not float(la.norm(E)) <= float(la.norm(F)):
            break
        F = F + E
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
