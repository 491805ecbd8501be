"""Projections as pure functions: on S+, on the affine PSD set (5), (20), on the doubly stochastic matrices D (6).

A, F are symmetric n x n and u is the multiplier of the rows. s = √w carries the weights of the points (19) and is None
where all count once; then s = 1. The rows satisfy Fs = s, M = usᵀ + suᵀ, and P = I − ssᵀ/‖s‖² centres.
"""

from ldssc.projections.balance import balance
from ldssc.projections.doubly_stochastic import DoublyStochasticProjection, project_doubly_stochastic
from ldssc.projections.eigen import Eigh, Tally, count_products, counting, eigenvalues, eigh, gram
from ldssc.projections.namespace import namespace, ones_of
from ldssc.projections.rows import center, row_shift, spread, uniform
from ldssc.projections.semidefinite import SemidefiniteProjection, Split, project_semidefinite, split

__all__ = [
    "DoublyStochasticProjection",
    "Eigh",
    "SemidefiniteProjection",
    "Split",
    "Tally",
    "balance",
    "center",
    "count_products",
    "counting",
    "eigenvalues",
    "eigh",
    "gram",
    "namespace",
    "ones_of",
    "project_doubly_stochastic",
    "project_semidefinite",
    "row_shift",
    "split",
    "spread",
    "uniform",
]
