"""Small extents of every experiment, on sets that scikit-learn brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldssc import datasets
from ldssc.experiments import (
    clustering,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    science,
    settings,
    table2,
    table4,
    table5,
    table6,
)


@pytest.fixture(scope="session")
def iris_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """iris.npz, and nothing else."""
    folder = tmp_path_factory.mktemp("iris")
    datasets.fetch("iris", folder)
    return folder


@pytest.fixture(scope="session")
def shared_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One output folder: the experiments share cells."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def small() -> Iterator[settings.ErrorRates]:
    """Every experiment at its smallest: fifty irises at two widths."""
    grid = replace(settings.TABLE_II_QUICK, sets=("iris", "pima"), widths=(1.0, 2.0))
    load = datasets.load

    def third(name: str, folder: Path) -> datasets.Dataset:
        full = load(name, folder)
        return replace(full, X=full.X[::3], y=full.y[::3]) if name == "iris" else full

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", third)
        for module in (table2, table4, figure3, science):
            patch.setattr(module, "TABLE_II_QUICK", grid)
        for module in (figure3, science):
            patch.setattr(module, "TABLE_III_QUICK", replace(grid, sets=()))
        patch.setattr(table4, "TABLE_IV_QUICK", settings.Timings(sets=("iris",), limit=20.0))
        patch.setattr(table5, "TABLE_V", ("leukemia", "iris"))
        patch.setattr(table6, "TABLE_VI", replace(settings.TABLE_VI, sets=("iris",)))
        patch.setattr(figure4, "FIGURE_IV", settings.Embeddings(sets=("iris",)))
        patch.setattr(figure5, "FIGURE_V", settings.Overlaps(sets=("iris",), classes=(0, 1)))
        patch.setattr(figure6, "FIGURE_VI_QUICK", settings.Growth(toy=(30, 70), yale=(), limit=20.0))
        patch.setattr(figure2, "SETS", ("iris",))
        patch.setattr(figure2, "EACH", 3)
        patch.setattr(science, "SCIENCE_QUICK", settings.Candidates(early=(3, 30), orders=2, trace_limit=20.0))
        for cache in (clustering.load_set, clustering.features):
            cache.cache_clear()
        yield grid
    for cache in (clustering.load_set, clustering.features):
        cache.cache_clear()


@pytest.fixture
def labels() -> np.ndarray:
    """Two classes of two."""
    return np.array([0, 0, 1, 1])
