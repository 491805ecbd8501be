"""Linear systems with diag(d) + S."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from ldssc.validation import Matrix, Vector


def conjugate_gradients(S: Matrix, diagonal: Vector, b: Vector, tolerance: float) -> Vector:
    """Solve (diag(diagonal) + S)v = b, preconditioned by the diagonal."""
    n = len(b)
    H = LinearOperator((n, n), matvec=lambda v: diagonal * v + S @ v, dtype=np.float64)
    D = LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64)
    v, _ = cg(H, b, rtol=max(tolerance, 1e-10), atol=0, maxiter=500, M=D)
    return np.asarray(v)
