"""A stored pattern as the support: which entries there are, and whether a doubly stochastic matrix fits into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from ldssc.exceptions import InputError
from ldssc.projections.pattern import Pattern
from ldssc.validation import ASYMMETRY, LARGEST_ENTRY, Vector


def check_sparse(K: Any, name: str) -> Any:
    """A square symmetric CSR array in float64 with sorted, unique, finite entries; stored zeros stay. Always new."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"{name} must be square, and has shape {K.shape}")
    if K.shape[0] == 0:
        raise InputError(f"{name} is empty (0 x 0); at least one row is needed")
    if K.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold real numbers, and has dtype {K.dtype}")
    A = sparse.csr_array(K.tocsr(), copy=True).astype(np.float64)
    A.sum_duplicates()
    _check_entries(A.data, A, name)
    return _symmetric(A, name)


def _check_entries(data: Vector, A: Any, name: str) -> None:
    if (bad := np.flatnonzero(~np.isfinite(data))).size:
        row = int(np.searchsorted(A.indptr, bad[0], side="right")) - 1
        raise InputError(
            f"{name} has {bad.size} entries that are NaN or infinite, the first at [{row}, {A.indices[bad[0]]}] "
            f"({data[bad[0]]}); remove or fill them first"
        )
    check_largest(A, name)


def check_largest(A: Any, name: str) -> None:
    """Refuse entries in whose rounding the answer is lost."""
    largest = float(np.abs(A.data).max(initial=0))
    if largest > LARGEST_ENTRY:
        raise InputError(
            f"{name} has entries as large as {largest:.3g}; beyond {LARGEST_ENTRY:.0e} rounding hides the answer, "
            f"whose entries are at most 1: divide {name} by its largest entry first"
        )


def _symmetric(A: Any, name: str) -> Any:
    """The symmetric part, on the same pattern; refused where pattern or entries are not symmetric."""
    T = sparse.csr_array(A.T.tocsr())
    T.sort_indices()
    if not (np.array_equal(A.indptr, T.indptr) and np.array_equal(A.indices, T.indices)):
        raise InputError(
            f"the stored pattern of {name} is not symmetric; pass {name}.maximum({name}.T), or ({name} + {name}.T) / 2, "
            f"whichever you mean"
        )
    worst = float(np.abs(A.data - T.data).max(initial=0))
    if worst > ASYMMETRY * float(np.abs(A.data).max(initial=0)):
        raise InputError(
            f"{name} is not symmetric: the largest |{name} - {name}^T| is {worst:.3g}; pass ({name} + {name}.T) / 2 if "
            f"that is what you mean"
        )
    A.data = A.data / 2 + T.data / 2
    return A


def on_support(K: Any, support: Any) -> Any:
    """K's entries on the stored pattern of `support`, zero where K stores none."""
    pattern = support.copy()
    row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    pattern.data = np.asarray(K[row, pattern.indices], dtype=np.float64).ravel()
    return pattern


def pattern_of(A: Any, s: Vector | None) -> Pattern:
    """The stored upper triangle of a symmetric CSR array."""
    n = A.shape[0]
    row = np.repeat(np.arange(n), np.diff(A.indptr))
    upper = np.flatnonzero(row <= A.indices)
    return Pattern(row[upper], A.indices[upper].astype(np.intp), A.data[upper], s, None, n)


def on_both_sides(pattern: Pattern, f: Vector, A: Any) -> Any:
    """The entries of the upper triangle and their mirror images, on A's pattern."""
    row = np.repeat(np.arange(pattern.n), np.diff(A.indptr))
    upper = np.flatnonzero(row <= A.indices)
    mirror = sparse.csr_array((np.arange(A.nnz), A.indices, A.indptr), shape=A.shape).T.tocsr()
    data = np.empty(A.nnz)
    data[upper] = f
    data[mirror.data[upper]] = f
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def check_support(pattern: Pattern, name: str, *, weighted: bool, thoroughly: bool) -> None:
    """Refuse a pattern into which no doubly stochastic matrix fits; other than thoroughly only what is seen at once.

    One fits exactly if the rows can be matched with the columns: half the permutation and half its transpose. With its
    diagonal stored a pattern holds I.
    """
    stored, n = len(pattern.diagonal), pattern.n
    if stored == n:
        return
    if weighted:
        raise InputError(
            f"{name} stores {stored} of {n} diagonal entries, and weights need all of them in the support; store them, as "
            f"zeros if need be"
        )
    upper = sparse.csr_array((np.ones(len(pattern), np.int8), (pattern.row, pattern.col)), shape=(n, n))
    full = sparse.csr_array(upper + sparse.triu(upper, 1).T)
    alone = _unmatched(full) if thoroughly else _crowded(full)
    if len(alone):
        raise InputError(
            f"no doubly stochastic matrix has the zeros of {name}: {len(alone)} of its rows cannot be matched with columns "
            f"of their own, row {alone[0]} for one; store the diagonal, as zeros if need be, and there is one"
        )


def _crowded(full: Any) -> Any:
    """Rows without entries, and rows whose one entry is in a column that another such row needs."""
    length = np.diff(full.indptr)
    single = np.flatnonzero(length == 1)
    column = full.indices[full.indptr[single]]
    _, first = np.unique(column, return_index=True)
    return np.concatenate([np.flatnonzero(length == 0), np.delete(single, first)])


def _unmatched(full: Any) -> Any:
    # SciPy before 1.13 matches with 32-bit indices only
    places = full.indices.astype(np.int32), full.indptr.astype(np.int32)
    graph = sparse.csr_matrix((np.ones(len(full.indices)), *places), full.shape)
    return np.flatnonzero(maximum_bipartite_matching(graph, perm_type="column") < 0)
