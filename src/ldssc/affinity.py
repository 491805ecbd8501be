"""From data to an affinity matrix K: kernels, neighbour graphs, precomputed ones, and PCA before them.

Points are the rows a of X; distances are Euclidean, each computed from its own difference, so that duplicates are at
distance zero exactly and K is symmetric exactly. Nothing here iterates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ldssc.embedding import fix_signs, robust_svd
from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.validation import (
    Matrix,
    Vector,
    as_matrix,
    check_affinity,
    check_choice,
    check_count,
    check_positive,
    check_square,
)

#: Outside these sizes squared distances overflow, or all of them vanish.
LARGEST, SMALLEST = 1e150, 1e-150
WEIGHTS = ("gaussian", "binary")
MODES = ("union", "mutual")


@dataclass(frozen=True)
class Affinity:
    """A symmetric affinity matrix, and in words how it was made, chosen scales included."""

    K: Matrix
    description: str


# --- one function an affinity ------------------------------------------------------------------------------------


def median_distance(X: Matrix) -> float:
    """The median of |a_i - a_j| over i < j; of the positive ones where that is zero; 1 where all points are equal."""
    return _choose_delta(_distances(X), None)[0]


def gaussian_affinity(X: Matrix, delta: float | None = None) -> Matrix:
    """K_ij = exp(-|a_i - a_j|^2 / delta^2); delta is the median distance unless given."""
    return fully_connected_affinity(X, delta=delta)


def fully_connected_affinity(
    X: Matrix, *, delta: float | None = None, weights: str = "gaussian", self_loops: bool = True
) -> Matrix:
    """Every pair is joined, with its Gaussian weight (delta as in gaussian_affinity) or with one."""
    distances = _distances(X)
    return _diagonal(_weights(distances, _choose_delta(distances, delta)[0], weights), self_loops)


def knn_affinity(
    X: Matrix,
    n_neighbors: int = 10,
    *,
    delta: float | None = None,
    weights: str = "gaussian",
    mode: str = "union",
    self_loops: bool = True,
) -> Matrix:
    """The k-nearest-neighbour graph as a dense symmetric K, zero where there is no edge.

    Two points are joined where one ("union") or each ("mutual") is among the n_neighbors nearest others of the other.
    A point is never its own neighbour, its duplicates are; of equally near points the first are taken. Weights are
    Gaussian, delta being the median distance over all pairs unless given, or one; self_loops puts ones on the diagonal.
    """
    distances = _distances(X)
    edges = _edges(squareform(distances), n_neighbors, mode)
    return _diagonal(edges * _weights(distances, _choose_delta(distances, delta)[0], weights), self_loops)


def polynomial_affinity(X: Matrix, degree: float = 3, gamma: float = 1.0, coef0: float = 1.0) -> Matrix:
    """K_ij = (gamma a_i.a_j + coef0)^degree."""
    X = _points(X)
    degree = check_positive(degree, "degree", zero=True)
    gamma = check_positive(gamma, "gamma", zero=True)
    if not isinstance(coef0, Real) or not np.isfinite(coef0):
        raise InputError(f"coef0 must be a finite number, and is {coef0!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        products = X @ X.T
        base = gamma * (products / 2 + products.T / 2) + coef0
        K: Matrix = base**degree
    if not degree.is_integer() and base.min() < 0:
        raise InputError(
            f"degree={degree:g} of a negative number: gamma a.b + coef0 falls to {base.min():.3g}; use a whole degree"
        )
    if not np.isfinite(K).all():
        raise InputError(
            f"the polynomial affinity overflows: gamma a.b + coef0 reaches {np.abs(base).max():.3g}, and degree is "
            f"{degree:g}; divide X by its largest entry, or lower gamma or degree"
        )
    return K


def precomputed_affinity(K: Any) -> Matrix:
    """The given matrix, checked; asymmetry at the level of rounding is averaged away."""
    return check_affinity(K, "K")


def precomputed_knn(D: Any, n_neighbors: int = 10, *, mode: str = "union", self_loops: bool = True) -> Matrix:
    """The 0/1 k-nearest-neighbour graph (as in knn_affinity) of a matrix of distances, dense or sparse.

    In a sparse matrix what is not stored is no neighbour; a stored zero is a distance of zero. D need not be symmetric.
    """
    return _diagonal(_edges(_distance_matrix(D), n_neighbors, mode).astype(np.float64), self_loops)


def pca(X: Matrix, n_components: int) -> Matrix:
    """The scores on the n_components leading principal directions: U S of the SVD of the centred data, signs fixed."""
    X = _points(X)
    k = check_count(n_components, "n_components", high=min(X.shape), high_name="the smaller side of X")
    U, s, _ = robust_svd(X - X.mean(axis=0))
    return fix_signs(U[:, :k] * s[:k])


# --- by name, as in scikit-learn's SpectralClustering ------------------------------------------------------------


@dataclass(frozen=True)
class _Options:
    affinity: str
    gamma: float | None
    n_neighbors: int
    degree: float
    coef0: float
    params: Mapping[str, Any]
    n_jobs: int | None

    def take(self, **defaults: Any) -> dict[str, Any]:
        """The kernel_params over their defaults; a name that has none is refused."""
        for name in self.params:
            if name not in defaults:
                raise InputError(
                    f"kernel_params has {name!r}, which affinity={self.affinity!r} does not take; it takes "
                    f"{', '.join(defaults) or 'none (gamma, degree and coef0 are arguments of their own)'}"
                )
        return {**defaults, **self.params}


def build_affinity(
    X: Any,
    affinity: str | Callable[..., float] = "rbf",
    *,
    gamma: float | None = None,
    n_neighbors: int = 10,
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Affinity:
    """The affinity of a name in AFFINITIES, or of a function of two points; parameters as in scikit-learn.

    gamma=None is 1 / delta^2 with delta the median distance for "rbf", 1 for "poly", and scikit-learn's own default for
    its other kernels. n_neighbors is cut to the number of other points. kernel_params: delta for "rbf"; delta, weights,
    mode and self_loops for the graphs as far as they have them; for a function, its keywords. n_jobs is for
    scikit-learn's other kernels and for functions.
    """
    if kernel_params is not None and not isinstance(kernel_params, Mapping):
        raise InputError(f"kernel_params must be a dictionary or None, and is {kernel_params!r}")
    gamma = None if gamma is None else check_positive(gamma, "gamma", zero=True)
    n_neighbors = check_count(n_neighbors, "n_neighbors")
    params = dict(kernel_params or {})
    if callable(affinity):
        return Affinity(_pairwise(X, affinity, n_jobs, params), "a function of two points")
    name = check_choice(affinity, "affinity", AFFINITIES)
    return AFFINITIES[name](X, _Options(name, gamma, n_neighbors, degree, coef0, params, n_jobs))


def _rbf(X: Any, options: _Options) -> Affinity:
    given = options.take(delta=None)["delta"]
    if options.gamma is not None and given is not None:
        raise InputError("gamma and kernel_params['delta'] are both given, and gamma = 1 / delta^2; give one of them")
    distances = _distances(X)
    if options.gamma is not None:
        delta, said = (1 / np.sqrt(options.gamma) if options.gamma else np.inf), f"gamma = {options.gamma:.4g} (given)"
    else:
        delta, said = _choose_delta(distances, given)
    return Affinity(_weights(distances, delta, "gaussian"), f"Gaussian, {said}")


def _poly(X: Any, options: _Options) -> Affinity:
    options.take()
    gamma = 1.0 if options.gamma is None else options.gamma
    K = polynomial_affinity(X, options.degree, gamma, options.coef0)
    return Affinity(K, f"polynomial, ({gamma:g} a.b + {options.coef0:g})^{options.degree:g}")


def _fully_connected(X: Any, options: _Options) -> Affinity:
    p = options.take(delta=None, weights="gaussian", self_loops=True)
    distances = _distances(X)
    delta, said = _choose_delta(distances, p["delta"])
    K = _diagonal(_weights(distances, delta, p["weights"]), p["self_loops"])
    return Affinity(K, f"fully connected graph, {_words(said, p)}")


def _nearest_neighbors(X: Any, options: _Options) -> Affinity:
    p = options.take(delta=None, weights="gaussian", mode="union", self_loops=True)
    distances = _distances(X)
    delta, said = _choose_delta(distances, p["delta"])
    W = _weights(distances, delta, p["weights"])
    k = min(options.n_neighbors, len(W) - 1)
    K = _diagonal(_edges(squareform(distances), k, p["mode"], low=0) * W, p["self_loops"])
    return Affinity(K, f"graph of {_neighbours(k, options)}, {_words(said, p)}")


def _precomputed_nearest_neighbors(D: Any, options: _Options) -> Affinity:
    p = options.take(mode="union", self_loops=True)
    distances = _distance_matrix(D)
    k = min(options.n_neighbors, len(distances) - 1)
    K = _diagonal(_edges(distances, k, p["mode"], low=0).astype(np.float64), p["self_loops"])
    return Affinity(K, f"graph of {_neighbours(k, options)} of the given distances, {_words('', p)}")


def _precomputed(K: Any, options: _Options) -> Affinity:
    options.take()
    K = precomputed_affinity(K)
    if len(K) > 2 and not K.diagonal().any() and K[~np.eye(len(K), dtype=bool)].min() > 0:
        warnings.warn(
            "the precomputed affinities are zero on the diagonal and positive elsewhere, as distances are; if these "
            "are distances D, pass exp(-D**2 / delta**2), or use affinity='precomputed_nearest_neighbors'",
            UserWarning,
            stacklevel=2,
        )
    return Affinity(K, "precomputed")


def _sklearn_kernel(X: Any, options: _Options) -> Affinity:
    options.take()
    gamma = {} if options.gamma is None else {"gamma": options.gamma}
    params = {"degree": options.degree, "coef0": options.coef0, **gamma}
    try:
        K = _pairwise(X, options.affinity, options.n_jobs, params)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"the {options.affinity} kernel cannot take X: {error}") from error
    return Affinity(K, f"{options.affinity} kernel of scikit-learn")


_OWN: dict[str, Callable[[Any, _Options], Affinity]] = {
    "rbf": _rbf,
    "poly": _poly,
    "polynomial": _poly,
    "nearest_neighbors": _nearest_neighbors,
    "fully_connected": _fully_connected,
    "precomputed": _precomputed,
    "precomputed_nearest_neighbors": _precomputed_nearest_neighbors,
}
#: Every name that build_affinity knows: ours, and the rest of scikit-learn's kernels.
AFFINITIES = {**dict.fromkeys(PAIRWISE_KERNEL_FUNCTIONS, _sklearn_kernel), **_OWN}


# --- the parts ---------------------------------------------------------------------------------------------------


def _points(value: Any) -> Matrix:
    X = as_matrix(value, "X")
    if X.size == 0:
        raise InputError(f"X is empty (shape {X.shape}); at least one row and one column are needed")
    largest, spread = float(np.abs(X).max()), float((X.max(axis=0) - X.min(axis=0)).max())
    if largest > LARGEST:
        raise InputError(
            f"X has entries as large as {largest:.3g}, whose squares overflow; divide X by its largest entry"
        )
    if 0 < spread < SMALLEST:
        raise InputError(
            f"X varies by {spread:.3g} at most, and the squares of that vanish; multiply X by a large constant"
        )
    return X


def _distances(X: Any) -> Vector:
    """|a_i - a_j| for i < j, row by row."""
    X = _points(X)
    require_memory(32.0 * len(X) ** 2, f"the affinity of {len(X)} points", "use fewer points")
    return np.asarray(pdist(X), dtype=np.float64)


def _choose_delta(distances: Vector, delta: float | None) -> tuple[float, str]:
    """The width delta, and in words where it comes from."""
    if delta is not None:
        return (width := check_positive(delta, "delta")), f"delta = {width:.4g} (given)"
    if not distances.any():
        return 1.0, "delta = 1 (all points are equal)"
    if median := float(np.median(distances)):
        return median, f"delta = {median:.4g} (median distance)"
    median = float(np.median(distances[distances > 0]))
    return median, f"delta = {median:.4g} (median of the positive distances)"


def _weights(distances: Vector, delta: float, weights: str) -> Matrix:
    """Gaussian or unit weights of all pairs, with a unit diagonal."""
    if check_choice(weights, "weights", WEIGHTS) == "binary":
        return np.ones((n := _side(distances), n))
    with np.errstate(over="ignore", under="ignore"):
        K: Matrix = squareform(np.exp(-((distances / delta) ** 2)))
    np.fill_diagonal(K, 1.0)
    return K


def _side(distances: Vector) -> int:
    return (1 + math.isqrt(1 + 8 * len(distances))) // 2


def _diagonal(K: Matrix, self_loops: bool) -> Matrix:
    if not isinstance(self_loops, bool | np.bool_):
        raise InputError(f"self_loops must be True or False, and is {self_loops!r}")
    np.fill_diagonal(K, 1.0 if self_loops else 0.0)
    return K


def _edges(D: Matrix, n_neighbors: int, mode: str, low: int = 1) -> npt.NDArray[np.bool_]:
    """Where two points are joined; D is square, infinite where there is no neighbour, and its diagonal is not read."""
    k = check_count(n_neighbors, "n_neighbors", low=low, high=len(D) - 1, high_name="the number of other points")
    check_choice(mode, "mode", MODES)
    np.fill_diagonal(D, np.inf)
    stored = np.isfinite(D).sum(axis=1)
    if stored.min() < k:
        row = int(stored.argmin())
        raise InputError(
            f"row {row} of D has distances to {stored[row]} others, fewer than n_neighbors={k}; lower n_neighbors"
        )
    nearest = np.argsort(D, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(chosen, nearest, True, axis=1)
    return chosen | chosen.T if mode == "union" else chosen & chosen.T


def _distance_matrix(D: Any) -> Matrix:
    """A fresh square matrix of distances, infinite where a sparse one stores nothing."""
    dense = check_square(as_matrix(D, "D"), "D")
    if dense.min() < 0:
        row, column = divmod(int(dense.argmin()), len(dense))
        raise InputError(
            f"D has a negative distance, {dense.min():.3g} at [{row}, {column}]; for affinities use 'precomputed'"
        )
    if (own := dense.diagonal()).max() > 1e-8 * dense.max():
        i = int(own.argmax())
        raise InputError(
            f"D[{i}, {i}] is {own[i]:.3g}, and the distance to itself is 0; for affinities use 'precomputed'"
        )
    if not sparse.issparse(D):
        return dense.copy()
    entries = cast(Any, D).tocoo()
    stored = np.zeros(dense.shape, dtype=bool)
    stored[entries.row, entries.col] = True
    return np.where(stored, dense, np.inf)


def _pairwise(X: Any, metric: str | Callable[..., float], n_jobs: int | None, params: dict[str, Any]) -> Matrix:
    X = _points(X)
    require_memory(32.0 * len(X) ** 2, f"the affinity of {len(X)} points", "use fewer points")
    with np.errstate(over="ignore", invalid="ignore"):
        K = pairwise_kernels(X, metric=metric, filter_params=True, n_jobs=n_jobs, **params)
    return check_affinity(K, "K")


def _neighbours(k: int, options: _Options) -> str:
    asked = "" if k == options.n_neighbors else f" ({options.n_neighbors} asked for)"
    return f"{k} nearest neighbours{asked}"


def _words(scale: str, p: Mapping[str, Any]) -> str:
    weights = "0/1 weights" if p.get("weights", "binary") == "binary" else f"Gaussian weights, {scale}"
    loops = "self-loops" if p["self_loops"] else "no self-loops"
    return ", ".join([*([p["mode"]] if "mode" in p else []), weights, loops])
