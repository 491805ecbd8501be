"""Data sets: small ones for demonstrations, and the twelve of the paper, fetched, loaded and checked."""

from ldssc.datasets.catalog import CATALOG, Entry, entry, names
from ldssc.datasets.fetching import Fetched, fetch
from ldssc.datasets.loading import load
from ldssc.datasets.toy import Dataset, iris, two_gaussians, two_moons, wine

__all__ = [
    "CATALOG",
    "Dataset",
    "Entry",
    "Fetched",
    "entry",
    "fetch",
    "iris",
    "load",
    "names",
    "two_gaussians",
    "two_moons",
    "wine",
]
