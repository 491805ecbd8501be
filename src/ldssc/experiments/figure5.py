"""Figure 5: affinity, FSC and LD-SSC matrices of four classes of COIL-20 and of Alphadigits.

What the eye should see, as a number: the share of the mass of |F| that lies within classes; and the same without the
diagonal, for a matrix near the identity has all its mass within classes and joins nobody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ldssc
from ldssc import affinity, datasets, plots
from ldssc.experiments.cells import Cell
from ldssc.experiments.clustering import load_set, normalized
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.settings import EXACT, FIGURE_V, FSC, LD1, NO
from ldssc.validation import Matrix

METHODS = (NO, FSC, LD1, EXACT)
TITLES = {"NO": "affinity K"}
NUMBERS = ("dataset", "matrix", "within classes", "within, off the diagonal", "diagonal", "negative mass")


def plan(request: Request) -> Plan:
    """A cell a set."""
    there, missing = available(FIGURE_V.sets, request.data)
    tasks = {name: _task(name, request.data) for name in there}

    def finish(found: Found) -> tuple[list[Path], Page]:
        cells = {name: found[task.key] for name, task in tasks.items() if task.key in found}
        rows = [row for cell in cells.values() for row in cell.record["rows"]]
        files = [write_csv(request.out / "figure5.csv", rows, NUMBERS)]
        panels = []
        for name, cell in cells.items():
            loaded, chosen = load_set(name, request.data), _chosen(load_set(name, request.data).y)
            y = loaded.y[chosen]
            samples = [loaded.X[chosen][y == c][0].reshape(loaded.image_shape or (1, -1)) for c in FIGURE_V.classes]
            titles = [TITLES.get(method.name, method.name) for method in METHODS]
            panels.append(plots.OverlapRow(loaded.name, list(zip(titles, cell.array, strict=True)), y, samples))
        files += plots.write_figure(plots.overlaps_figure(panels), request.out, "figure5")
        body = (
            "![matrices](figure5.png)\n\nThe first four classes, rows sorted by class, dark where large; δ is the median "
            "distance of the whole set. Shares of the sum of all |F|:\n\n" + markdown(rows, NUMBERS)
        )
        return files, Page("figure5", "Figure 5: overlap between classes", body)

    return Plan(list(tasks.values()), finish, missing)


def _chosen(y: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The samples of the four classes, class by class."""
    return np.concatenate([np.flatnonzero(y == c) for c in FIGURE_V.classes])


def _task(name: str, data: Path) -> Task:
    settings = {
        "set": datasets.entry(name).checksum,
        "classes": FIGURE_V.classes,
        "methods": [vars(method) for method in METHODS],
        "version": ldssc.__version__,
    }
    n = len(_chosen(load_set(name, data).y))
    return Task("overlaps", name, settings, overlap_cell, (name, data), 1500 * (n / 1000) ** 3)


def overlap_cell(name: str, data: Path) -> Cell:
    """Methods x n x n, and the shares of each matrix."""
    loaded = load_set(name, data)
    chosen = _chosen(loaded.y)
    K = affinity.gaussian_affinity(loaded.X[chosen], affinity.median_distance(loaded.X))
    matrices = [normalized(K, method)[0] for method in METHODS]
    rows = [
        {"dataset": name, "matrix": method.name, **shares(F, loaded.y[chosen])}
        for method, F in zip(METHODS, matrices, strict=True)
    ]
    return Cell({"rows": rows}, np.stack(matrices).astype(np.float32))


def shares(F: Matrix, y: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Where the mass of |F| lies."""
    mass, same = np.abs(F), y[:, None] == y[None, :]
    diagonal, inside = float(np.trace(mass)), float(mass[same].sum())
    off = float(mass.sum()) - diagonal
    return {
        "within classes": inside / float(mass.sum()),
        "within, off the diagonal": (inside - diagonal) / off if off > 0 else None,
        "diagonal": diagonal / float(mass.sum()),
        "negative mass": float(np.abs(F[F < 0]).sum() / mass.sum()),
    }
