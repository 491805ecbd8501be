"""Table VI, our own: the sets with what users would take today, nothing tuned; our solver's time beside the paper's.

Every tool gets standardised features and, where it takes it, the true number of clusters; all else is its default.
HDBSCAN finds its own number of clusters; what it calls noise is one more cluster. Genie needs `genieclust`, and is left out
where that is not installed.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering

import ldssc
from ldssc import affinity, datasets
from ldssc.cluster import SemidefiniteSpectralClustering
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.cells import Cell
from ldssc.experiments.clustering import bundle_task, compile_loops, features, load_set, majority_error
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import reading_a, record_of
from ldssc.experiments.settings import (
    EXACT_BUNDLE,
    EXACT_ROW,
    MIDDLE,
    SEED,
    TABLE_II,
    TABLE_VI,
    Reading,
    fixed_parameter,
)
from ldssc.experiments.statistics import paired_bootstrap, sign_test
from ldssc.metrics import error_rate
from ldssc.validation import Matrix

Labels = npt.NDArray[np.int64]
OURS = "ldssc, defaults"
COLUMNS = ("dataset", "tool", "error", "clusters", "seconds")


def _spectral(X: Matrix, k: int, **options: Any) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the graph is not fully connected": its users see that too, and get labels
        return np.asarray(SpectralClustering(k, random_state=SEED, **options).fit_predict(X))


def _genie(X: Matrix, k: int) -> Labels:
    genieclust = importlib.import_module("genieclust")
    return np.asarray(genieclust.Genie(n_clusters=k).fit_predict(X))


TOOLS: dict[str, Callable[[Matrix, int], Labels]] = {
    "k-means": lambda X, k: np.asarray(KMeans(k, n_init=10, random_state=SEED).fit_predict(X)),
    "Ward": lambda X, k: np.asarray(AgglomerativeClustering(k).fit_predict(X)),
    "scikit-learn rbf": _spectral,
    "scikit-learn rbf, median width": lambda X, k: _spectral(X, k, gamma=affinity.median_distance(X) ** -2),
    "scikit-learn nearest neighbours": lambda X, k: _spectral(X, k, affinity="nearest_neighbors"),
    "HDBSCAN": lambda X, _: np.asarray(HDBSCAN(copy=True).fit_predict(X)),
    "Genie": _genie,
    OURS: lambda X, k: SemidefiniteSpectralClustering(k, random_state=SEED).fit(X).labels_,
}


def plan(request: Request) -> Plan:
    """A cell a set and tool, and the cells of the exact solution at the fixed parameter."""
    sets = [name for name in TABLE_VI.sets if not request.quick or paper.SHAPES[name][0] <= MIDDLE]
    there, missing = available(sets, request.data)
    installed = [tool for tool in TABLE_VI.tools if tool != "Genie" or importlib.util.find_spec("genieclust")]
    tasks = {(name, tool): _task(name, tool, request.data) for name in there for tool in installed}
    exact = [
        bundle_task(name, request.data, reading_a(name), fixed_parameter(name), EXACT_BUNDLE, TABLE_II.n_init)
        for name in there
    ]

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows = [found[task.key].record for task in tasks.values() if task.key in found]
        body = _body(rows, found, there, request.data, installed)
        page = Page("table6", "Table VI (ours): the tools of today, untuned", body)
        return [write_csv(request.out / "table6.csv", rows, COLUMNS)], page

    return Plan([*tasks.values(), *exact], finish, missing)


def _task(name: str, tool: str, data: Path) -> Task:
    settings = {
        "set": datasets.entry(name).checksum,
        "versions": [ldssc.__version__, sklearn.__version__],
        "seed": SEED,
    }
    word = tool.replace(" ", "-").replace(",", "")
    cost = (60 if tool == OURS else 5) * (max(paper.SHAPES[name][0], 200) / 1000) ** 3
    return Task("tools", f"{name}_{word}", settings, tool_cell, (name, tool, data), cost)


def tool_cell(name: str, tool: str, data: Path) -> Cell:
    """One tool on one set."""
    loaded = load_set(name, data)
    X = np.ascontiguousarray(_standardised(name, data))
    compile_loops()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        labels = TOOLS[tool](X, int(loaded.y.max()) + 1)
    record = {
        "dataset": name,
        "tool": tool,
        "seconds": time.perf_counter() - start,
        "error": error_rate(loaded.y, labels),
        "clusters": len(np.unique(labels)),
    }
    return Cell(record, labels.astype(np.int16))


def _standardised(name: str, data: Path) -> Matrix:
    """Standardised features, without the PCA of Table I."""
    if name not in paper.REDUCED_TO_FIVE:
        return features(name, data, Reading("standardised"))
    X = load_set(name, data).X
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _body(rows: list[dict[str, Any]], found: Found, there: list[str], data: Path, installed: list[str]) -> str:
    error = {(row["dataset"], row["tool"]): row["error"] for row in rows}
    wide: list[dict[str, Any]] = [
        {"tool": "majority class", **{name: majority_error(load_set(name, data).y) for name in there}}
    ]
    comparisons = []
    for tool in installed:
        own = {name: error[name, tool] for name in there if (name, tool) in error}
        wide.append({"tool": tool, **own, "mean": sum(own.values()) / max(len(own), 1)})
        pairs = [(error[name, OURS], value) for name, value in own.items() if (name, OURS) in error]
        if pairs and tool != OURS:
            ours, theirs = zip(*pairs, strict=True)
            comparisons.append(f"- {OURS} less {tool}: {paired_bootstrap(ours, theirs)}; {sign_test(ours, theirs)}")
    absent = "" if "Genie" in installed else "Genie was not run: `genieclust` is not installed.\n\n"
    times = []
    for name in there:
        record = record_of(found, name, reading_a(name), fixed_parameter(name), EXACT_ROW)
        times.append(
            {
                "dataset": name,
                "n": paper.SHAPES[name][0],
                "ours": None if record is None else record["seconds"],
                **{f"{method}, paper": row.get(name) for method, row in paper.SECONDS.items()},
            }
        )
    return (
        "Error rates on standardised features, the true number of clusters given where a tool takes it, nothing tuned. "
        f"HDBSCAN's noise counts as one cluster.\n\n{absent}"
        + markdown(wide, ("tool", *there, "mean"))
        + "\n"
        + "\n".join(comparisons)
        + f"\n\n## Seconds of our solver (`auto`, to {EXACT_BUNDLE.methods[0].options['tol']:g}) beside the paper's\n\n"
        + markdown(times, ("dataset", "n", "ours", *(f"{method}, paper" for method in paper.SECONDS)))
    )
