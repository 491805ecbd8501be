"""Figure 4: Leukemia and Lung, first two principal components and two leading eigenvectors under each normalisation.

What the eye should see, as numbers: `line`, the share of the embedded points' variance along one direction (1: they lie on
a line); `separation`, between-class variance of the points over all variance, along the direction that separates best
(Fisher's: 1 would be two points); `outliers`, how many times the median distance from the median the farthest point lies.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ldssc
from ldssc import affinity, datasets, plots
from ldssc.embedding import spectral_embedding
from ldssc.exceptions import InputError
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.cells import Cell
from ldssc.experiments.clustering import affinity_matrix, load_set, normalized
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import reading_a
from ldssc.experiments.settings import EXACT, FIGURE_IV, FSC, LD1, LD2, NC, NO, RC
from ldssc.labels import discretize
from ldssc.metrics import error_rate
from ldssc.validation import Matrix

METHODS = (NO, RC, NC, FSC, LD1, LD2, EXACT)
FIRST = "first 2 PCs"
NUMBERS = ("dataset", "panel", "line", "separation", "outliers", "error")
POINTS = ("dataset", "panel", "sample", "class", "x", "y")


def plan(request: Request) -> Plan:
    """A cell a set."""
    there, missing = available(FIGURE_IV.sets, request.data)
    tasks = {name: _task(name, request.data) for name in there}

    def finish(found: Found) -> tuple[list[Path], Page]:
        cells = {name: found[task.key] for name, task in tasks.items() if task.key in found}
        rows = [row for name, cell in cells.items() for row in cell.record["rows"]]
        points = [row for name, cell in cells.items() for row in _points(name, cell, load_set(name, request.data).y)]
        files = [write_csv(request.out / "figure4.csv", rows, NUMBERS)]
        files.append(write_csv(request.out / "figure4-points.csv", points, POINTS))
        panels = [
            (name, cell.record["panels"], cell.array, load_set(name, request.data).y) for name, cell in cells.items()
        ]
        files += plots.write_figure(plots.embeddings_figure(panels), request.out, "figure4")
        body = (
            f"![embeddings](figure4.png)\n\nPolynomial kernel, d = {FIGURE_IV.degree:g}, reading A. `line`: share of the "
            "variance along one direction; `separation`: share of the variance that is between the classes, along the "
            "direction that separates best; `outliers`: distance of the farthest point from the median, in median "
            "distances; `error` of the labels. A doubly stochastic F has the constant vector as its leading eigenvector, so "
            "that two eigenvectors put all points on a line, under FSC as under LD-SSC: the line of the paper's figure is "
            "no effect of semidefiniteness.\n\n" + markdown(rows, NUMBERS)
        )
        return files, Page("figure4", "Figure 4: embeddings of Leukemia and Lung", body)

    return Plan(list(tasks.values()), finish, missing)


def _task(name: str, data: Path) -> Task:
    settings = {
        "set": datasets.entry(name).checksum,
        "reading": vars(reading_a(name)),
        "degree": FIGURE_IV.degree,
        "methods": [vars(method) for method in METHODS],
        "version": ldssc.__version__,
    }
    cost = 1500 * (paper.SHAPES[name][0] / 1000) ** 3
    return Task(
        "embeddings", f"{name}_d{FIGURE_IV.degree:g}", settings, embedding_cell, (name, data, FIGURE_IV.degree), cost
    )


def embedding_cell(name: str, data: Path, degree: float) -> Cell:
    """Panels x samples x 2, and the numbers of each panel."""
    loaded, reading = load_set(name, data), reading_a(name)
    K = affinity_matrix(name, data, reading, degree)
    panels, rows = {FIRST: affinity.pca(loaded.X, 2)}, []
    errors: dict[str, float | None] = {FIRST: None}
    for method in METHODS:
        try:
            F, _ = normalized(K, method)
        except InputError:
            continue
        vectors = spectral_embedding(F, 2).vectors
        panels[method.name] = vectors
        errors[method.name] = error_rate(loaded.y, discretize(vectors, random_state=0))
    for title, points in panels.items():
        numbers = {
            "line": line_share(points),
            "separation": separation(points, loaded.y),
            "outliers": outlyingness(points),
        }
        rows.append({"dataset": name, "panel": title, **numbers, "error": errors[title]})
    return Cell({"panels": list(panels), "rows": rows}, np.stack(list(panels.values())))


def line_share(points: Matrix) -> float:
    """Share of the variance along the first principal direction."""
    s = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    return float(s[0] / s.sum()) if s.sum() > 0 else 1.0


def separation(points: Matrix, y: npt.NDArray[np.int64]) -> float:
    """The largest wᵀBw / wᵀTw over directions w, B and T the scatter between classes and in all: Fisher's."""
    centred = points - points.mean(axis=0)
    # an orthonormal basis of the columns turns T into the identity
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    basis = U[:, s > 1e-12 * max(float(s[0]), 1e-300)]
    means = np.stack([np.sqrt((y == c).sum()) * basis[y == c].mean(axis=0) for c in np.unique(y)])
    return float(np.linalg.norm(means, 2) ** 2) if basis.size else 0.0


def outlyingness(points: Matrix) -> float:
    """Distance of the farthest point from the median, in median distances."""
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    middle = float(np.median(distances))
    return float(distances.max() / middle) if middle > 0 else 1.0


def _points(name: str, cell: Cell, y: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    return [
        dict(zip(POINTS, (name, panel, i, int(y[i]), float(x), float(z)), strict=True))
        for panel, points in zip(cell.record["panels"], cell.array, strict=True)
        for i, (x, z) in enumerate(points)
    ]
