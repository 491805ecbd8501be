"""What the eye sees of a segmentation, as numbers: stray regions, boundaries and covering against human segmentations.

Regions are connected components of equal label, neighbours being left, right, above and below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from ldssc.exceptions import InputError
from ldssc.validation import check_positive

LabelImage = npt.NDArray[np.int64]
#: A region below this share of the image is stray.
STRAY = 0.01
#: Boundaries match within this share of the diagonal: a grid cell of 40 x 40 is .018 of it.
TOLERANCE = 0.02


class StrayRegions(NamedTuple):
    """How many regions there are, how many of them are stray, and the share of the image that these take."""

    n_regions: int
    n_stray: int
    share: float


class BoundaryScores(NamedTuple):
    """Share of our boundary that is a human's, of the humans' that is ours, and their harmonic mean."""

    precision: float
    recall: float
    f: float


def connected_regions(labels: Any) -> LabelImage:
    """The connected components of a label image, numbered from 0."""
    labels = label_image(labels, "labels")
    regions = np.zeros(labels.shape, dtype=np.int64)
    count = 0
    for label in np.unique(labels):
        found, n = ndimage.label(labels == label)
        regions += np.where(found > 0, found - 1 + count, 0)
        count += n
    return regions


def stray_regions(labels: Any, *, smaller_than: float = STRAY) -> StrayRegions:
    """Regions smaller than a share of the image: number and share of the pixels in them."""
    smaller_than = check_positive(smaller_than, "smaller_than", zero=True)
    regions = connected_regions(labels)
    sizes = np.bincount(regions.ravel())
    stray = sizes < smaller_than * regions.size
    return StrayRegions(len(sizes), int(stray.sum()), float(sizes[stray].sum() / regions.size))


def boundary(labels: Any) -> npt.NDArray[np.bool_]:
    """Pixels with a neighbour of another label."""
    labels = label_image(labels, "labels")
    edge = np.zeros(labels.shape, dtype=bool)
    down, right = labels[1:] != labels[:-1], labels[:, 1:] != labels[:, :-1]
    edge[1:] |= down
    edge[:-1] |= down
    edge[:, 1:] |= right
    edge[:, :-1] |= right
    return edge


def boundary_scores(labels: Any, humans: Sequence[Any], *, tolerance: float = TOLERANCE) -> BoundaryScores:
    """Precision and recall of boundary pixels within a distance of `tolerance` times the diagonal.

    A pixel of our boundary is right if any human's boundary is that near; recall counts the boundary pixels of all
    humans together. Pixels are not paired one to one. Where there is no boundary, none of it is wrong, or missed: 1.
    """
    tolerance = check_positive(tolerance, "tolerance", zero=True)
    labels, drawn = _against(labels, humans)
    reach = tolerance * float(np.hypot(*labels.shape))
    ours, theirs = boundary(labels), [boundary(human) for human in drawn]
    precision = _share_near([ours], np.logical_or.reduce(theirs), reach)
    recall = _share_near(theirs, ours, reach)
    return BoundaryScores(precision, recall, 2 * precision * recall / (precision + recall or 1.0))


def covering(labels: Any, humans: Sequence[Any]) -> float:
    """How well our segments cover a human's: Σ |R| max IoU(R, R') / Σ |R| over their R and our R', averaged."""
    labels, drawn = _against(labels, humans)
    return float(np.mean([_covering(labels, human) for human in drawn]))


def _covering(labels: LabelImage, human: LabelImage) -> float:
    _, ours = np.unique(labels, return_inverse=True)
    _, theirs = np.unique(human, return_inverse=True)
    shape = int(theirs.max()) + 1, int(ours.max()) + 1
    shared = np.bincount(theirs.ravel() * shape[1] + ours.ravel(), minlength=shape[0] * shape[1]).reshape(shape)
    sizes = shared.sum(axis=1)
    overlap = shared / (sizes[:, None] + shared.sum(axis=0) - shared)
    return float(sizes @ overlap.max(axis=1) / sizes.sum())


def _share_near(edges: Sequence[npt.NDArray[np.bool_]], target: npt.NDArray[np.bool_], reach: float) -> float:
    total = sum(int(edge.sum()) for edge in edges)
    if total == 0:
        return 1.0
    if not target.any():
        return 0.0
    near = ndimage.distance_transform_edt(~target) <= reach
    return sum(int((edge & near).sum()) for edge in edges) / total


def label_image(value: Any, name: str) -> LabelImage:
    """A two-dimensional array of whole numbers, as int64."""
    array = np.asarray(value)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iub":
        raise InputError(
            f"{name} must be an image of whole numbers, one a pixel, and has shape {array.shape}, dtype {array.dtype}"
        )
    return array.astype(np.int64)


def _against(labels: Any, humans: Sequence[Any]) -> tuple[LabelImage, list[LabelImage]]:
    labels = label_image(labels, "labels")
    drawn = [label_image(human, f"humans[{i}]") for i, human in enumerate(humans)]
    if not drawn:
        raise InputError("humans is empty; at least one segmentation to compare with is needed")
    for i, human in enumerate(drawn):
        if human.shape != labels.shape:
            raise InputError(f"labels has shape {labels.shape} and humans[{i}] {human.shape}; they must be equal")
    return labels, drawn
