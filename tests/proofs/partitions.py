"""All partitions of a few points, and what they cost by the definitions: in floating point, and in fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
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


def exact_cost(objective: str, data: np.ndarray, w: np.ndarray, labels: np.ndarray) -> Fraction:
    """The cost of one partition of the very numbers given, in fractions."""
    rows = [[Fraction(float(x)) for x in row] for row in data]
    weight = [Fraction(float(x)) for x in w]
    total = Fraction(0)
    for group in range(int(labels.max()) + 1):
        inside = [i for i, label in enumerate(labels) if label == group]
        mass = sum(weight[i] for i in inside)
        if objective == "kmeans":
            for column in range(len(rows[0])):
                centre = sum(weight[i] * rows[i][column] for i in inside) / mass
                total += sum(weight[i] * (rows[i][column] - centre) ** 2 for i in inside)
            continue
        pairs = sum(weight[i] * weight[j] * rows[i][j] for i in inside for j in inside)
        if objective == "kernel":
            total += sum(weight[i] * rows[i][i] for i in inside) - pairs / mass
        else:
            degree = sum(weight[i] * weight[j] * rows[i][j] for i in inside for j in range(len(rows)))
            total += (degree - pairs) / degree
    return total


def partition_matrix(labels: np.ndarray, s: np.ndarray) -> np.ndarray:
    """G_W: s_i s_j / (weight of the group) where i and j share a group."""
    same = (labels[:, None] == labels[None, :]) * np.outer(s, s)
    return same / (same * np.outer(s, s)).sum(axis=1, keepdims=True) * (s**2)[:, None]
