"""From an embedding to labels: Yu and Shi's discretisation, k-means; exactly k clusters, none empty.

Both work on the distinct rows with their counts, so that equal points always get the same label, and number the
clusters in the order in which they first appear, so that rounding does not rename them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ldssc.embedding import robust_svd
from ldssc.exceptions import InputError
from ldssc.validation import Matrix, Vector, as_matrix, check_choice, check_count, check_positive

Labels = npt.NDArray[np.int64]

#: Rows this short, relative to the longest, are rounding: row normalisation leaves them at zero.
ZERO_ROW = 1e-12
#: Decimals, relative to the largest entry, that distinguish two rows.
DECIMALS = 10
#: Scores and objectives this close count as equal, and the first one wins.
TIE = 1e-10


def discretize(
    vectors: Matrix,
    n_clusters: int | None = None,
    *,
    n_init: int = 10,
    row_normalize: bool = True,
    random_state: Any = None,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> Labels:
    """Minimise |X - VR|^2 over one-hot X (n x k) and orthogonal R (k x k): Yu and Shi, ICCV 2003; V holds the vectors.

    k is the number of vectors unless n_clusters says otherwise; R is then p x k with orthonormal rows or columns.

    Two closed forms in turn: for fixed R each row goes to its largest coordinate of VR; for fixed X the best R comes
    from the SVD of X^T V, and the objective is the sum s of its singular values. A start ends where s grows by less
    than the fraction `tol`, or after `max_iter` rounds; the labels with the largest s are kept.

    The starts are n_init random orthogonal matrices (Haar measure), and one as Yu and Shi choose theirs: k rows of V,
    each as far as can be from the span of those before it, orthogonalised. The random ones are relative to that one:
    VR, and with it the labels, then does not hang on the basis of the space that V spans, which rounding chooses where
    eigenvalues are equal.

    A cluster that loses all its rows gets the row that is furthest from the centre of its own cluster.
    """
    vectors = as_matrix(vectors, "vectors")
    p = vectors.shape[1]
    k = p if n_clusters is None else check_count(n_clusters, "n_clusters")
    n_init = check_count(n_init, "n_init")
    max_iter = check_count(max_iter, "max_iter")
    tol = check_positive(tol, "tol", zero=True)
    rng = as_random_state(random_state)
    points = _distinct(vectors, k, row_normalize)
    if k == 1:
        return np.zeros(len(vectors), dtype=np.int64)
    basis = _orthogonal_rows(points, max(p, k))
    starts = [_orthogonal_rows(points, k), *(basis @ _haar(max(p, k), rng)[:, :k] for _ in range(n_init))]
    best, best_objective = None, -np.inf
    for rotation in starts:
        labels, objective = _alternate(points, rotation, max_iter, tol)
        if best is None or objective > best_objective * (1 + TIE):
            best, best_objective = labels, objective
    assert best is not None
    return _in_order(best[points.inverse])


def kmeans(
    vectors: Matrix, n_clusters: int, *, n_init: int = 10, row_normalize: bool = False, random_state: Any = None
) -> Labels:
    """Minimise the sum of squared distances to the cluster means (Lloyd, k-means++ starts: scikit-learn's KMeans)."""
    vectors = as_matrix(vectors, "vectors")
    k = check_count(n_clusters, "n_clusters")
    n_init = check_count(n_init, "n_init")
    points = _distinct(vectors, k, row_normalize)
    model = KMeans(k, n_init=n_init, random_state=as_random_state(random_state))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer clusters found than asked: filled below
        found = model.fit(points.rows, sample_weight=points.counts).labels_
    return _in_order(_fill_empty(found.astype(np.int64), points, k)[points.inverse])


def assign_labels(
    vectors: Matrix,
    n_clusters: int,
    method: str = "discretize",
    *,
    n_init: int = 10,
    row_normalize: bool | None = None,
    random_state: Any = None,
) -> Labels:
    """Labels by the method of that name; row_normalize=None is its own default (discretize: on, kmeans: off)."""
    labeller = LABELLERS[check_choice(method, "assign_labels", LABELLERS)]
    rest = {} if row_normalize is None else {"row_normalize": row_normalize}
    return labeller(vectors, n_clusters, n_init=n_init, random_state=random_state, **rest)


LABELLERS: dict[str, Callable[..., Labels]] = {"discretize": discretize, "kmeans": kmeans}


def as_random_state(seed: Any) -> np.random.RandomState:
    """scikit-learn's reading of a seed: None, a whole number or a RandomState."""
    try:
        state: np.random.RandomState = check_random_state(seed)
    except ValueError as error:
        raise InputError(
            f"random_state must be None, a whole number >= 0 or a numpy RandomState, and is {seed!r}"
        ) from error
    return state


@dataclass(frozen=True)
class _Points:
    """The distinct rows, how often each occurs, and for each original row the number of its distinct row."""

    rows: Matrix
    counts: Vector
    inverse: npt.NDArray[np.intp]


def _distinct(vectors: Matrix, k: int, row_normalize: bool) -> _Points:
    """At least k distinct points: up to rounding where those are enough, else exactly, before row normalisation."""
    if vectors.size == 0:
        raise InputError(f"vectors is empty (shape {vectors.shape}); at least one row and one column are needed")
    scale = float(np.abs(vectors).max())
    raw = vectors / scale if scale > 0 else vectors
    rows = _unit_rows(raw) if row_normalize else raw
    found = 0
    for key in (np.round(rows, DECIMALS), vectors):
        _, first, inverse, counts = np.unique(
            key + 0.0, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) >= k:
            order = np.argsort(first)  # by appearance: no rotation or rounding of the vectors changes it
            return _Points(rows[first[order]], counts[order].astype(np.float64), np.argsort(order)[inverse.ravel()])
        found = len(first)
    raise InputError(
        f"vectors has only {found} distinct rows, which cannot make {k} non-empty clusters; "
        f"ask for at most {found} clusters"
    )


def _unit_rows(rows: Matrix) -> Matrix:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    zero = norms <= ZERO_ROW * norms.max()
    unit: Matrix = np.where(zero, 0.0, rows / np.where(zero, 1.0, norms))
    return unit


def _haar(k: int, rng: np.random.RandomState) -> Matrix:
    """A random orthogonal matrix: QR of a Gaussian one, its signs fixed so that the measure is uniform."""
    Q, R = np.linalg.qr(rng.standard_normal((k, k)))
    uniform: Matrix = Q * np.where(np.diag(R) < 0, -1.0, 1.0)
    return uniform


def _orthogonal_rows(points: _Points, k: int) -> Matrix:
    """A start from k rows: the first, then each time the one furthest from the span of those chosen; orthogonalised."""
    rest = points.rows.copy()  # what the span of the chosen rows leaves of each
    picks = [int(points.inverse[0])]
    for _ in range(k - 1):
        length = float(np.linalg.norm(rest[picks[-1]]))
        if length > TIE:
            direction = rest[picks[-1]] / length
            rest = rest - np.outer(rest @ direction, direction)
        lengths = np.linalg.norm(rest, axis=1)
        lengths[picks] = -1.0
        picks.append(int(np.argmax(lengths >= lengths.max() - TIE)))
    U, _, Vt = robust_svd(points.rows[picks].T)
    return U @ Vt


def _alternate(points: _Points, rotation: Matrix, max_iter: int, tol: float) -> tuple[Labels, float]:
    """One start of Yu and Shi's alternation, until the objective stops growing."""
    k = rotation.shape[1]
    labels, objective = None, -np.inf
    for _ in range(max_iter):
        scores = points.rows @ rotation
        nearest = np.argmax(scores >= scores.max(axis=1, keepdims=True) - TIE, axis=1)
        proposed = _fill_empty(nearest.astype(np.int64), points, k)
        onehot = np.eye(k)[proposed] * points.counts[:, None]
        U, s, Vt = robust_svd(onehot.T @ points.rows)
        if labels is not None and s.sum() <= objective * (1 + tol):
            break
        labels, objective = proposed, float(s.sum())
        rotation = (U @ Vt).T
    assert labels is not None
    return labels, objective


def _fill_empty(labels: Labels, points: _Points, k: int) -> Labels:
    """Give each empty cluster the row furthest from the centre of its own, taken where more than one row is.

    There is always such a cluster, for the rows are distinct and at least k.
    """
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        sizes = np.bincount(labels, minlength=k)
        weights = np.bincount(labels, points.counts, minlength=k)
        sums = np.zeros((k, points.rows.shape[1]))
        np.add.at(sums, labels, points.rows * points.counts[:, None])
        centres = sums / np.maximum(weights, 1)[:, None]
        distance = np.linalg.norm(points.rows - centres[labels], axis=1)
        distance[sizes[labels] < 2] = -1.0
        labels[np.argmax(distance >= distance.max() * (1 - TIE))] = empty
    return labels


def _in_order(labels: Labels) -> Labels:
    """Number the clusters 0, 1, ... as they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[inverse.ravel()].astype(np.int64)
