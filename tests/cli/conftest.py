"""What the tests of the commands share: the command itself, in this process, and small real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from command import Command, Outcome
from sklearn.datasets import load_iris

import ldssc
from ldssc.cli import main


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`ldssc` with these arguments, in this process and in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def K() -> np.ndarray:
    """The Gaussian affinities of the first 60 irises."""
    return ldssc.gaussian_affinity(load_iris().data[:60])


@pytest.fixture
def affinity(tmp_path: Path, K: np.ndarray) -> Path:
    """K as a file."""
    np.save(tmp_path / "K.npy", K)
    return tmp_path / "K.npy"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 45 irises with a header, and their species as text."""
    data = load_iris()
    names = [data.target_names[species] for species in data.target[::10]] * 3
    rows = np.tile(data.data[::10], (3, 1)) + np.random.default_rng(0).normal(0, 0.05, (45, 4))
    lines = [",".join([*(f"{cell:.4f}" for cell in row), name]) for row, name in zip(rows, names, strict=True)]
    head = "sepal length,sepal width,petal length,petal width,species"
    (tmp_path / "irises.csv").write_text("\n".join([head, *lines]) + "\n")
    return tmp_path / "irises.csv"
