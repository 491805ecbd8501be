"""What the tests of all projections draw and measure with."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from strategies import ORDINARY, symmetric_matrices

Array = np.ndarray[Any, np.dtype[np.float64]]
matrices = symmetric_matrices(sometimes=30)
ordinary = symmetric_matrices(ORDINARY, sometimes=30)
examples = settings(max_examples=60)
few = settings(max_examples=25)


def size(A: Array) -> float:
    return 1 + float(np.linalg.norm(A))


def permuted(A: Array, order: Array) -> Array:
    return A[np.ix_(order, order)]
