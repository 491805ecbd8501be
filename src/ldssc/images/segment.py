"""`segment`: a picture -> edges -> affinity of pixels -> normalisation -> labels of the picture's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ldssc.cluster import SemidefiniteSpectralClustering
from ldssc.exceptions import InputError
from ldssc.images.contours import contour_affinity, localize
from ldssc.images.edges import channel_edges
from ldssc.images.grid import Labels, enlarge, grid_shape, shrink
from ldssc.images.reading import Image, as_image
from ldssc.memory import require_memory
from ldssc.normalization import NORMALIZATIONS
from ldssc.solvers import Result
from ldssc.validation import Matrix, check_choice, check_count, check_positive

GRID, RADIUS = 40, 10.0
#: Proven relative distance of F; from .1 down the labels hardly change, and each step costs as much as the last.
TOL = 5e-2
#: Default sigma, in units of the picture's contrast. A projection in the Frobenius norm keeps the largest affinities of
#: each pixel, and wants to see them apart; the other rules only rescale, and want small ones to vanish.
SIGMA = {name: 3.0 if name in ("semidefinite", "frobenius", "frobenius-successive") else 0.5 for name in NORMALIZATIONS}
#: Edges below this share of the picture's range are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class PixelAffinity:
    """The working grid of a picture, and the affinities of its cells."""

    shape: tuple[int, int]
    edges: Matrix  # magnitude, one a cell
    contrast: float  # Σm²/Σm of these magnitudes
    sigma: float  # absolute: the given or default sigma times the contrast
    K: sparse.csr_array


@dataclass(frozen=True)
class Segmentation:
    """Labels of the picture's size and all that led to them."""

    labels: Labels
    grid_labels: Labels
    affinity: PixelAffinity
    model: SemidefiniteSpectralClustering

    @property
    def result(self) -> Result | None:
        """The projection with its certificate; None for the normalisations that come without a proof."""
        result: Result | None = self.model.result_
        return result


def pixel_affinity(
    image: Any, *, grid: int | tuple[int, int] = GRID, radius: float = RADIUS, sigma: float = SIGMA["semidefinite"]
) -> PixelAffinity:
    """Shrink to the grid, find edges, and compare pixels by the strongest edge between them.

    sigma is a multiple of the picture's contrast Σm²/Σm, the mean edge magnitude weighted by itself: pictures of any
    brightness and range, and with few edges or many, are then treated alike. Without an edge all affinities within the
    radius are 1.
    """
    full = as_image(image)
    return _affinity(full, grid_shape(full.shape[0], full.shape[1], grid), radius, sigma)


def _affinity(full: Image, shape: tuple[int, int], radius: float, sigma: float) -> PixelAffinity:
    sigma = check_positive(sigma, "sigma")
    found = channel_edges(shrink(full, shape))
    edges = found.magnitude
    if edges.max() <= ROUNDING * float(np.abs(full).max()):
        return PixelAffinity(shape, np.zeros(shape), 0.0, sigma, contour_affinity(np.zeros(shape), radius, sigma))
    contrast = float((edges * (edges / edges.sum())).sum())
    K = contour_affinity(localize(found.down, found.right), radius, sigma * contrast, step=2)
    return PixelAffinity(shape, edges, contrast, sigma * contrast, K)


def segment(image: Any, n_segments: int = 4, **options: Any) -> Labels:
    """Cut a picture into segments along its edges: an integer label for each pixel, numbered as they first appear.

    Options, all by name, are those of `images.segmentation`, which returns all that led to the labels too: grid, radius,
    sigma, normalization, solver, tol, solver_params, n_init, random_state.
    """
    return segmentation(image, n_segments, **options).labels


def segmentation(
    image: Any,
    n_segments: int = 4,
    *,
    grid: int | tuple[int, int] = GRID,
    radius: float = RADIUS,
    sigma: float | None = None,
    normalization: str = "semidefinite",
    solver: str = "auto",
    tol: float = TOL,
    solver_params: Mapping[str, Any] | None = None,
    n_init: int = 10,
    random_state: Any = None,
) -> Segmentation:
    """Cut a picture into segments along its edges; the labels, the affinity, the fitted estimator and its certificate.

    The picture is shrunk to the grid; pixels are as alike as the strongest edge on the line between them is weak (Yu and
    Shi's intervening contour); the affinities are normalised; their leading eigenvectors are discretised (Yu and Shi).
    A segment need not be connected.

    Parameters
    ----------
    image : height x width, or height x width x channels with 1 to 4 channels (grey, colour, each with or without alpha);
        uint8, uint16, bool, or any other real numbers. `images.read_image` reads files. Of colours, the channel with the
        strongest edge counts at each pixel.
    n_segments : number of segments.
    grid : where the work is done. A number g allows g² cells in the picture's own proportions; a pair (rows, columns) is
        taken as it is. Labels are brought back to the picture's size by linear interpolation.
    radius : reach of an affinity, in cells of the grid.
    sigma : width of the affinity, in units of the picture's contrast (see `pixel_affinity`). None: 3 where the
        normalisation projects in the Frobenius norm ("semidefinite", "frobenius", "frobenius-successive"), else 0.5.
    tol : proven relative distance to the exact matrix, for normalization="semidefinite".
    normalization, solver, solver_params, n_init, random_state : as in `SemidefiniteSpectralClustering`.
    """
    check_choice(normalization, "normalization", NORMALIZATIONS)
    n_segments = check_count(n_segments, "n_segments")
    full = as_image(image)
    shape = grid_shape(full.shape[0], full.shape[1], grid)
    cells = shape[0] * shape[1]
    require_memory(40.0 * cells**2, f"a grid of {shape[0]} x {shape[1]} cells", "use a smaller one")
    affinity = _affinity(full, shape, radius, SIGMA[normalization] if sigma is None else sigma)
    _check_segments(n_segments, affinity)
    model = SemidefiniteSpectralClustering(
        n_segments,
        affinity="precomputed",
        normalization=normalization,
        solver=solver,
        tol=tol,
        solver_params=solver_params,
        n_init=n_init,
        random_state=random_state,
    ).fit(affinity.K.toarray())
    labels = model.labels_.reshape(affinity.shape)
    return Segmentation(enlarge(labels, (full.shape[0], full.shape[1])), labels, affinity, model)


def _check_segments(n_segments: int, affinity: PixelAffinity) -> None:
    height, width = affinity.shape
    if n_segments > height * width:
        raise InputError(f"n_segments={n_segments} is more than the {height} x {width} cells of the working grid")
    if n_segments > 1 and affinity.contrast == 0:
        raise InputError(
            f"image has no edges on the working grid of {height} x {width}: it is constant, or its pattern is too fine to be "
            f"seen there; use n_segments=1 or a finer grid"
        )
