"""An outside auditor: knows (12a) and nothing of the library. It judges the arrays of an answer with NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
EPS = 2.0**-52


def multipliers_are_valid(K: Array, Q: Array, Z: Array) -> bool:
    """Q ≥ 0, Z ⪰ 0 to rounding, both symmetric to the last bit."""
    size = 1 + np.linalg.norm(K) + np.linalg.norm(Z)
    symmetric = (Q == Q.T).all() and (Z == Z.T).all()
    return bool(symmetric and Q.min() >= 0 and np.linalg.eigvalsh(Z)[0] >= -1e-13 * size)


def audited_distance(F: Array, K: Array, u: Array, Q: Array, Z: Array, dtype: Any = np.longdouble) -> float:
    """(12a)/‖F‖ with what the rows miss in c, in the type that is asked for."""
    F, K, u, Q, Z = (np.asarray(part).astype(dtype) for part in (F, K, u, Q, Z))
    a = np.sqrt(((F - (K + u[:, None] + u[None, :] + Q + Z)) ** 2).sum())
    c = np.maximum((F * Q).sum() + (F * Z).sum(), 0) + 2 * abs((u * (F.sum(axis=1) - 1)).sum())
    return float((a + np.sqrt(a * a + 4 * c)) / 2 / np.sqrt((F * F).sum()))


def rounding_of_auditor(F: Array, K: Array, u: Array, Q: Array, Z: Array, dtype: Any = np.float64) -> float:
    """What the auditor's own arithmetic can add to the distance; 0.3 of `eps` n would already be usual."""
    n, eps = len(F), float(np.finfo(dtype).eps)
    da = 4 * eps * (sum(np.linalg.norm(part) for part in (F, K, Q, Z)) + 2 * np.sqrt(n) * np.linalg.norm(u))
    dc = n * eps * ((F * Q).sum() + np.abs(F * Z).sum() + 4 * np.abs(u).sum())
    return float((da + np.sqrt(4 * dc)) / np.linalg.norm(F))


def true_distance(F: Array, exact: Array, exact_low: Array) -> float:
    """‖F − F*‖/‖F‖ for an F* of 32 digits."""
    F = np.asarray(F).astype(np.longdouble)
    error = (F - exact) - exact_low
    return float(np.sqrt((error**2).sum()) / np.sqrt((F**2).sum())) if F.any() else np.inf
