"""The 24 problems of the benchmark, {six data sets} x {four affinities}, for any n and seed; and COIL-20."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn import datasets

Array = np.ndarray[Any, np.dtype[np.float64]]
COIL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "coil20.npz"
NEIGHBOUR = 12

SETS = ("moons", "circles", "blobs", "roll", "digits", "cancer")
KINDS = {
    "gauss0.4": "Gaussian of 0.4 x the median distance",
    "gauss1": "Gaussian of 1 x the median distance",
    "sqdist": f"−distance², scaled by the mean distance to the {NEIGHBOUR}th neighbour",
    "zerodiag": "Gaussian of 1 x the median distance with zero diagonal",
}
#: the 24 names, "blobs/gauss1"
NAMES = tuple(f"{name}/{kind}" for kind in KINDS for name in SETS)
COIL_NAME = "coil20/gauss1"


def problem(name: str, n: int, seed: int = 0) -> Array:
    """The matrix K of a problem by name; COIL-20 has its own n = 1,440 and no seed."""
    data, kind = name.split("/")
    return affinity(coil20() if data == "coil20" else points(data, n, seed), kind)


def points(name: str, n: int, seed: int) -> Array:
    """n points: drawn where the set is synthetic, a random subset where it is real."""
    if name == "moons":
        return np.asarray(datasets.make_moons(n, noise=0.08, random_state=seed)[0])
    if name == "circles":
        return np.asarray(datasets.make_circles(n, noise=0.05, factor=0.5, random_state=seed)[0])
    if name == "blobs":
        return np.asarray(datasets.make_blobs(n, centers=5, random_state=seed)[0])
    if name == "roll":
        return np.asarray(datasets.make_swiss_roll(n, noise=0.3, random_state=seed)[0])
    if name == "digits":
        return subset(datasets.load_digits().data, n, seed)
    X = datasets.load_breast_cancer().data
    return subset((X - X.mean(axis=0)) / X.std(axis=0), n, seed)


def subset(X: Array, n: int, seed: int) -> Array:
    """n different rows; where there are fewer, the rest are drawn again, with noise of a tenth of the spread."""
    rng = np.random.default_rng(seed)
    if n <= len(X):
        return X[rng.permutation(len(X))[:n]]
    extra = X[rng.integers(len(X), size=n - len(X))]
    return np.vstack([X, extra + 0.1 * X.std() * rng.standard_normal(extra.shape)])


def affinity(X: Array, kind: str) -> Array:
    """K for points, see `KINDS`."""
    pairs = pdist(X)
    if kind == "sqdist":
        d = squareform(pairs)
        scale = np.partition(d, NEIGHBOUR, axis=1)[:, NEIGHBOUR].mean()
        return -((d / scale) ** 2)
    width = np.median(pairs) * (0.4 if kind == "gauss0.4" else 1.0)
    K = squareform(np.exp(-((pairs / width) ** 2)))
    np.fill_diagonal(K, 0.0 if kind == "zerodiag" else 1.0)
    return K


def coil20() -> Array:
    """COIL-20, 1,440 images of 32 x 32, grey values scaled to [0, 1]; read from ../shared/data."""
    with np.load(COIL) as file:
        X = file["X"].astype(np.float64)
    return X / X.max()


def has_coil20() -> bool:
    """Whether the file is there."""
    return COIL.is_file()
