"""ldssc cluster: the labels of the estimator, one a row, and bad tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from command import Command

import ldssc
from ldssc.tables import read_text

QUICK = ("--ignore", "species", "--normalization", "frobenius")


def labels(path: str = "l.csv") -> np.ndarray:
    head, *rest = Path(path).read_text().splitlines()
    assert head == "label"
    return np.array(rest, dtype=int)


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ((), {}),
        (("--normalization", "normalized-cut"), {"normalization": "normalized-cut"}),
        (("--solver", "ld-ssc2", "--tol", "0.1"), {"solver": "ld-ssc2", "tol": 0.1}),
        (
            ("--affinity", "nearest_neighbors", "--n-neighbors", "8", "--normalization", "sinkhorn"),
            {"affinity": "nearest_neighbors", "n_neighbors": 8, "normalization": "sinkhorn"},
        ),
        (
            ("--affinity", "poly", "--degree", "2", "--coef0", "0.5", "--gamma", "0.1", "--normalization", "frobenius"),
            {"affinity": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1, "normalization": "frobenius"},
        ),
        (
            ("--pca", "2", "--assign-labels", "kmeans", "--n-init", "3", "--no-row-normalize", "--n-components", "2"),
            {"pca": 2, "assign_labels": "kmeans", "n_init": 3, "row_normalize": False, "n_components": 2},
        ),
        (
            ("--kernel-param", "delta=2.5", "--kernel-param", "self_loops=false", "--affinity", "fully_connected"),
            {"kernel_params": {"delta": 2.5, "self_loops": False}, "affinity": "fully_connected"},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_labels_are_those_of_the_estimator(
    options: tuple[str, ...], parameters: dict[str, object], run: Command, table: Path
) -> None:
    code, out, err = run("cluster", table, "-k", 3, "-o", "l.csv", "--ignore", "species", *options)
    assert code == 0, err
    X = read_text(table, ignore=["species"]).X
    model = ldssc.SemidefiniteSpectralClustering(3, random_state=0, **parameters).fit(X)
    np.testing.assert_array_equal(labels(), model.labels_)
    assert model.affinity_description_ in out
    for label, size in enumerate(np.bincount(model.labels_)):
        assert any(line.strip("│| ").split()[:1] == [str(label)] and f" {size} " in line for line in out.splitlines())
    assert ("proven within" in out) is (model.result_ is not None)


def test_a_precomputed_affinity_is_clustered(run: Command, affinity: Path, K: np.ndarray) -> None:
    assert run("cluster", affinity, "-k", 3, "-o", "l.csv", "--affinity", "precomputed", "--tol", 0.1).code == 0
    model = ldssc.SemidefiniteSpectralClustering(3, affinity="precomputed", tol=0.1, random_state=0).fit(K)
    np.testing.assert_array_equal(labels(), model.labels_)


def test_labels_from_an_unproven_matrix_are_written_with_code_1(run: Command, table: Path) -> None:
    code, out, err = run(
        "cluster", table, "-k", 3, "-o", "l.csv", "--ignore", "species", "--tol", 1e-9, "--max-iter", 2
    )
    assert code == 1
    assert len(labels()) == 45
    assert "before the tolerance was proven" in out
    assert err.count("warning: ") == 1


def test_the_same_seed_gives_the_same_file(run: Command, table: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert run("cluster", table, "-k", 4, "-o", name, *QUICK, "--random-state", 5).code == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("absent.csv", "-k", "3", "-o", "l.csv"), "there is no file absent.csv"),
        (("irises.csv", "-k", "3", "-o", "l.csv"), "column 'species' (45 of 45 cells, the first 'setosa' on line 2)"),
        (("irises.csv", "-k", "3", "-o", "l.csv", "--ignore", "colour"), "no column 'colour'"),
        (("irises.csv", "-k", "0", "-o", "l.csv", *QUICK), "n_clusters must be at least 1, and is 0"),
        (("irises.csv", "-k", "46", "-o", "l.csv", *QUICK), "n_clusters=46 is more than"),
        (("irises.csv", "-k", "3", "-o", "l.xlsx", *QUICK), "must end in .csv, .txt"),
        (("irises.csv", "-k", "3", "-o", "irises.csv", *QUICK), "would be overwritten"),
        (("irises.csv", "-k", "3", "-o", "nowhere/l.csv", *QUICK), "there is no folder nowhere"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--affinity", "magic"), "valid names: additive_chi2"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK[:2], "--normalization", "magic"), "valid names: frobenius"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--assign-labels", "magic"), "valid names: discretize"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--pca", "5"), "more than the smaller side of X, 4"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--max-iter", "5"), "--max-iter belongs to"),
        (
            ("irises.csv", "-k", "3", "-o", "l.csv", "--ignore", "species", "--max-iter", "0"),
            "max_iter must be at least 1, and is 0",
        ),
        (
            ("irises.csv", "-k", "3", "-o", "l.csv", "--ignore", "species", "--time-limit", "0"),
            "time_limit must be a number > 0",
        ),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--kernel-param", "width"), "must look like name=value"),
        (("irises.csv", "-k", "3", "-o", "l.csv", *QUICK, "--kernel-param", "width=2"), "'width'"),
        (("same.csv", "-k", "2", "-o", "l.csv"), "only 1 distinct rows"),
        (("vector.npy", "-k", "2", "-o", "l.csv"), "vector.npy must have two dimensions"),
        (("vector.npy", "-k", "2", "-o", "l.csv", "--ignore", "1"), "in text files only"),
        (
            ("negative.npy", "-k", "2", "-o", "l.csv", "--affinity", "precomputed", "--normalization", "sinkhorn"),
            "negative entries",
        ),
        (
            ("zero.npy", "-k", "2", "-o", "l.csv", "--affinity", "precomputed", "--normalization", "normalized-cut"),
            "all zero",
        ),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments: tuple[str, ...], said: str, run: Command, tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("1,2\n1,2\n1,2\n")
    np.save(tmp_path / "vector.npy", np.ones(3))
    np.save(tmp_path / "negative.npy", -np.ones((3, 3)))
    np.save(tmp_path / "zero.npy", np.diag([1.0, 0.0, 1.0]))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = run("cluster", *arguments)
    assert outcome.code == 2
    assert said in outcome.complaint
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
