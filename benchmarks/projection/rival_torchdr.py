"""TorchDR's DoublyStochasticQuadraticAffinity: the projection on the doubly stochastic matrices alone, by dual ascent.

It projects −C/ε for the squared distances C of points; with ε = 1 and points divided by the mean distance to the 12th
neighbour that is the benchmark's matrix `sqdist`. Its answer is divided by n, which is undone here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from problems import Array, affinity

ITERATIONS = 20_000


def quadratic_affinity(X: Array, tol: float) -> tuple[Array, Callable[[], Array]]:
    """The matrix to project, and TorchDR's projection of it (double precision, CPU), ready to be timed."""
    import torch
    from torchdr import DoublyStochasticQuadraticAffinity

    torch.set_num_threads(1)
    A = affinity(X, "sqdist")
    far = np.unravel_index(np.argmin(A), A.shape)
    scale = np.linalg.norm(X[far[0]] - X[far[1]]) / np.sqrt(-A[far])
    scaled = torch.tensor(X / scale, dtype=torch.float64)

    def theirs() -> Array:
        model = DoublyStochasticQuadraticAffinity(
            eps=1.0, tol=tol, max_iter=ITERATIONS, metric="sqeuclidean", zero_diag=False, device="cpu"
        )
        return np.asarray(model(scaled)) * len(X)

    return A, theirs


def is_installed() -> bool:
    """Whether torch and torchdr import."""
    try:
        import torch  # noqa: F401
        import torchdr  # noqa: F401
    except ImportError:
        return False
    return True
