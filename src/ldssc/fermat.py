"""Fermat distances: paths through dense regions are short.

With squared distances D, an edge costs D^(p/2), and two points are as far apart as the cheapest path between them is long.
With p = 1 that is the Euclidean distance; the larger p, the more many short steps are preferred to a few long ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.validation import Matrix, as_matrix, check_count, check_positive

_LEAST = 1e-300


def fermat_distances(X: Any, power: float = 2.0, *, n_neighbors: int = 15) -> Matrix:
    """P_ij: the smaller of D_ij^(power/2) and the cheapest path from i to j, D the squared Euclidean distances.

    Paths run along the edges between nearest neighbours (of either point) and those of a minimum spanning tree, so that
    every point is reached. Equal points are at distance zero and count as one neighbour. With power = 2 these are squared
    distances, shortened through dense regions; the units are those of X to the given power.
    """
    X = as_matrix(X, "X")
    power = check_positive(power, "power")
    n_neighbors = check_count(n_neighbors, "n_neighbors")
    if X.size == 0:
        raise InputError(f"X is empty (shape {X.shape}); at least one row and one column are needed")
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    m = len(distinct)
    require_memory(48.0 * m * m + 8.0 * len(X) ** 2, f"the Fermat distances of {len(X)} points", "use fewer points")
    if m == 1:
        return np.zeros((len(X), len(X)))
    largest = float(np.abs(distinct).max())
    unit = 2.0 ** np.frexp(largest)[1]  # so that no square overflows
    distances = pdist(distinct / unit)
    direct = squareform(np.maximum(distances**power, _LEAST))  # zero would mean no edge
    paths = dijkstra(_edges(squareform(distances), direct, min(n_neighbors, m - 1)), directed=False)
    with np.errstate(over="ignore", invalid="ignore"):
        P = np.minimum(np.minimum(paths, paths.T), direct) * unit**power
    if not np.isfinite(P).all():
        raise InputError(
            f"X has entries as large as {largest:.3g}, and their power {power:g} overflows; divide X by it"
        )
    place = place.ravel()
    return P if m == len(X) and np.array_equal(place, np.arange(m)) else np.asarray(P[np.ix_(place, place)])


def _edges(distances: Matrix, cost: Matrix, n_neighbors: int) -> sparse.csr_matrix:
    """Neighbours of either point, and a minimum spanning tree."""
    m = len(distances)
    ranked = distances.copy()
    np.fill_diagonal(ranked, np.inf)
    nearest = np.argpartition(ranked, n_neighbors - 1, axis=1)[:, :n_neighbors]
    joined = np.zeros((m, m), dtype=bool)
    np.put_along_axis(joined, nearest, True, axis=1)
    tree = minimum_spanning_tree(distances).tocoo()
    joined[tree.row, tree.col] = True
    joined |= joined.T
    return sparse.csr_matrix(np.where(joined, cost, 0.0))
