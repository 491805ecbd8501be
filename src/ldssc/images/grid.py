"""From the picture to the working grid by area, and from labels on the grid back to the picture's size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.images.reading import Image
from ldssc.validation import Matrix, check_count

Labels = npt.NDArray[np.int64]


def grid_shape(height: int, width: int, grid: Any) -> tuple[int, int]:
    """Rows and columns of the working grid.

    A number g stands for at most g² cells in the picture's own proportions: 40 x 40 for a square picture, 33 x 48 for one
    of 2 to 3. A pair (rows, columns) is taken as it is, and distorts. No grid is finer than the picture.
    """
    if isinstance(grid, tuple | list):
        if len(grid) != 2:
            raise InputError(f"grid must be a number or a pair (rows, columns), and is {grid!r}")
        return min(check_count(grid[0], "grid[0]"), height), min(check_count(grid[1], "grid[1]"), width)
    side = check_count(grid, "grid")
    if height * width <= side * side:
        return height, width
    short, long = sorted((height, width))
    low = max(1, round(side * math.sqrt(short / long)))
    high = min(long, side * side // low)
    return (low, high) if height <= width else (high, low)


def shrink(image: Image, shape: tuple[int, int]) -> Image:
    """Each cell of the grid is the mean of the picture over its area, pixels that it shares counted in part."""
    down, across = (_areas(n, m) for n, m in zip(image.shape[:2], shape, strict=True))
    shrunk: Image = np.moveaxis(down @ np.moveaxis(image, 2, 0) @ across.T, 0, 2)
    return shrunk


def enlarge(labels: Labels, shape: tuple[int, int]) -> Labels:
    """Each pixel gets the label that weighs most in the linear interpolation of the grid at its place."""
    down, across = (_weights(n, m) for n, m in zip(shape, labels.shape, strict=True))
    best, answer = np.full(shape, -1.0), np.zeros(shape, dtype=np.int64)
    for label in np.unique(labels):
        weight = down @ (labels == label) @ across.T
        better = weight > best
        best[better], answer[better] = weight[better], label
    return answer


def _areas(n: int, m: int) -> Matrix:
    """Row i: the shares of n pixels in cell i of m."""
    edges = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    overlap = np.maximum(overlap, 0.0)
    return np.asarray(overlap / overlap.sum(axis=1, keepdims=True))


def _weights(n: int, m: int) -> Matrix:
    """Row i: the two of m cells between whose centres pixel i of n lies, with their weights."""
    place = np.clip((np.arange(n) + 0.5) * m / n - 0.5, 0, m - 1)
    left = np.minimum(place.astype(np.intp), max(m - 2, 0))
    weights = np.zeros((n, m))
    weights[np.arange(n), left] = 1 - (place - left)
    weights[np.arange(n), np.minimum(left + 1, m - 1)] += place - left
    return weights
