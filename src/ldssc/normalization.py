"""K -> normalised K: every row of the paper's tables, one short function each.

What is meant is always the symmetric doubly stochastic matrix nearest to K; they differ in what "near" means.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldssc.exceptions import InputError
from ldssc.problem import make_rows_exact
from ldssc.projections import center, project_doubly_stochastic
from ldssc.solvers import Result, project
from ldssc.validation import Matrix, Vector, check_affinity, check_choice, check_count, check_positive


def none(K: Any) -> Matrix:
    """NO: K itself; nothing is minimised."""
    return check_affinity(K)


def ratio_cut(K: Any) -> Matrix:
    """RC: K − D + I with D = diag(K1), a nearest matrix to K with unit rows in the L1 norm; signs are let go."""
    F = check_affinity(K, nonnegative_for="the ratio cut")
    F.flat[:: len(F) + 1] += 1 - F.sum(axis=1)
    return F


def normalized_cut(K: Any) -> Matrix:
    """NC: D^-½ K D^-½ with D = diag(K1), one step towards the nearest in relative entropy (see `sinkhorn`)."""
    K = check_affinity(K, nonnegative_for="the normalised cut")
    return _scale_once(K, _degrees(K, "the normalised cut"))


def sinkhorn(K: Any, *, tol: float = 1e-10, max_iter: int = 10_000) -> Matrix:
    """The doubly stochastic matrix nearest to K in relative entropy: K ← D^-½ K D^-½ to its limit.

    It minimises Σ F_ij log(F_ij / K_ij) over F = Fᵀ, F1 = 1, F ≥ 0. Where no doubly stochastic matrix has the zeros of
    K (a star, say), the iteration does not converge and a ConvergenceWarning gives the row error that was reached.
    """
    tol, max_iter = check_positive(tol, "tol"), check_count(max_iter, "max_iter")
    F = check_affinity(K, nonnegative_for="Sinkhorn's iteration")
    for _ in range(max_iter):
        degrees = _degrees(F, "Sinkhorn's iteration")
        if float(np.abs(degrees - 1).max()) <= tol:
            return F
        F = _scale_once(F, degrees)
    warnings.warn(
        f"Sinkhorn's iteration stopped after {max_iter} steps with rows off by {np.abs(F.sum(axis=1) - 1).max():.1e}; "
        f"K may have zeros that no doubly stochastic matrix allows: use normalization='frobenius'",
        ConvergenceWarning,
        stacklevel=2,
    )
    return F


def frobenius(K: Any) -> Matrix:
    """FSC: minimise ‖F − K‖² over F = Fᵀ, F1 = 1, F ≥ 0, exactly, by semismooth Newton (6)."""
    return make_rows_exact(project_doubly_stochastic(check_affinity(K)).F)


def frobenius_successive(K: Any, *, n_steps: int = 100) -> Matrix:
    """FSC as Zass and Shashua compute it: project on {F = Fᵀ, F1 = 1}, then on {F ≥ 0}, in turn, `n_steps` times.

    Without Dykstra's correction the limit is doubly stochastic but in general not the nearest such matrix to K.
    """
    n_steps = check_count(n_steps, "n_steps", low=0)
    F = check_affinity(K)
    for _ in range(n_steps):
        F = np.maximum(center(F) + 1 / len(F), 0)
    return F


def semidefinite(K: Any, **options: Any) -> Matrix:
    """LD-SSC: minimise ‖F − K‖² over F = Fᵀ, F1 = 1, F ≥ 0, F ⪰ 0 (1); options as in `project`."""
    return proven_or_warn(project(K, **options)).F


def proven_or_warn(result: Result) -> Result:
    """Pass a result on; say so, once, where its tolerance was not proven."""
    if not result.solved:
        warnings.warn(
            f"solver {result.solver!r}: {result.status.sentence}; distance proven {result.certificate.distance:.1e}, "
            f"asked for {result.tol:.1e}. Raise tol, max_iter or time_limit, or use solver='auto'",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result


NORMALIZATIONS: dict[str, Callable[..., Matrix]] = {
    "none": none,
    "ratio-cut": ratio_cut,
    "normalized-cut": normalized_cut,
    "sinkhorn": sinkhorn,
    "frobenius": frobenius,
    "frobenius-successive": frobenius_successive,
    "semidefinite": semidefinite,
}


def normalize(K: Any, normalization: str = "semidefinite", **options: Any) -> Matrix:
    """The normalised affinity matrix, by name; each name is a function of this module and takes its options."""
    check_choice(normalization, "normalization", NORMALIZATIONS)
    return NORMALIZATIONS[normalization](K, **options)


def _degrees(K: Matrix, what: str) -> Vector:
    degrees: Vector = K.sum(axis=1)
    if (empty := np.flatnonzero(degrees <= 0)).size:
        raise InputError(
            f"{what} divides by row sums, and {empty.size} rows of K are all zero, the first is row {empty[0]}; remove "
            f"these points, give them a self-loop, or use normalization='frobenius' or 'semidefinite'"
        )
    return degrees


def _scale_once(K: Matrix, degrees: Vector) -> Matrix:
    d = 1 / np.sqrt(degrees)
    return np.asarray(K * d[:, None] * d[None, :])
