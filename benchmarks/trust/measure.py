"""What is measured on one data set: labels of three tools, their errors, and the scores that might foretell them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, davies_bouldin_score, silhouette_score

import ldssc
from ldssc.proofs.tightness import (
    _look,
)  # the same look at the same points gives labels, tightness and their reliability

Array = np.ndarray[Any, np.dtype[np.float64]]
ROWS = 300
_DRAWS, _REFERENCES, _PART = 5, 5, 0.8
PAPER = (
    *("alphadigits", "bupa", "coil20", "hayes_roth", "iris", "leukemia"),
    *("lung", "orl", "pima", "spectf", "wine", "yale"),
)


def data_sets(folder: Path) -> list[Path]:
    """The open sets for tuning and the paper's, by name."""
    found = [*(folder / "dev").glob("*.npz"), *(folder / f"{name}.npz" for name in PAPER)]
    return sorted((path for path in found if path.exists()), key=lambda path: path.stem)


def load(path: Path) -> tuple[Array, np.ndarray[Any, Any]]:
    """At most 300 points, standardised, with their classes."""
    with np.load(path) as arrays:
        X, y = arrays["X"].astype(float), arrays["y"]
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:ROWS])
    X, y = X[rows], y[rows]
    spread = X.std(axis=0)
    return (X[:, spread > 0] - X[:, spread > 0].mean(axis=0)) / spread[spread > 0], y


def k_means(X: Array, k: int) -> np.ndarray[Any, Any]:
    return np.asarray(KMeans(k, n_init=10, random_state=0).fit_predict(X))


def spectral(X: Array, k: int) -> np.ndarray[Any, Any]:
    """scikit-learn's, on 10 nearest neighbours."""
    model = SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=min(10, len(X) - 1), random_state=0)
    return np.asarray(model.fit_predict(X))


def relaxed(X: Array, k: int) -> np.ndarray[Any, Any]:
    """The partition that `trust` speaks of; points that it leaves out go with their nearest neighbour."""
    labels = _look(X, k, None).labels.copy()
    for i in np.flatnonzero(labels < 0):
        near = np.square(X - X[i]).sum(axis=1)
        near[labels < 0] = np.inf
        labels[i] = labels[near.argmin()]
    return labels


TOOLS: dict[str, Callable[[Array, int], np.ndarray[Any, Any]]] = {
    "relaxation": relaxed,
    "spectral": spectral,
    "k-means": k_means,
}


def measure(path: Path) -> dict[str, Any]:
    """Everything about one set: scores of the set, and for each tool its error and the scores of its labels."""
    X, y = load(path)
    k = len(np.unique(y))
    row: dict[str, Any] = {
        "set": path.stem,
        "n": len(X),
        "d": X.shape[1],
        "k": k,
        "scores": {},
        "seconds": {},
        "tools": {},
    }
    with _clock(row, "tightness"):
        look = _look(X, k, None)
        P = ldssc.fermat_distances(X)
    row["scores"]["tightness"], row["reliable"] = look.value, look.reliable
    with _clock(row, "gap of G"):
        row["scores"]["gap of G"] = ldssc.relax(-P / P.mean(), k, max_iter=600).eigengap
    with _clock(row, "eigengap"):
        row["scores"]["eigengap"] = _eigengap(X, k)
    with _clock(row, "gap statistic"):
        row["scores"]["gap statistic"] = _gap_statistic(X, k)
    for name, tool in TOOLS.items():
        row["tools"][name] = _of_labels(X, y, k, tool, look.labels, row)
    return row


def _of_labels(X: Array, y: Any, k: int, tool: Any, reference: Any, row: dict[str, Any]) -> dict[str, float]:
    labels = tool(X, k)
    kept = reference >= 0
    found = {"error": ldssc.error_rate(y, labels)}
    found["agreement"] = 1 - ldssc.error_rate(labels[kept], reference[kept])
    found["tightness x agreement"] = row["scores"]["tightness"] * found["agreement"]
    with _clock(row, "silhouette"):
        found["silhouette"] = float(silhouette_score(X, labels))
    with _clock(row, "Davies-Bouldin"):
        found["Davies-Bouldin"] = -float(davies_bouldin_score(X, labels))
    with _clock(row, "Calinski-Harabasz"):
        found["Calinski-Harabasz"] = float(calinski_harabasz_score(X, labels)) / len(X)
    with _clock(row, "stability"):
        found["stability"] = _stability(X, k, tool, labels)
    return found


def _stability(X: Array, k: int, tool: Any, labels: Any) -> float:
    """Mean adjusted Rand index of the labels with those found on parts of the points."""
    rng, found = np.random.default_rng(1), []
    for _ in range(_DRAWS):
        rows = rng.permutation(len(X))[: int(_PART * len(X))]
        found.append(adjusted_rand_score(labels[rows], tool(X[rows], k)))
    return float(np.mean(found))


def _eigengap(X: Array, k: int) -> float:
    """λ_(k+1) − λ_k of the normalised Laplacian of 10 nearest neighbours."""
    K = ldssc.knn_affinity(X, min(10, len(X) - 1), weights="binary")
    values = np.linalg.eigvalsh(laplacian(K, normed=True))
    return float(values[k] - values[k - 1])


def _gap_statistic(X: Array, k: int) -> float:
    """Tibshirani, Walther and Hastie: by how much log W_k falls below that of uniform boxes along the principal axes."""
    rng = np.random.default_rng(2)
    _, _, axes = np.linalg.svd(X, full_matrices=False)
    Z = X @ axes.T
    low, high = Z.min(axis=0), Z.max(axis=0)
    drawn = [rng.uniform(low, high, size=Z.shape) for _ in range(_REFERENCES)]
    logs = [np.log(KMeans(k, n_init=3, random_state=0).fit(points).inertia_) for points in (Z, *drawn)]
    return float(np.mean(logs[1:]) - logs[0])


class _clock:  # noqa: N801
    def __init__(self, row: dict[str, Any], name: str) -> None:
        self.row, self.name = row, name

    def __enter__(self) -> None:
        self.start = time.process_time()

    def __exit__(self, *_: object) -> None:
        seconds = self.row["seconds"]
        seconds[self.name] = seconds.get(self.name, 0.0) + time.process_time() - self.start


def measure_null(kind: str, d: int, k: int) -> dict[str, Any]:
    """The tightness of 300 points without clusters."""
    rng = np.random.default_rng([d, k])
    X = {
        "Gaussian": lambda: rng.standard_normal((ROWS, d)),
        "uniform": lambda: rng.uniform(size=(ROWS, d)),
        "heavy tails": lambda: rng.standard_t(3, size=(ROWS, d)),
    }[kind]()
    look = _look(X / X.std(axis=0), k, None)
    return {"null": kind, "d": d, "k": k, "tightness": look.value, "reliable": look.reliable}
