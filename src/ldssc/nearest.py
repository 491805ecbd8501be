"""The nearest doubly stochastic matrix without semidefiniteness (6), dense or on a sparse support, with its own proof."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ldssc.accurate import EPS
from ldssc.certificate import pose, weigh
from ldssc.exceptions import InputError
from ldssc.mending import heaviest, mend, unopposed
from ldssc.nearest_proof import Measured, Mend, ProjectionCertificate, bound, measure_dense, measure_sparse
from ldssc.problem import Problem, make_rows_exact
from ldssc.projections.doubly_stochastic import dual_of
from ldssc.projections.newton import Multipliers, minimise
from ldssc.projections.rows import spread
from ldssc.projections.sparse import check_largest, check_sparse, check_support, on_both_sides, on_support, pattern_of
from ldssc.solvers.records import Status
from ldssc.validation import Matrix, Vector, check_affinity, check_positive, check_weights


@dataclass(frozen=True, repr=False)
class Projection:
    """The nearest doubly stochastic matrix with its proof: `certificate.distance` bounds ‖F − F*‖/‖F‖.

    F is an array, or a CSR array where the support is sparse. With weights, F is the matrix with Fw = 1, and the multipliers
    u, Q, τ and the distance belong to G = diag(√w) F diag(√w).
    """

    F: Any
    u: Vector
    status: Status
    certificate: ProjectionCertificate
    tol: float
    n_steps: int
    seconds: float
    tau: float = 0.0
    s: Vector | None = None
    A: Any = None

    @property
    def solved(self) -> bool:
        """Whether the distance was proven to be within `tol`."""
        return self.status is Status.SOLVED

    @property
    def G(self) -> Any:
        """The matrix that the proof speaks of: F itself where no weights are given."""
        return _weighed(self.F, self.s)

    @property
    def Q(self) -> Any:
        """max(−(A + M + τI), 0) on the support; computed anew each time."""
        if sparse.issparse(self.A):
            row, col = _ends(self.A)
            s = np.ones(self.A.shape[0]) if self.s is None else self.s
            B = self.A.data + self.u[row] * s[col] + s[row] * self.u[col]
            return _with_data(self.A, np.maximum(-B, 0))
        B = self.A + spread(self.u, self.s)
        B.flat[:: len(B) + 1] += self.tau
        return np.maximum(-B, 0, out=B)

    def __repr__(self) -> str:
        return (
            f"Projection(n={self.F.shape[0]}, status={self.status.name}, distance={self.certificate.distance:.2e}, "
            f"tol={self.tol:.1e}, n_steps={self.n_steps}, seconds={self.seconds:.2f})"
        )


def nearest_doubly_stochastic(
    K: Any,
    *,
    weights: Any = None,
    trace: float | None = None,
    support: Any = None,
    tol: float = 1e-6,
    start: Projection | None = None,
) -> Projection:
    """The doubly stochastic matrix nearest to K: minimise ‖F − K‖² over F = Fᵀ, F1 = 1, F ≥ 0 (6), with its proof.

    With `weights` the problem is (19) and with `trace` (20), both without semidefiniteness. Where K is a SciPy sparse array,
    or `support` is one, F is positive on the stored entries alone, stored zeros included, and comes back as a CSR array: one
    Newton step takes time proportional to their number. `start` is an earlier answer, for a matrix that differs little.

    `certificate.distance` is a proven upper bound on ‖F − F*‖/‖F‖; `status` says whether it is within `tol`.
    """
    began = time.perf_counter()
    tol = check_positive(tol, "tol")
    if sparse.issparse(K) or support is not None:
        return _on_support(K, support, weights, trace, tol, start, began)
    problem = pose(K, weights, trace)
    if (only := problem.only()) is not None:
        n = len(problem)
        certificate = ProjectionCertificate(0.0, 0.0, 4 * n * EPS)
        F = only if problem.root is None else only / np.outer(problem.root, problem.root)
        return Projection(
            F,
            np.zeros(n),
            Status.SOLVED,
            certificate,
            tol,
            0,
            time.perf_counter() - began,
            0.0,
            problem.root,
            problem.A,
        )
    dual = dual_of(problem.A, problem.s, problem.trace)
    at, steps = minimise(dual, _start(start, len(problem), problem.unit))
    F, measured, way = _proven(problem, dual.matrix(at), at, tol)
    return _answer(F, at, measured, way, problem.A, problem.s, problem.unit, tol, steps, began)


def _proven(problem: Problem, F: Matrix, at: Multipliers, tol: float) -> tuple[Matrix, Measured, Mend]:
    """F as it is returned, and its proof; with rows made true by scaling, where A is so large that this proves more."""
    plain = _measured(problem, F, at)
    if bound(*plain[1:])[1] <= tol * plain[1].size:
        return plain
    scaled = _measured(problem, make_rows_exact(F, problem.s), at)
    return min(plain, scaled, key=lambda found: bound(*found[1:])[1])


def _measured(problem: Problem, F: Matrix, at: Multipliers) -> tuple[Matrix, Measured, Mend]:
    if problem.root is not None:
        F = F / np.outer(problem.root, problem.root)
    G = weigh(F, problem.root)
    measured = measure_dense(G, problem.A, problem.s, at, problem.trace)
    heavy = heaviest(G, problem.A, problem.s, at)
    return F, measured, mend(measured, heavy, problem.s, problem.trace, diagonal=True)


def _on_support(
    K: Any, support: Any, weights: Any, trace: float | None, tol: float, start: Projection | None, began: float
) -> Projection:
    if trace is not None:
        raise InputError(f"trace={trace} cannot be prescribed on a sparse support; leave trace out, or pass a full K")
    if support is None:
        name, A = "K", check_sparse(K, "K")
    else:
        name, A = "support", check_sparse(sparse.csr_array(support), "support")
        K = check_sparse(K, "K") if sparse.issparse(K) else check_affinity(K)
        if K.shape != A.shape:
            raise InputError(f"support has shape {A.shape} and K has {K.shape}; they must be equal")
        A = on_support(K, A)
    n = A.shape[0]
    s, unit = None, 1.0
    if weights is not None:
        root = np.sqrt(check_weights(weights, n))
        unit = float(np.sqrt(np.mean(root**2)))
        s = root / unit
        row, col = _ends(A)
        A.data *= root[row] * root[col]
        check_largest(A, "K times the weights")
    dual = pattern_of(A, s)
    check_support(dual, name, weighted=weights is not None, thoroughly=False)
    at, steps = minimise(dual, _start(start, n, unit))
    row, col = _ends(A)
    F = on_both_sides(dual, dual.entries(at), A)
    if s is not None:
        F.data /= (unit * s[row]) * (unit * s[col])
    G = F if s is None else _with_data(F, F.data * ((unit * s[row]) * (unit * s[col])))
    measured = measure_sparse(G, A, s, at)
    heavy = unopposed(A, G.data, A.data, s, at)
    way = mend(measured, heavy, s, None, diagonal=len(dual.diagonal) == n, complete=True)
    if not way.moved <= 1e-3:  # else the proof has shown that there is a doubly stochastic matrix
        check_support(dual, name, weighted=weights is not None, thoroughly=True)
    return _answer(F, at, measured, way, A, s, unit, tol, steps, began)


def _start(start: Projection | None, n: int, unit: float) -> Multipliers | None:
    if start is None:
        return None
    if not isinstance(start, Projection):
        raise InputError(f"start must be an earlier answer of this function, and is {type(start).__name__}")
    if start.u.shape != (n,):
        raise InputError(f"start is an answer with {len(start.u)} rows, and K has {n}; leave start out")
    return Multipliers(start.u * unit, start.tau)


def _answer(
    F: Any,
    at: Multipliers,
    measured: Measured,
    way: Mend,
    A: Any,
    s: Vector | None,
    unit: float,
    tol: float,
    steps: int,
    began: float,
) -> Projection:
    gap, distance = bound(measured, way)
    weight = np.ones(F.shape[0]) if s is None else s
    if s is not None:  # A is rounded, and the projection does not expand
        distance += 4 * EPS * float(np.linalg.norm(A.data if sparse.issparse(A) else A))
    row_sum = float(np.abs(measured.rows / weight).max())
    distance = distance / measured.size if measured.size > 0 else float("inf")
    certificate = ProjectionCertificate(row_sum, gap, distance, measured.excess)
    status = Status.SOLVED if distance <= tol else Status.STALLED
    root = None if s is None else unit * s
    return Projection(F, at.u / unit, status, certificate, tol, steps, time.perf_counter() - began, at.tau, root, A)


def _ends(A: Any) -> tuple[Any, Any]:
    """The row and the column of each stored entry."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices


def _with_data(A: Any, data: Vector) -> Any:
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def _weighed(F: Any, root: Vector | None) -> Any:
    if root is None or not sparse.issparse(F):
        return weigh(F, root)
    row, col = _ends(F)
    return _with_data(F, F.data * (root[row] * root[col]))
