"""Whether one method beats another over paired cells: tests, not adjectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from ldssc.exceptions import InputError
from ldssc.validation import Vector

TIE = 1e-9


class Signs(NamedTuple):
    """How often the first is lower, higher, equal; the chance of that or more under equal odds, ties left out."""

    wins: int
    losses: int
    ties: int
    p: float

    def __str__(self) -> str:
        return f"{self.wins} better, {self.losses} worse, {self.ties} equal (sign test p = {self.p:.2g})"


class Difference(NamedTuple):
    """The mean of first − second, and its bootstrap interval of 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def sign_test(first: Sequence[float], second: Sequence[float]) -> Signs:
    """Two-sided sign test of paired errors."""
    a, b = _paired(first, second)
    wins, losses = int((a < b - TIE).sum()), int((a > b + TIE).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return Signs(wins, losses, len(a) - wins - losses, p)


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], groups: Sequence[str] | None = None, n: int = 10_000, seed: int = 0
) -> Difference:
    """Resample pairs; with `groups`, whole groups, for cells of one data set are no independent evidence."""
    a, b = _paired(first, second)
    d, rng = a - b, np.random.default_rng(seed)
    names = np.arange(len(d)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    sums, sizes = np.bincount(names, d), np.bincount(names)
    picks = rng.integers(len(sums), size=(n, len(sums)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Difference(float(d.mean()), float(low), float(high))


def _paired(first: Sequence[float], second: Sequence[float]) -> tuple[Vector, Vector]:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise InputError(f"paired errors must be two lists of one length, and have shapes {a.shape} and {b.shape}")
    return a, b
