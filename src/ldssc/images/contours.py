"""Intervening contours: edge magnitude -> affinity of pixels (Leung and Malik; Yu and Shi)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.validation import Matrix, as_matrix, check_count, check_positive

Offset = tuple[int, int]


def localize(down: Any, right: Any) -> Matrix:
    """The edges, sharpened and moved between the pixels, on a lattice twice as fine: the pixels are its even places.

    The crack between a pixel and the one below it gets the mean of their `down` magnitudes if neither crack above or below
    has more, else 0; that to the right likewise from `right`; a corner gets the largest of its four cracks; pixels get 0.
    A pixel beside an edge is then cut off from what lies beyond it, and not from its own side, as it would be if it
    carried the edge itself.
    """
    down, right = _checked_edges(down), _checked_edges(right)
    if down.shape != right.shape:
        raise InputError(f"down has shape {down.shape} and right {right.shape}; they belong to one image")
    height, width = down.shape
    lattice = np.zeros((2 * height - 1, 2 * width - 1))
    lattice[1::2, ::2] = _ridges((down[1:] + down[:-1]) / 2)
    lattice[::2, 1::2] = _ridges(((right[:, 1:] + right[:, :-1]) / 2).T).T
    sides = lattice[:-2:2, 1::2], lattice[2::2, 1::2], lattice[1::2, :-2:2], lattice[1::2, 2::2]
    lattice[1::2, 1::2] = np.maximum.reduce(sides)
    return lattice


def contour_affinity(edges: Any, radius: float, sigma: float, *, step: int = 1) -> sparse.csr_array:
    """K_ij = exp(−m_ij²/σ²), m_ij the largest edge magnitude on the straight line between pixels i and j.

    The line has every place whose closed unit square it touches, its ends included. Pixels whose centres are further
    apart than `radius` have affinity 0; the diagonal is 1. Pixels are numbered row by row. With `step=2` the edges are a
    lattice as `localize` makes it, whose even places are the pixels. `.toarray()` of the answer is the dense matrix.
    """
    edges = _checked_edges(edges)
    radius, sigma = check_positive(radius, "radius"), check_positive(sigma, "sigma")
    step = check_count(step, "step")
    number = np.arange(edges[::step, ::step].size).reshape(edges[::step, ::step].shape)
    height, width = number.shape
    offsets = [(dy, dx) for dy, dx in _half_disc(max(height, width) - 1, radius) if dy < height and abs(dx) < width]
    pairs = sum((height - dy) * (width - abs(dx)) for dy, dx in offsets)
    remedy = "use a smaller grid or radius"
    require_memory(80.0 * pairs, f"the affinity of {number.size} pixels within radius {radius:g}", remedy)
    rows, columns, values = [number.ravel()], [number.ravel()], [np.ones(number.size)]
    for dy, dx in offsets:
        start, end = _moved(number, 0, 0, dy, dx).ravel(), _moved(number, dy, dx, dy, dx).ravel()
        places = (_moved(edges, r, c, step * dy, step * dx)[::step, ::step] for r, c in touched(step * dy, step * dx))
        largest = np.array(next(places))
        for place in places:
            np.maximum(largest, place, out=largest)
        with np.errstate(under="ignore", over="ignore"):
            affinity = np.exp(-((largest.ravel() / sigma) ** 2))
        rows += [start, end]
        columns += [end, start]
        values += [affinity, affinity]
    places_of = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), places_of), shape=(number.size, number.size))


def touched(dy: int, dx: int) -> list[Offset]:
    """The places whose closed unit square the segment from (0, 0) to (dy, dx) meets, found in whole numbers."""
    rows, columns = range(min(0, dy), max(0, dy) + 1), range(min(0, dx), max(0, dx) + 1)
    return [(r, c) for r in rows for c in columns if 2 * abs(dy * c - dx * r) <= abs(dy) + abs(dx)]


def _half_disc(high: int, radius: float) -> Iterator[Offset]:
    """One of each pair of opposite offsets that are no longer than the radius."""
    reach = int(min(radius, high))
    for dy in range(reach + 1):
        for dx in range(-reach, reach + 1):
            if (dy > 0 or dx > 0) and dy * dy + dx * dx <= radius * radius:
                yield dy, dx


def _moved(array: npt.NDArray[Any], r: int, c: int, dy: int, dx: int) -> npt.NDArray[Any]:
    """The array moved by (r, c), cut to where both ends of the offset (dy, dx) are inside."""
    height, width = array.shape
    left = max(0, -dx)
    return array[r : r + height - dy, left + c : left + c + width - abs(dx)]


def _ridges(cracks: Matrix) -> Matrix:
    """Each value that is no less than those above and below it, else 0."""
    padded = np.pad(cracks, ((1, 1), (0, 0)))
    highest: Matrix = np.where((cracks >= padded[:-2]) & (cracks >= padded[2:]), cracks, 0.0)
    return highest


def _checked_edges(edges: Any) -> Matrix:
    checked = as_matrix(edges, "edges")
    if checked.size == 0 or checked.min() < 0:
        what = (
            f"is empty (shape {checked.shape})"
            if checked.size == 0
            else f"has negative values, down to {checked.min():.3g}"
        )
        raise InputError(f"edges {what}; pass one magnitude >= 0 a pixel")
    return checked
