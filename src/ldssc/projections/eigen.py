"""Eigendecompositions, counted, and the Gram matrix of eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg as la

from ldssc.projections.namespace import namespace
from ldssc.validation import Matrix, Vector


class Eigh(Protocol):
    """An eigendecomposition, (eigenvalues ascending, eigenvectors): solvers pass one that looks at the clock."""

    def __call__(self, A: Matrix, /) -> tuple[Vector, Matrix]: ...


@dataclass
class Tally:
    """How many eigendecompositions were done, those for eigenvalues alone included, and products in their place.

    `products` are those that come besides, in units of n³: an n x n matrix times r columns is r/n of a unit.
    """

    n_eig: int = 0
    products: float = 0.0
    _rest: float = 0.0

    def add(self, share: float) -> None:
        """Work that costs a share of an eigendecomposition."""
        self._rest += share
        self.n_eig, self._rest = self.n_eig + int(self._rest), self._rest % 1


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)


def count_products(units: float) -> None:
    """Add to the tally of this context, where there is one."""
    if (tally := _TALLY.get()) is not None:
        tally.products += units


@contextmanager
def counting(tally: Tally) -> Iterator[Tally]:
    """Within this context every eigendecomposition is added to the tally."""
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


def _count() -> None:
    if (tally := _TALLY.get()) is not None:
        tally.n_eig += 1


def eigh(A: Matrix, /) -> tuple[Vector, Matrix]:
    """All eigenpairs of a symmetric matrix, any namespace; in NumPy LAPACK's slower driver where the fast one fails."""
    _count()
    if not isinstance(A, np.ndarray):
        w, U = namespace(A).linalg.eigh(A)
        return w, U
    try:
        w, U = la.eigh(A, driver="evd" if len(A) > 1 else "ev", check_finite=False)  # SciPy 1.12 fails at n = 1
    except la.LinAlgError:
        _count()
        w, U = la.eigh(A, driver="ev", check_finite=False)
    return w, U


def eigenvalues(A: Matrix) -> Vector:
    """All eigenvalues of a symmetric matrix, ascending; any namespace."""
    _count()
    if not isinstance(A, np.ndarray):
        w: Vector = namespace(A).linalg.eigvalsh(A)
        return w
    return np.asarray(la.eigvalsh(A, driver="ev", check_finite=False))


def gram(V: Matrix) -> Matrix:
    """V Vᵀ, symmetric to the last bit; any namespace."""
    count_products(V.shape[1] / max(V.shape[0], 1))
    G = V @ V.T
    G = G + G.T  # not in place: G.T may be a view of G
    G *= 0.5
    return G
