"""ldssc certify: the sentence, JSON, labels from any column, exit codes, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from command import Command
from sklearn.datasets import load_iris

import ldssc


@pytest.fixture
def flowers(tmp_path: Path) -> tuple[Path, Path]:
    """30 irises, and their species as labels with a header."""
    data = load_iris()
    np.savetxt(tmp_path / "data.csv", data.data[::5], delimiter=",")
    names = [str(data.target_names[species]) for species in data.target[::5]]
    (tmp_path / "labels.csv").write_text("\n".join(["label", *names]) + "\n")
    return tmp_path / "labels.csv", tmp_path / "data.csv"


def test_the_sentence_and_the_numbers(run: Command, flowers: tuple[Path, Path]) -> None:
    code, out, err = run("certify", *flowers)
    assert (code, err) == (0, "")
    proof = ldssc.certify_labels(load_iris().target[::5], load_iris().data[::5])
    assert out.splitlines()[0] == proof.sentence
    assert f"cost {proof.cost:.10g}, bound {proof.bound:.10g}" in out
    assert "tightness" in out


def test_json_is_all_there_is(run: Command, flowers: tuple[Path, Path]) -> None:
    np.save("bad.npy", np.arange(30) % 3)
    code, out, _ = run("certify", "bad.npy", flowers[1], "--json", "--better", "better.csv")
    assert code == 0
    said = json.loads(out)
    assert said["bound"] <= said["better_cost"] < said["cost"]
    assert said["n_points"] == 30
    better = [int(line) for line in Path("better.csv").read_text().split()[1:]]
    assert better == said["better_labels"]
    assert ldssc.certify_labels(better, load_iris().data[::5]).cost == pytest.approx(said["better_cost"])


@pytest.mark.parametrize("column", ["species", "5"])
def test_labels_may_stand_in_the_data_file(column: str, run: Command, table: Path) -> None:
    code, out, _ = run("certify", table, table, "--label-column", column, "--json")
    assert code == 0
    assert (json.loads(out)["n_points"], json.loads(out)["n_clusters"]) == (45, 3)


def test_labels_that_cluster_writes_are_labels_that_certify_reads(run: Command, flowers: tuple[Path, Path]) -> None:
    assert run("cluster", flowers[1], "-k", "3", "-o", "found.csv").code == 0
    assert run("certify", "found.csv", flowers[1]).code == 0


@pytest.mark.parametrize("objective", ["kernel", "normalized-cut"])
def test_matrices_and_arrays(objective: str, run: Command, affinity: Path) -> None:
    np.save("labels.npy", np.arange(60) % 3)
    code, out, _ = run("certify", "labels.npy", affinity, "--objective", objective)
    assert code == 0
    assert "no partition into 3 clusters costs less than" in out


def test_noise_is_said(run: Command, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "data.txt", np.r_[np.zeros(5), np.ones(5), 9])
    (tmp_path / "labels.txt").write_text("\n".join(["a"] * 5 + ["b"] * 5 + ["-1"]))
    code, out, _ = run("certify", "labels.txt", "data.txt")
    assert code == 0
    assert "1 point labelled as noise is left out." in out


BAD = {
    "no labels file": (("absent.csv", "data.csv"), "there is no file absent.csv"),
    "no data file": (("labels.csv", "absent.csv"), "there is no file absent.csv"),
    "folder": ((".", "data.csv"), "is a folder"),
    "another length": (("short.csv", "data.csv"), "2 labels and 30 rows"),
    "empty": (("empty.csv", "data.csv"), "empty.csv is empty"),
    "blank": (("blank.csv", "data.csv"), "has no lines"),
    "missing label": (("gap.csv", "data.csv"), "gap.csv, line 2: there is no label"),
    "no such column": (("labels.csv", "data.csv", "--label-column", "kind"), "has no column 'kind'"),
    "which column": (("two.csv", "data.csv"), "has 2 columns"),
    "objective": (("labels.csv", "data.csv", "--objective", "beauty"), "valid names: kernel, kmeans, normalized-cut"),
    "points for a kernel": (("labels.csv", "data.csv", "--objective", "kernel"), "needs a square matrix"),
    "text as data": (("labels.csv", "labels.csv"), "labels.csv"),
    "tol": (("labels.csv", "data.csv", "--tol", "0"), "tol must be a number > 0"),
    "overwrite": (("labels.csv", "data.csv", "--better", "data.csv"), "would be overwritten"),
    "not utf-8": (("latin.csv", "data.csv"), "is not text in UTF-8"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_code_2(
    arguments: tuple[str, ...], said: str, run: Command, flowers: tuple[Path, Path]
) -> None:
    folder = flowers[0].parent
    (folder / "short.csv").write_text("1\n2\n")
    (folder / "empty.csv").write_text("")
    (folder / "blank.csv").write_text("\n \n")
    (folder / "gap.csv").write_text("\n".join(["1", "NA", *["1"] * 28]))
    (folder / "two.csv").write_text("1,2\n" * 30)
    (folder / "latin.csv").write_bytes(b"\xe9\n" * 30)
    before = flowers[1].read_bytes()
    outcome = run("certify", *arguments)
    assert outcome.code == 2
    assert said in outcome.complaint
    assert flowers[1].read_bytes() == before
