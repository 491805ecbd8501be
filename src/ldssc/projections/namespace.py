"""Arrays of any namespace: the functions that go with an array, its device and its precision.

Where a docstring of this package says "any namespace", the arrays may come from NumPy or from any library of the array
API standard (PyTorch and CuPy through array-api-compat, array-api-strict), in float64 or float32; the answer is of the
same kind, on the same device and in the same precision.
"""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy as compatible_numpy
import numpy as np
from array_api_compat import array_namespace, device

from ldssc.validation import Vector


def namespace(A: Any) -> Any:
    """The array API functions for A."""
    return compatible_numpy if isinstance(A, np.ndarray) else array_namespace(A)


def eps_of(A: Any) -> float:
    """The rounding unit of A's precision."""
    return float(namespace(A).finfo(A.dtype).eps)


def beside(A: Any) -> dict[str, Any]:
    """The keywords that make a new array of A's precision on A's device."""
    return {"dtype": A.dtype, "device": device(A)}


def identity(A: Any) -> Any:
    """I of A's size and kind."""
    return namespace(A).eye(A.shape[0], **beside(A))


def ones_of(A: Any, s: Vector | None) -> Vector:
    """s, or the ones that it stands for; any namespace."""
    ones: Vector = namespace(A).ones(A.shape[0], **beside(A)) if s is None else s
    return ones


def norm(A: Any) -> float:
    """Frobenius norm; any namespace."""
    return float(namespace(A).linalg.vector_norm(A))


def largest(A: Any) -> float:
    """max |A|; any namespace."""
    xp = namespace(A)
    return float(xp.max(xp.abs(A)))


def count(mask: Any) -> int:
    """How many are true; any namespace."""
    xp = namespace(mask)
    return int(xp.sum(xp.astype(mask, xp.int64)))
