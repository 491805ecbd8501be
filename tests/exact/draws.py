"""The matrices K of the exact cases: one function a class; `draw(rng, n)` gives a label and a symmetric matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int], tuple[str, Array]]


def mirrored(A: Array) -> Array:
    return np.triu(A) + np.triu(A, 1).T


def squared_distances(X: Array) -> Array:
    return mirrored(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def blobs(rng: np.random.Generator, n: int) -> Array:
    centres = rng.uniform(-3, 3, size=(min(3, max(2, n // 3)), 2))
    return centres[np.arange(n) % len(centres)] + rng.normal(scale=0.5, size=(n, 2))


def ring(rng: np.random.Generator, n: int) -> Array:
    angle = 2 * np.pi * (np.arange(n) + rng.uniform(-0.3, 0.3, size=n)) / n
    return rng.uniform(0.8, 1.2, size=(n, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])


def gaussian(X: Array, factor: float) -> Array:
    """exp(-d^2/delta^2), delta = factor times the median distance."""
    D = squared_distances(X)
    delta2 = factor**2 * np.median(D[np.triu_indices(len(D), 1)])
    return np.exp(-D / delta2)


def width(rng: np.random.Generator) -> float:
    return float(rng.choice([0.3, 0.6, 1.0, 2.0]))


def random_symmetric(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    return "", mirrored(rng.uniform(0, 1, size=(n, n)))


def gaussian_blobs(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    factor = width(rng)
    return f"width{factor}", gaussian(blobs(rng, n), factor)


def gaussian_ring(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    factor = width(rng)
    return f"width{factor}", gaussian(ring(rng, n), factor)


def zero_diagonal(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    factor = width(rng)
    K = gaussian((blobs if rng.random() < 0.6 else ring)(rng, n), factor)
    np.fill_diagonal(K, 0.0)
    return f"width{factor}", K


def minus_distances(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    scale = float(rng.choice([0.03, 0.1, 0.3, 1.0]))
    return f"scale{scale}", -scale * squared_distances(blobs(rng, n))


def neighbours(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    """Union graph of k nearest neighbours, 0/1 or Gaussian weights, zero diagonal."""
    X = (blobs if rng.random() < 0.6 else ring)(rng, n)
    k = int(rng.integers(2, max(3, n // 2)))
    D = squared_distances(X) + np.diag(np.full(n, np.inf))
    near = np.zeros((n, n), dtype=bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, :k], True, axis=1)
    binary = rng.random() < 0.5
    weights = np.ones((n, n)) if binary else gaussian(X, 1.0)
    return f"k{k}-{'binary' if binary else 'weighted'}", np.where(near | near.T, weights, 0.0)


def neighbours_loops(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    label, K = neighbours(rng, n)
    np.fill_diagonal(K, 1.0)
    return label, K


def low_rank(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    rank = int(rng.integers(1, min(4, n)))
    X = rng.normal(size=(n, rank))
    signs = rng.choice([-1.0, 1.0], size=rank, p=[0.25, 0.75])
    return f"rank{rank}", mirrored((X * signs) @ X.T)


def identity_plus_constant(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    """(16). Dyadic numbers, so that the sums are exact."""
    alpha, beta = {2: -0.75, 3: 0.25, 5: 1.875, 8: 0.8125, 12: -0.125}[n], rng.integers(-64, 65) / 32
    return f"alpha{alpha}", alpha * np.eye(n) + beta * np.ones((n, n))


def feasible(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    """Feasible to the last bit: blocks of 1, 2 or 4 points, or (I + sum of w (P + P')/2)/2 with dyadic weights w."""
    if n in (3, 8):
        size = np.array([4] * (n // 4) + [2] * (n % 4 // 2) + [1] * (n % 2))
        group = rng.permutation(np.repeat(np.arange(len(size)), size))
        return "membership", (group[:, None] == group[None, :]) / size[group]
    K = 8 * np.eye(n)
    for weight in (4, 2, 1, 1):
        P = np.eye(n)[rng.permutation(n)]
        K += weight * (P + P.T) / 2
    return "mixture", K / 16


def large(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    label, K = [zero_diagonal, random_symmetric, neighbours][int(rng.integers(3))](rng, n)
    return label, 1e3 * K


def small(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    label, K = [zero_diagonal, random_symmetric, minus_distances][int(rng.integers(3))](rng, n)
    return label, 1e-3 * K


def block_diagonal(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    """No affinity between two groups; zero diagonal in one of them."""
    cut = n // 2
    K = np.zeros((n, n))
    K[:cut, :cut] = zero_diagonal(rng, cut)[1]
    K[cut:, cut:] = 2 * gaussian(blobs(rng, n - cut), 1.0)
    return f"blocks{cut}+{n - cut}", K


def repeated_rows(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    m = (n + 1) // 2
    copies = np.sort(np.concatenate([np.arange(m), rng.integers(0, m, size=n - m)]))
    base = (zero_diagonal if rng.random() < 0.5 else random_symmetric)(rng, m)[1]
    return "", base[np.ix_(copies, copies)]


def negative_entries(rng: np.random.Generator, n: int) -> tuple[str, Array]:
    return "", mirrored(rng.normal(size=(n, n)))


CLASSES: dict[str, tuple[Draw, list[int]]] = {  # name: draw, the n of each case
    "random-symmetric": (random_symmetric, [2, 3, 4, 5, 6, 8, 10, 12]),
    "gaussian-blobs": (gaussian_blobs, [3, 5, 6, 7, 9, 10, 11, 12]),
    "gaussian-ring": (gaussian_ring, [3, 5, 6, 8, 9, 10, 12]),
    "gaussian-zero-diagonal": (zero_diagonal, [3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 12]),
    "minus-squared-distances": (minus_distances, [2, 4, 6, 7, 8, 10, 12]),
    "knn-graph": (neighbours, [5, 6, 7, 8, 9, 10, 11, 12]),
    "knn-graph-self-loops": (neighbours_loops, [5, 6, 7, 8, 9, 10, 11, 12]),
    "low-rank": (low_rank, [3, 4, 5, 6, 7, 8, 10, 12]),
    "identity-plus-constant": (identity_plus_constant, [2, 3, 5, 8, 12]),
    "already-feasible": (feasible, [3, 5, 8, 11]),
    "scale-1e3": (large, [4, 6, 8, 10, 12]),
    "scale-1e-3": (small, [4, 6, 8, 10, 12]),
    "block-diagonal": (block_diagonal, [6, 7, 9, 10, 12]),
    "repeated-rows": (repeated_rows, [4, 6, 7, 9, 12]),
    "negative-entries": (negative_entries, [2, 5, 7, 9, 12]),
}
