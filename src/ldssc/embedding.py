"""The leading eigenvectors of a normalised affinity F: residuals checked, signs fixed, ambiguity said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.validation import Matrix, Vector, as_matrix, check_count, check_square, symmetrise

#: Rows of F that sum to one within this count as stochastic; only then is an eigenvalue of one a part of the graph.
STOCHASTIC = 1e-6
#: Larger entries overflow where they are squared.
LARGEST = 1e150
Driver = Literal["evr", "evd", "ev"]
#: LAPACK drivers, tried in this order.
DRIVERS: tuple[Driver, ...] = ("evr", "evd", "ev")
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Embedding:
    """The k leading eigenpairs of F, and what there is to say about them."""

    vectors: Matrix  # n x k, orthonormal columns, largest eigenvalue first
    values: Vector  # k, descending
    residual: float  # largest |F v - lambda v| over the pairs, relative to |F|
    n_ones: int  # eigenvalues of F equal to one within rounding; 0 where the rows of F do not sum to one
    message: str  # empty, or one sentence: why these vectors are not the only choice


def spectral_embedding(F: Matrix, n_components: int) -> Embedding:
    """Maximise tr(V^T F V) over V^T V = I: the eigenvectors of the k algebraically largest eigenvalues of F.

    A dense LAPACK solver for the k + 1 leading pairs; residuals and orthonormality are checked to 100 n eps |F|, and
    another driver is tried where they fail. The largest entry of each vector is positive (the first such entry within
    1e-6, so that rounding does not decide). "Equal" below means within 100 n eps |F| plus the largest |F1 - 1|.

    The number of eigenvalues one of a doubly stochastic F is the number of parts into which its graph falls. With more
    of them than k, or with lambda_k = lambda_k+1 otherwise, the vectors are an arbitrary choice: `message` says so.
    """
    F = symmetrise(check_square(as_matrix(F, "F"), "F"), "F")
    n = len(F)
    k = check_count(n_components, "n_components", high=n, high_name="the number of rows of F")
    if (largest := float(np.abs(F).max())) > LARGEST:
        raise InputError(
            f"F has entries as large as {largest:.3g}, whose squares overflow; divide F by its largest entry"
        )
    require_memory(24.0 * n * n, f"an eigendecomposition of {n} points", "use fewer points")
    norm = float(np.abs(F).sum(axis=1).max())  # the infinity norm, an upper bound of |F|_2
    rounding = 100 * n * np.finfo(np.float64).eps
    values, vectors, residual = _leading(F, min(k + 1, n), norm, rounding)
    row_error = float(np.abs(F.sum(axis=1) - 1).max())
    tolerance = rounding * norm + (row_error if row_error <= STOCHASTIC else 0.0)
    n_ones = _count_ones(F, values, tolerance) if row_error <= STOCHASTIC else 0
    return Embedding(vectors[:, :k], values[:k], residual, n_ones, _message(values, k, n_ones, tolerance))


def fix_signs(vectors: Matrix) -> Matrix:
    """Each column times +1 or -1 so that its entry of largest magnitude is positive; near-ties go to the first."""
    size = np.abs(vectors)
    first = np.argmax(size >= size.max(axis=0) * (1 - 1e-6), axis=0)
    signed: Matrix = vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return signed


def robust_svd(A: Matrix) -> tuple[Matrix, Vector, Matrix]:
    """U, s, V^T of a finite matrix; where LAPACK's divide and conquer does not converge, its QR iteration."""
    try:
        U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesdd")
    except linalg.LinAlgError:
        U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return U, s, Vt


def _leading(F: Matrix, k: int, norm: float, rounding: float) -> tuple[Vector, Matrix, float]:
    """The k leading pairs, descending, and their residual; the next LAPACK driver where one fails its check."""
    residual = defect = np.inf
    for driver in DRIVERS:
        try:
            values, vectors = _eigh(F, k, driver)
        except linalg.LinAlgError:
            continue
        if len(values) < k:  # "evr" drops pairs where many eigenvalues are equal
            continue
        errors = np.linalg.norm(F @ vectors - vectors * values, axis=0)
        residual = float(errors.max()) / max(norm, _TINY)
        defect = float(np.abs(vectors.T @ vectors - np.eye(k)).max())
        if residual <= rounding and defect <= rounding:
            return values, fix_signs(vectors), residual
    raise linalg.LinAlgError(
        f"no LAPACK driver finds the {k} leading eigenvectors of F to rounding (relative residual {residual:.1e}, "
        f"orthogonality {defect:.1e}, allowed {rounding:.1e}); check the BLAS library, or scale F to entries around 1"
    )


def _eigh(F: Matrix, k: int, driver: Driver) -> tuple[Vector, Matrix]:
    n = len(F)
    if driver == "evr":
        values, vectors = linalg.eigh(F, subset_by_index=(n - k, n - 1), driver="evr", check_finite=False)
    else:  # these compute all pairs
        values, vectors = linalg.eigh(F, driver=driver, check_finite=False)
    return values[::-1][:k].copy(), vectors[:, ::-1][:, :k].copy()


def _count_ones(F: Matrix, leading: Vector, tolerance: float) -> int:
    """How many eigenvalues are one within tolerance; the rest of the spectrum is computed where it may hold more."""
    ones = np.abs(leading - 1) <= tolerance
    if leading[-1] < 1 - tolerance or len(leading) == len(F):
        return int(ones.sum())
    near = linalg.eigvalsh(F, subset_by_value=(1 - tolerance, 1 + tolerance), check_finite=False)
    return max(len(near), int(ones.sum()))


def _message(values: Vector, k: int, n_ones: int, tolerance: float) -> str:
    if n_ones > k:
        return (
            f"F has {n_ones} eigenvalues equal to one, more than the {k} eigenvectors asked for: its graph falls into "
            f"{n_ones} parts, and the labels depend on an arbitrary choice among them; ask for {n_ones} clusters, or "
            f"connect the graph (a wider kernel, more neighbours)"
        )
    if k < len(values) and values[k - 1] - values[k] <= tolerance:
        return (
            f"eigenvalues {k} and {k + 1} of F are equal within rounding: the {k} leading "
            f"eigenvectors, and the labels made from them, are an arbitrary choice; ask for another number of clusters"
        )
    return ""
