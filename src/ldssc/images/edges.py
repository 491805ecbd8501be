"""Oriented filter pairs -> edge magnitude.

A filter pair is even and odd across the edge and a Gaussian along it: the even one is the second derivative of a
Gaussian, the odd one its exact Hilbert transform, so that √(even² + odd²) answers to steps, lines and roofs alike. With
x = t/(√2 scale), t the distance across the edge, and D Dawson's integral they are

    even(x) = (4x² − 2) exp(−x²),    odd(x) = (2/√π) (4x²D(x) − 2x − 2D(x)).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage
from scipy.special import dawsn

from ldssc.exceptions import InputError
from ldssc.images.reading import Image, as_image
from ldssc.validation import Matrix, check_count, check_positive

#: Half width of a filter, in scales: the odd filter falls as 1/t³.
REACH = 4.0
#: Length of a filter along the edge, in scales.
LENGTH = 2.0
#: In pixels. The paper gives neither scales nor orientations; docs/images.md says how these were chosen.
SCALES = (0.7, 1.0)
ORIENTATIONS = 8


class FilterPair(NamedTuple):
    """Two filters in quadrature, of sum zero each; a step of height one beside the middle pixel answers with 1."""

    even: Matrix
    odd: Matrix


class Edges(NamedTuple):
    """Edge magnitude at each pixel, and what of it a step down or a step to the right crosses: its share by |cosine|."""

    magnitude: Matrix
    down: Matrix
    right: Matrix


def find_edges(image: Any, *, scales: tuple[float, ...] = SCALES, orientations: int = ORIENTATIONS) -> Edges:
    """The largest √(even² + odd²) over orientations, scales and colour channels, at each pixel.

    A straight step of height one has magnitude about 1. The filters have sum zero, so that a brightness offset changes
    nothing; their orientations come in pairs at right angles, so that a turn of the image by 90° turns the answer.
    Beyond its border the image is continued by reflection.
    """
    return channel_edges(as_image(image), scales=scales, orientations=orientations)


def edge_magnitude(image: Any, *, scales: tuple[float, ...] = SCALES, orientations: int = ORIENTATIONS) -> Matrix:
    """The magnitude of `find_edges` alone."""
    return find_edges(image, scales=scales, orientations=orientations).magnitude


def channel_edges(channels: Image, *, scales: tuple[float, ...] = SCALES, orientations: int = ORIENTATIONS) -> Edges:
    """`find_edges` of an image that `as_image` has made."""
    if not scales:
        raise InputError("scales is empty; at least one scale is needed")
    found = Edges(*(np.zeros(channels.shape[:2]) for _ in range(3)))
    for channel in np.moveaxis(channels, 2, 0):
        raised = channel - channel.min()
        for scale in scales:
            for j, pair in enumerate(filter_bank(scale, orientations)):
                even, odd = (ndimage.correlate(raised, part, mode="reflect") for part in pair)
                energy, angle = np.hypot(even, odd), j * np.pi / orientations
                for part, share in zip(found, (1.0, abs(np.cos(angle)), abs(np.sin(angle))), strict=True):
                    np.maximum(part, share * energy, out=part)
    return found


def filter_bank(scale: float, orientations: int = ORIENTATIONS) -> tuple[FilterPair, ...]:
    """Filter pairs across 0, π/orientations, 2π/orientations, ..., closed under turns by 90°."""
    orientations = check_count(orientations, "orientations", low=2)
    if orientations % 2:
        raise InputError(f"orientations must be even, to come in pairs at right angles, and is {orientations}")
    return _bank(check_positive(scale, "scale"), orientations)


@lru_cache(maxsize=16)
def _bank(scale: float, orientations: int) -> tuple[FilterPair, ...]:
    first = [_pair(scale, j * np.pi / orientations) for j in range(orientations // 2)]
    return (*first, *(FilterPair(np.rot90(even), np.rot90(odd)) for even, odd in first))


def _pair(scale: float, angle: float) -> FilterPair:
    radius = int(np.ceil(REACH * scale))
    down, right = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(np.float64)
    across, along = np.cos(angle) * down + np.sin(angle) * right, np.cos(angle) * right - np.sin(angle) * down
    x = across / (np.sqrt(2) * scale)
    length, D = np.exp(-0.5 * (along / (LENGTH * scale)) ** 2), dawsn(x)
    even = (4 * x**2 - 2) * np.exp(-(x**2)) * length
    odd = 2 / np.sqrt(np.pi) * (4 * x**2 * D - 2 * x - 2 * D) * length
    envelope = np.exp(-(x**2)) * length
    even -= envelope * (even.sum() / envelope.sum())
    odd = (odd - odd[::-1, ::-1]) / 2
    step = np.hypot(even[across > 0].sum(), odd[across > 0].sum())
    return FilterPair(even / step, odd / step)
