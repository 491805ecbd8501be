"""Small data sets with known classes, for demonstrations, tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_iris, load_wine, make_moons

from ldssc.labels import as_random_state
from ldssc.validation import Matrix, check_count, check_positive


@dataclass(frozen=True)
class Dataset:
    """Points X, one row each, their true classes y = 0, 1, ..., a name, and for pictures their height and width."""

    X: Matrix
    y: npt.NDArray[np.int64]
    name: str
    image_shape: tuple[int, int] | None = None


def two_moons(n: int = 200, noise: float = 0.08, random_state: Any = None) -> Dataset:
    """Two interleaved half circles of n points in all, with Gaussian noise."""
    n = check_count(n, "n", low=2)
    noise = check_positive(noise, "noise", zero=True)
    return _dataset(make_moons(n, noise=noise, random_state=as_random_state(random_state)), "two moons")


def two_gaussians(n: int = 200, random_state: Any = None) -> Dataset:
    """Two Gaussian classes with different means and covariances, class by class: the toy data of the paper's figure 6.

    The paper gives no numbers; here the means are (0, 0) and (4, 3), the covariances I and [[2, 1], [1, 1.5]].
    """
    n = check_count(n, "n", low=2)
    rng = as_random_state(random_state)
    first = rng.multivariate_normal([0.0, 0.0], np.eye(2), size=n - n // 2)
    second = rng.multivariate_normal([4.0, 3.0], [[2.0, 1.0], [1.0, 1.5]], size=n // 2)
    return _dataset((np.vstack([first, second]), np.repeat([0, 1], [len(first), len(second)])), "two Gaussians")


def iris() -> Dataset:
    """Fisher's iris: 150 flowers, 4 measurements, 3 species (scikit-learn's copy)."""
    return _dataset(load_iris(return_X_y=True), "iris")


def wine() -> Dataset:
    """Wine: 178 wines, 13 measurements on very different scales, 3 growers (scikit-learn's copy)."""
    return _dataset(load_wine(return_X_y=True), "wine")


def _dataset(data: Any, name: str) -> Dataset:
    X, y = data
    return Dataset(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64), name)
