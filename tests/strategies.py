"""Symmetric matrices for Hypothesis, one function a kind, from a seed: a failing example is two numbers and a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int], Array]

SEEDS = st.integers(0, 2**32 - 1)


def mirrored(A: Array) -> Array:
    """Symmetric to the last bit, from the upper triangle."""
    return np.triu(A) + np.triu(A, 1).T


def random(rng: np.random.Generator, n: int) -> Array:
    return mirrored(rng.normal(size=(n, n)))


def positive(rng: np.random.Generator, n: int) -> Array:
    return mirrored(rng.uniform(size=(n, n)))


def low_rank(rng: np.random.Generator, n: int) -> Array:
    rank = int(rng.integers(1, max(2, n // 2)))
    X = rng.normal(size=(n, rank))
    return mirrored((X * rng.choice([-1.0, 1.0], size=rank)) @ X.T)


def repeated_eigenvalues(rng: np.random.Generator, n: int) -> Array:
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return mirrored((basis * rng.choice([-1.0, 0.0, 0.5, 2.0], size=n)) @ basis.T)


def zero_rows(rng: np.random.Generator, n: int) -> Array:
    K = positive(rng, n)
    empty = rng.random(n) < 0.4
    K[empty], K[:, empty] = 0, 0
    return K


def zero_diagonal(rng: np.random.Generator, n: int) -> Array:
    K = gaussian(rng, n)
    np.fill_diagonal(K, 0)
    return K


def feasible(rng: np.random.Generator, n: int) -> Array:
    """In D ∩ S₊, exactly: half the identity, half symmetrised permutations with dyadic weights."""
    K = 8 * np.eye(n)
    for weight in (4, 2, 1, 1):
        P = np.eye(n)[rng.permutation(n)]
        K += weight * (P + P.T) / 2
    return K / 16


def blocks(rng: np.random.Generator, n: int) -> Array:
    K = np.zeros((n, n))
    cut = int(rng.integers(0, n + 1))
    for part in (slice(0, cut), slice(cut, n)):
        size = len(range(n)[part])
        K[part, part] = (zero_diagonal if rng.random() < 0.5 else positive)(rng, size)
    return K


def repeated_rows(rng: np.random.Generator, n: int) -> Array:
    copies = rng.integers(0, max(1, n // 2), size=n)
    return positive(rng, n)[np.ix_(copies, copies)]


def huge(rng: np.random.Generator, n: int) -> Array:
    return 1e6 * random(rng, n)


def tiny(rng: np.random.Generator, n: int) -> Array:
    return 1e-6 * random(rng, n)


def tiniest(rng: np.random.Generator, n: int) -> Array:
    return 1e-300 * random(rng, n)


def constant(rng: np.random.Generator, n: int) -> Array:
    return np.full((n, n), rng.choice([-2.0, 0.0, 0.1, 1.0, 1e4]))


def graph(rng: np.random.Generator, n: int) -> Array:
    return mirrored((rng.random((n, n)) < rng.choice([0.2, 0.5])).astype(float)) * (1 - np.eye(n))


def minus_distances(rng: np.random.Generator, n: int) -> Array:
    return -rng.choice([0.05, 0.5, 5.0]) * squared_distances(rng.normal(size=(n, 2)))


def gaussian(rng: np.random.Generator, n: int) -> Array:
    return np.exp(-rng.choice([0.2, 1.0, 5.0]) * squared_distances(rng.normal(size=(n, 2))))


def squared_distances(X: Array) -> Array:
    return mirrored(((X[:, None] - X[None]) ** 2).sum(axis=2))


ANY: Sequence[Draw] = (
    random,
    positive,
    low_rank,
    repeated_eigenvalues,
    zero_rows,
    zero_diagonal,
    feasible,
    blocks,
    repeated_rows,
    huge,
    tiny,
    tiniest,
    constant,
    graph,
    minus_distances,
    gaussian,
)
#: those with entries of ordinary size, on which answers can be compared to ten digits
ORDINARY: Sequence[Draw] = [kind for kind in ANY if kind not in (huge, tiny, tiniest, constant)]
#: those with entries >= 0
AFFINITIES: Sequence[Draw] = (positive, zero_diagonal, blocks, repeated_rows, graph, gaussian, feasible)


@st.composite
def symmetric_matrices(
    draw: st.DrawFn, kinds: Sequence[Draw] = ANY, *, smallest: int = 1, largest: int = 12, sometimes: int | None = None
) -> Array:
    """A symmetric matrix of `smallest` to `largest` rows, now and then of `sometimes` rows."""
    kind = draw(st.sampled_from(kinds))
    sizes = st.integers(smallest, largest)
    n = draw(sizes if sometimes is None else st.one_of(*[sizes] * 8, st.just(sometimes)))
    seed = draw(SEEDS)
    note(f"{kind.__name__}(np.random.default_rng({seed}), {n})")
    return kind(np.random.default_rng(seed), n)


def random_feasible(rng: np.random.Generator, n: int) -> Array:
    """A matrix in D ∩ S₊ with entries of every size: mixture of I, 11ᵀ/n and normalised membership matrices."""
    parts = [np.eye(n), np.full((n, n), 1 / n), *(membership(rng, n) for _ in range(3))]
    return np.tensordot(rng.dirichlet(np.full(len(parts), 0.5)), parts, axes=1)


def membership(rng: np.random.Generator, n: int) -> Array:
    """WWᵀ of a random partition: 1/size of the group on each pair within it."""
    groups = rng.integers(0, rng.integers(1, n + 1), size=n)
    same = (groups[:, None] == groups[None, :]).astype(float)
    return same / same.sum(axis=1)
