"""Segmentations against human ones: the half of the photographs that chose σ and radius, and the half that did not.

    python benchmarks/images/run.py FOLDER [normalization ...]

FOLDER holds ID.jpg and ID_gt.npz of the Berkeley photographs. A line a normalisation and half: mean boundary precision,
recall and F, covering by connected regions, stray regions, seconds a picture.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from ldssc import images
from ldssc.images.segment import SIGMA


def score(folder: Path, name: str, normalization: str) -> list[float]:
    """One photograph, four segments, all defaults."""
    pixels = images.read_image(folder / f"{name}.jpg")
    humans = list(np.load(folder / f"{name}_gt.npz")["segs"].astype(np.int64))
    start = time.perf_counter()
    found = images.segmentation(pixels, 4, normalization=normalization, random_state=0)
    seconds = time.perf_counter() - start
    covering = images.covering(images.connected_regions(found.labels), humans)
    stray = images.stray_regions(found.grid_labels).n_stray
    return [*images.boundary_scores(found.labels, humans), covering, stray, seconds]


def main(folder: Path, normalizations: list[str]) -> None:
    """Print the table, a line as soon as it is known."""
    names = sorted(path.stem for path in folder.glob("*.jpg"))
    print("| normalization | photographs | precision | recall | F | covering | stray regions | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for normalization in normalizations:
        for half, chosen in (("that chose", names[::2]), ("the others", names[1::2])):
            mean = np.mean([score(folder, name, normalization) for name in chosen], axis=0)
            cells = " | ".join(f"{value:.2f}" for value in mean)
            print(f"| `{normalization}` | {len(chosen)} {half} | {cells} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(SIGMA))
