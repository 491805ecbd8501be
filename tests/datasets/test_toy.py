"""The bundled and generated data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldssc import datasets
from ldssc.exceptions import InputError


@pytest.mark.parametrize(
    ("make", "shape", "counts"),
    [
        (datasets.iris, (150, 4), [50, 50, 50]),
        (datasets.wine, (178, 13), [59, 71, 48]),
        (lambda: datasets.two_moons(101, random_state=0), (101, 2), [50, 51]),
        (lambda: datasets.two_gaussians(101, random_state=0), (101, 2), [51, 50]),
    ],
)
def test_shapes_types_and_class_counts(
    make: Callable[[], datasets.Dataset], shape: tuple[int, int], counts: list[int]
) -> None:
    data = make()
    assert data.X.shape == shape
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    np.testing.assert_array_equal(np.bincount(data.y), counts)
    assert data.name


@pytest.mark.parametrize("make", [datasets.two_moons, datasets.two_gaussians])
def test_a_seed_fixes_the_points_and_another_changes_them(make: Callable[..., datasets.Dataset]) -> None:
    np.testing.assert_array_equal(make(40, random_state=3).X, make(40, random_state=3).X)
    assert not np.array_equal(make(40, random_state=3).X, make(40, random_state=4).X)


def test_the_two_gaussians_differ_in_mean_and_covariance_as_documented() -> None:
    data = datasets.two_gaussians(40_000, random_state=0)
    for label, mean, covariance in [(0, [0, 0], [[1, 0], [0, 1]]), (1, [4, 3], [[2, 1], [1, 1.5]])]:
        X = data.X[data.y == label]
        np.testing.assert_allclose(X.mean(axis=0), mean, atol=0.05)
        np.testing.assert_allclose(np.cov(X.T), covariance, atol=0.08)


def test_moons_without_noise_lie_on_two_half_circles() -> None:
    data = datasets.two_moons(30, noise=0, random_state=0)
    centres = np.array([[0.0, 0.0], [1.0, 0.5]])[data.y]
    np.testing.assert_allclose(np.linalg.norm(data.X - centres, axis=1), 1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 1}, "n must be at least 2, and is 1"),
        ({"n": 2.5}, "n must be a whole number, and is 2.5"),
        ({"random_state": "x"}, "random_state must be None, a whole number >= 0 or a numpy RandomState, and is 'x'"),
        ({"random_state": -1}, "random_state must be None"),
    ],
)
@pytest.mark.parametrize("make", [datasets.two_moons, datasets.two_gaussians])
def test_bad_arguments_are_named(
    make: Callable[..., datasets.Dataset], arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        make(**arguments)


def test_negative_noise_is_refused() -> None:
    with pytest.raises(InputError, match="noise must be a number >= 0, and is -1"):
        datasets.two_moons(10, noise=-1)
