"""All partitions of a few points, and what they cost by the definitions, with plain loops and fractions of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np


@cache
def partitions(n: int, k: int) -> np.ndarray:
    """Every partition of n points into k groups, none empty, one row each: restricted growth strings."""

    def grow(prefix: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        left = n - len(prefix)
        if left == 0:
            yield prefix
            return
        for label in range(min(used + 1, k)):
            now = max(used, label + 1)
            if k - now <= left - 1:
                yield from grow((*prefix, label), now)

    return np.array(list(grow((), 0)))


def all_costs(objective: str, data: np.ndarray, w: np.ndarray, k: int) -> np.ndarray:
    """The cost of every partition into k groups."""
    labels = partitions(len(data), k)
    onehot = (labels[:, :, None] == np.arange(k)).astype(float)  # partition, point, group
    mass = np.einsum("pir,i->pr", onehot, w)
    if objective == "kmeans":
        centres = np.einsum("pir,i,id->prd", onehot, w, data) / mass[:, :, None]
        away = data[None, :, None, :] - centres[:, None]
        return np.einsum("pir,i,pird->p", onehot, w, away**2)
    pairs = np.einsum("pir,pjr,ij,i,j->pr", onehot, onehot, data, w, w, optimize=True)
    if objective == "kernel":
        return (w * data.diagonal()).sum() - (pairs / mass).sum(axis=1)
    degrees = np.einsum("pir,ij,i,j->pr", onehot, data, w, w, optimize=True)
    return ((degrees - pairs) / degrees).sum(axis=1)
