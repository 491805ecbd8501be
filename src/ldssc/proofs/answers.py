"""What solving (22) leaves behind: G as a thin factor, its multipliers, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldssc.certificate import weigh
from ldssc.projections import spread
from ldssc.proofs.rounding import Codes
from ldssc.solvers.records import Record, Status
from ldssc.validation import Matrix, Vector


@dataclass(frozen=True, slots=True)
class RelaxationCertificate:
    """What was measured on G, and what is proven whatever was measured.

    Proven: no feasible G, and so no partition into k groups, has ⟨A, G⟩ above `bound` (24). Measured: `value` = ⟨A, G⟩, and
    the largest violation of each constraint, `row_sum`, `negativity` and `trace`; G is semidefinite because it is a product
    of a matrix with its transpose, so `indefiniteness` is zero. `violation` = ‖max(−G, 0)‖/‖G‖. `feasible_value` belongs to a
    matrix near G that violates nothing, G repaired or a partition: the optimum of (22) lies between it and `bound`.
    """

    row_sum: float
    negativity: float
    indefiniteness: float
    trace: float
    violation: float
    value: float
    feasible_value: float
    bound: float

    @property
    def gap(self) -> float:
        """bound − value; below zero where G, with its negative entries, is better than it could be without."""
        return self.bound - self.value

    @property
    def relative_gap(self) -> float:
        """|gap| / |value|."""
        return abs(self.gap) / abs(self.value) if self.value else float("inf" if self.gap else 0)

    def __str__(self) -> str:
        return (
            f"no partition has a value above {self.bound:.8g} (proven); G has {self.value:.8g}, and a feasible matrix near "
            f"it {self.feasible_value:.8g}; rows are right within {self.row_sum:.1e}, the trace within {self.trace:.1e}, no "
            f"entry is below {0.0 - self.negativity:.1e}"
        )


@dataclass(frozen=True, repr=False)
class Relaxation:
    """The answer to (22): G = `factor` `factor`ᵀ, its multipliers, and the certificate.

    `labels` are those of the partition that G is, where it is one. With weights, G, u, Q, Z and τ belong to (19).
    """

    factor: Matrix
    u: Vector
    Q: Matrix
    tau: float
    s: Vector | None
    n_clusters: int
    status: Status
    certificate: RelaxationCertificate
    history: tuple[Record, ...]
    tol: float
    n_iter: int
    n_eig: int
    seconds: float
    labels: Codes | None
    A: Matrix

    @cached_property
    def G(self) -> Matrix:
        """The matrix of (22): rows and trace right, semidefinite, entries no lower than −`certificate.negativity`."""
        return np.asarray(self.factor @ self.factor.T)

    @property
    def F(self) -> Matrix:
        """diag(s)⁻¹ G diag(s)⁻¹ (19), with Fw = 1; G itself where no weights are given."""
        return weigh(self.G, None if self.s is None else 1 / self.s)

    @property
    def Z(self) -> Matrix:
        """−(A + usᵀ + suᵀ + Q + τI), the multiplier of G ⪰ 0: semidefinite up to what has not converged."""
        Z = -(self.A + spread(self.u, self.s) + self.Q)
        Z.flat[:: len(Z) + 1] -= self.tau
        return Z

    @cached_property
    def eigenvalues(self) -> Vector:
        """Those of G that are not zero, descending."""
        return np.asarray(np.linalg.svd(self.factor, compute_uv=False) ** 2)

    @property
    def tightness(self) -> float:
        """‖G‖²/k (23): one exactly where G is a partition."""
        return 1.0 if self.labels is not None else min(1.0, float(np.sum(self.eigenvalues**2)) / self.n_clusters)

    @property
    def eigengap(self) -> float:
        """λ_k − λ_(k+1) of G: one where G is a partition."""
        values = np.append(self.eigenvalues, np.zeros(self.n_clusters + 1))
        return float(values[self.n_clusters - 1] - values[self.n_clusters])

    @property
    def solved(self) -> bool:
        """Whether |bound − value| and the negative entries are within `tol`."""
        return self.status is Status.SOLVED

    def __repr__(self) -> str:
        return (
            f"Relaxation(n={len(self.factor)}, n_clusters={self.n_clusters}, status={self.status.name}, "
            f"tightness={self.tightness:.3f}, relative_gap={self.certificate.relative_gap:.1e}, tol={self.tol:.1e}, "
            f"n_iter={self.n_iter}, seconds={self.seconds:.2f})"
        )
