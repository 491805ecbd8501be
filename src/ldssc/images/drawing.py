"""Segments made visible, as arrays of uint8: colours for labels, and outlines over the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.images.reading import as_image
from ldssc.images.scores import boundary, label_image
from ldssc.plots import COLOURS

Picture = npt.NDArray[np.uint8]


def draw_labels(labels: Any) -> Picture:
    """A colour for each label: those of the library's figures, which differ in grey too; after eight, random ones."""
    labels = label_image(labels, "labels")
    values, codes = np.unique(labels, return_inverse=True)
    return palette(len(values))[codes.reshape(labels.shape)]


def overlay(image: Any, labels: Any, *, strength: float = 0.35) -> Picture:
    """The picture, tinted by segment, with the boundaries between segments in black and white."""
    labels = label_image(labels, "labels")
    base = _visible(image)
    if base.shape[:2] != labels.shape:
        raise InputError(f"image is {base.shape[:2]} pixels and labels {labels.shape}; they must be of equal size")
    mixed = (1 - strength) * base + strength * draw_labels(labels)
    edge = boundary(labels)
    thick = max(1, round(max(labels.shape) / 400))
    mixed[_widened(edge, 2 * thick)] = 255
    mixed[_widened(edge, thick) if thick > 1 else edge] = 0
    return np.asarray(mixed.round(), dtype=np.uint8)


def _visible(image: Any) -> npt.NDArray[np.float64]:
    """Three channels from 0 to 255; numbers of unknown range are stretched over it."""
    array, full = np.asarray(image), as_image(image)
    colour = full[..., :3] if full.shape[2] >= 3 else np.repeat(full[..., :1], 3, axis=2)
    low, high = float(colour.min()), float(colour.max())
    known = array.dtype.name in ("uint8", "uint16", "bool") or (low >= 0 and high <= 1)
    if not known:
        colour = (colour - low) / ((high - low) or 1.0)
    return colour * 255


def palette(n: int) -> Picture:
    """n colours, one a row."""
    fixed = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in COLOURS]
    more = np.random.default_rng(0).integers(40, 230, (max(0, n - len(fixed)), 3))
    return np.vstack([fixed, more])[:n].astype(np.uint8)


def _widened(edge: npt.NDArray[np.bool_], by: int) -> npt.NDArray[np.bool_]:
    """The pixels within a square of half width by − 1 around the marked ones."""
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(edge, size=2 * by - 1), dtype=bool)
