"""One cell of Tables II and III: a set under one reading and kernel parameter, clustered by a bundle of methods."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

import ldssc
from ldssc import affinity, datasets
from ldssc.datasets import Dataset
from ldssc.embedding import spectral_embedding
from ldssc.exceptions import InputError
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.cells import Cell
from ldssc.experiments.computing import Task
from ldssc.experiments.settings import SEED, Bundle, Method, Reading, is_polynomial
from ldssc.labels import discretize
from ldssc.metrics import error_rate
from ldssc.normalization import normalize
from ldssc.solvers import Result, project
from ldssc.validation import Matrix

COMPONENTS = 5
ROW_NORMALIZE = (True, False)


@lru_cache(maxsize=2)
def load_set(name: str, folder: Path) -> Dataset:
    """The set, checked."""
    return datasets.load(name, folder)


def majority_error(y: npt.NDArray[np.int64]) -> float:
    """The error of everything in one class."""
    return float(1 - np.bincount(y).max() / len(y))


@lru_cache(maxsize=2)
def features(name: str, folder: Path, reading: Reading) -> Matrix:
    """The points: scaled, reduced by PCA where Table I says so, their length made one."""
    X = load_set(name, folder).X
    if reading.features == "standardised":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    elif reading.features == "min-max":
        reach = np.ptp(X, axis=0)
        X = (X - X.min(axis=0)) / np.where(reach > 0, reach, 1.0)
    if name in paper.REDUCED_TO_FIVE:
        X = affinity.pca(X, COMPONENTS)
    if reading.unit_rows:
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(lengths > 0, lengths, 1.0)
    return X


def affinity_matrix(name: str, folder: Path, reading: Reading, parameter: float) -> Matrix:
    """K of the paper's kernel, at δ = parameter × median distance or d = parameter, in the reading's scale."""
    X = features(name, folder, reading)
    if not is_polynomial(name):
        return scaled(affinity.gaussian_affinity(X, parameter * affinity.median_distance(X)), reading.scale)
    if reading.scale == "literal":
        return affinity.polynomial_affinity(X, parameter)
    # (aᵀb + 1)^d / largest = ((aᵀb + 1)/m)^d: the same, and it cannot overflow
    base = affinity.polynomial_affinity(X, 1)
    base /= np.abs(base).max()
    return scaled(_clipped(base) ** int(parameter), reading.scale)


def _clipped(base: Matrix) -> Matrix:
    """Zero where aᵀb + 1 of points of length one falls below it by rounding."""
    return np.where((base < 0) & (base > -1e-14), 0.0, base)


def scaled(K: Matrix, scale: str) -> Matrix:
    """K times the constant that the scale asks for (15)."""
    if scale == "literal":
        return K
    if scale == "largest one":
        return np.asarray(K / np.abs(K).max())
    wanted, mean = float(scale.removeprefix("mean row sum ")), float(K.sum(axis=1).mean())
    if mean <= 0:
        raise InputError(f"the rows of K sum to {mean:.3g} in the mean, which no scale makes {wanted:g}")
    return np.asarray(K * (wanted / mean))


@lru_cache(maxsize=1)
def compile_loops() -> None:
    """Once a process, before anything is timed: our solvers compile their loops at first use."""
    project(affinity.gaussian_affinity(datasets.two_gaussians(120, random_state=SEED).X), tol=1e-5, max_iter=50)


def normalized(K: Matrix, method: Method) -> tuple[Matrix, dict[str, Any]]:
    """The matrix that the method clusters, unrepaired for the paper's two algorithms, and what is to be said of it."""
    if method.normalization != "semidefinite":
        return normalize(K, method.normalization, **method.options), {}
    result = project(K, **method.options)
    F = result.iterate if method.options.get("paper") else result.F
    return F, describe(result)


def describe(result: Result) -> dict[str, Any]:
    """Numbers of a run."""
    iterate = float(np.linalg.norm(result.iterate - result.F) / np.linalg.norm(result.F))
    return {
        "distance": result.certificate.distance,
        "iterate_off": iterate,
        "status": result.status.name,
        "iterations": result.n_iter,
        "inner": result.n_inner,
        "n_eig": result.n_eig,
    }


def cluster(K: Matrix, y: npt.NDArray[np.int64], method: Method, n_init: int) -> tuple[dict[str, Any], Matrix]:
    """Error rates with and without row normalisation, and the labels; a method that refuses K says why."""
    compile_loops()
    k, start = int(y.max()) + 1, time.perf_counter()
    try:
        F, said = normalized(K, method)
        seconds = time.perf_counter() - start
        embedded = spectral_embedding(F, k)
        labels = [
            discretize(embedded.vectors, k, n_init=n_init, row_normalize=r, random_state=SEED) for r in ROW_NORMALIZE
        ]
    except (InputError, np.linalg.LinAlgError) as error:
        return {"refused": str(error)}, np.full((len(ROW_NORMALIZE), len(y)), -1)
    record = {
        "errors": {str(r): error_rate(y, found) for r, found in zip(ROW_NORMALIZE, labels, strict=True)},
        "seconds": seconds,
        "neighbours": len(F) / float(np.sum(F * F)),
        "n_ones": embedded.n_ones,
        "ambiguous": bool(embedded.message),
        **said,
    }
    return record, np.stack(labels)


def bundle_cell(
    name: str, folder: Path, reading: Reading, parameter: float, methods: tuple[Method, ...], n_init: int
) -> Cell:
    """All methods of a bundle on one K."""
    y = load_set(name, folder).y
    try:
        K = affinity_matrix(name, folder, reading, parameter)
    except InputError as error:
        return Cell({"methods": {m.name: {"refused": str(error)} for m in methods}}, np.zeros(0, dtype=np.int16))
    records, labels = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # status and distance are in the record
        for method in methods:
            records[method.name], found = cluster(K, y, method, n_init)
            labels.append(found)
    return Cell({"methods": records}, np.stack(labels).astype(np.int16))


GROUP = "clustering"


def bundle_name(name: str, reading: Reading, parameter: float, bundle: Bundle) -> str:
    """The name of that cell."""
    words = f"{reading.features}{'-unit' if reading.unit_rows else ''}-{reading.scale}".replace(" ", "-")
    return f"{name}_{words}_{parameter:g}_{bundle.name}"


def bundle_task(name: str, folder: Path, reading: Reading, parameter: float, bundle: Bundle, n_init: int) -> Task:
    """The task of that cell; the same for every table and figure that asks for it."""
    n, _, k = paper.SHAPES[name]
    return Task(
        GROUP,
        bundle_name(name, reading, parameter, bundle),
        {
            "set": datasets.entry(name).checksum,
            "kernel": "polynomial" if is_polynomial(name) else "Gaussian",
            "reading": vars(reading),
            "parameter": parameter,
            "methods": [vars(method) for method in bundle.methods],
            "n_init": n_init,
            "seed": SEED,
            "version": ldssc.__version__,
        },
        bundle_cell,
        (name, folder, reading, parameter, bundle.methods, n_init),
        cost=bundle.forecast(n, k),
    )
