"""Image segmentation: edges, intervening contours, `segment`, and scores of what it finds. Arrays in, arrays out."""

from ldssc.images.contours import contour_affinity, localize
from ldssc.images.drawing import draw_labels, overlay
from ldssc.images.edges import Edges, edge_magnitude, find_edges
from ldssc.images.reading import read_image
from ldssc.images.scores import (
    BoundaryScores,
    StrayRegions,
    boundary,
    boundary_scores,
    connected_regions,
    covering,
    stray_regions,
)
from ldssc.images.segment import PixelAffinity, Segmentation, pixel_affinity, segment, segmentation

__all__ = [
    "BoundaryScores",
    "Edges",
    "PixelAffinity",
    "Segmentation",
    "StrayRegions",
    "boundary",
    "boundary_scores",
    "connected_regions",
    "contour_affinity",
    "covering",
    "draw_labels",
    "edge_magnitude",
    "find_edges",
    "localize",
    "overlay",
    "pixel_affinity",
    "read_image",
    "segment",
    "segmentation",
    "stray_regions",
]
