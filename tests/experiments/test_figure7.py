"""Figure 7 on small pictures: every cell stored as it is computed, a killed run goes on, the numbers are those drawn."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")

from ldssc import images
from ldssc.exceptions import InputError
from ldssc.experiments import Request, figure7, reproduce
from ldssc.experiments.cells import Cell, Cells
from ldssc.images.reading import write_image

SMALL = figure7.Settings(grid=(7, 7), radius=3.0, faces=(), photographs=("disc",))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One photograph of ours, with what two humans would draw."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "images").mkdir()
    down, right = np.indices((24, 30)) - np.array([[[12]], [[15]]])
    disc = (down**2 + right**2 < 64).astype(int)
    truth = np.where(disc == 1, 3, 1 + (right > 0))
    grey = (np.array([0, 60, 120, 230])[truth] + np.random.default_rng(0).normal(0, 3, disc.shape)).astype(np.uint8)
    write_image(folder / "images" / "disc.png", grey)
    (folder / "images" / "disc.png").rename(folder / "images" / "disc.jpg")  # the content decides, not the name
    np.savez(folder / "images" / "disc_gt.npz", segs=np.stack([truth, disc + 1]).astype(np.uint16))
    bands = np.repeat([np.repeat([0, 250, 0, 250], 7)], 28, axis=0).astype(np.uint8)
    write_image(folder / "images" / "bands.png", bands)
    (folder / "images" / "bands.png").rename(folder / "images" / "bands.jpg")
    return folder


def cells_in(out: Path) -> list[Path]:
    return sorted((out / "cells" / "figure7").glob("*.npz"))


def test_the_settings_are_those_of_the_paper() -> None:
    chosen = figure7.FIGURE_VII
    assert (chosen.grid, chosen.n_segments, chosen.n_init) == ((40, 40), 4, 10)
    assert [method.name for method in chosen.methods][:6] == ["NO", "RC", "NC", "FSC", "LD-SSC1", "LD-SSC2"]
    assert figure7.FIGURE_VII_QUICK.grid == (20, 20)
    assert figure7.FIGURE_VII_QUICK.methods == chosen.methods


def test_a_run_writes_a_table_and_figures_and_a_second_run_computes_nothing(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    outcome = figure7.run(data, tmp_path, settings=SMALL, progress=said.append)
    assert outcome.missing == []
    assert len(cells_in(tmp_path)) == len(outcome.rows) == len(said) == 14
    assert "left" in said[-1]
    names = ["figure7.csv", "figure7-sigma0.5.png", "figure7-sigma0.5.svg", "figure7-sigma3.png", "figure7-sigma3.svg"]
    assert [path.name for path in outcome.files] == names
    assert all(path.stat().st_size > 500 for path in outcome.files)
    with outcome.files[0].open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows[::2]] == [method.name for method in figure7.METHODS]
    again = figure7.run(data, tmp_path, settings=SMALL, progress=lambda _: pytest.fail("a cell was computed again"))
    assert again.rows == outcome.rows


def test_the_numbers_are_those_of_the_segmentation(data: Path, tmp_path: Path) -> None:
    methods = tuple(method for method in figure7.METHODS if method.name in ("FSC", "LD-SSC2"))
    outcome = figure7.run(data, tmp_path, settings=replace(SMALL, methods=methods, sigmas=(3.0,)))
    pixels = images.read_image(data / "images" / "disc.jpg")
    options: dict[str, Any] = {"grid": (7, 7), "radius": 3.0, "sigma": 3.0, "random_state": 0}
    fsc = images.segmentation(pixels, 4, normalization="frobenius", **options)
    paper = images.segmentation(pixels, 4, solver="ld-ssc2", solver_params={"paper": True}, **options)
    humans = list(np.load(data / "images" / "disc_gt.npz")["segs"].astype(np.int64))
    for row, found in zip(outcome.rows, (fsc, paper), strict=True):
        assert row["n_regions"] == images.stray_regions(found.grid_labels).n_regions
        assert row["f"] == images.boundary_scores(found.labels, humans).f
        assert row["covering"] == images.covering(images.connected_regions(found.labels), humans)
    assert outcome.rows[1]["iterations"] == 20


def test_other_settings_are_other_cells(data: Path, tmp_path: Path) -> None:
    quick = replace(SMALL, methods=figure7.METHODS[:1], sigmas=(3.0,))
    figure7.run(data, tmp_path, settings=quick)
    said: list[str] = []
    figure7.run(data, tmp_path, settings=replace(quick, radius=2.0), progress=said.append)
    assert len(said) == 1


def test_a_damaged_cell_is_computed_again(data: Path, tmp_path: Path) -> None:
    quick = replace(SMALL, methods=figure7.METHODS[:2], sigmas=(3.0,))
    before = figure7.run(data, tmp_path, settings=quick)
    cells_in(tmp_path)[0].write_bytes(b"half a fi")
    said: list[str] = []
    after = figure7.run(data, tmp_path, settings=quick, progress=said.append)
    assert len(said) == 1
    assert [row["n_regions"] for row in after.rows] == [row["n_regions"] for row in before.rows]


def test_a_killed_run_loses_one_cell(data: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from ldssc.experiments import figure7 as f; from dataclasses import replace\n"
        "s = f.Settings(grid=(16, 16), radius=4.0, faces=(), photographs=('disc',))\n"
        "f.run(sys.argv[1], sys.argv[2], settings=s, progress=lambda w: print(w, flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, data, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    while "LD-SSC1" not in process.stdout.readline():
        pass
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(cells_in(tmp_path)) == 8
    settings = replace(SMALL, grid=(16, 16), radius=4.0, methods=figure7.METHODS[:4])
    figure7.run(data, tmp_path, settings=settings, progress=lambda _: pytest.fail("a stored cell was computed again"))


def test_an_ambiguous_embedding_is_noted_and_not_said(data: Path, tmp_path: Path) -> None:
    settings = replace(SMALL, n_segments=2, photographs=("bands",), grid=(28, 28), sigmas=(0.05,))
    settings = replace(settings, methods=figure7.METHODS[3:4])
    (row,) = figure7.run(data, tmp_path, settings=settings).rows
    assert "eigenvalues equal to one, more than the 2 eigenvectors" in row["note"]


def test_missing_sets_are_left_out_and_named(data: Path, tmp_path: Path) -> None:
    settings = replace(SMALL, faces=(("orl", 0),), photographs=("disc", "swan"), methods=figure7.METHODS[2:4])
    outcome = figure7.run(data, tmp_path, settings=settings)
    assert {row["picture"] for row in outcome.rows} == {"disc"}
    assert ["orl.npz" in outcome.missing[0], "swan.jpg" in outcome.missing[1]] == [True, True]


def test_faces_are_read_from_their_sets(shared_data: Path, tmp_path: Path) -> None:
    settings = replace(SMALL, faces=(("orl", 0), ("yale_64x64", 3)), photographs=(), methods=figure7.METHODS[3:4])
    outcome = figure7.run(shared_data, tmp_path, settings=settings)
    assert [row["picture"] for row in outcome.rows] == ["orl-0", "yale_64x64-3"] * 2
    assert {row["covering"] for row in outcome.rows} == {""}


def test_the_command_takes_the_same_cells(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure7, "FIGURE_VII_QUICK", replace(SMALL, methods=figure7.METHODS[2:4]))
    outcome = reproduce(["figure7"], Request(data, tmp_path, quick=True))
    assert outcome.missing == []
    page = (tmp_path / "pages" / "figure7.md").read_text()
    assert "| FSC |" in page
    settings = replace(SMALL, methods=figure7.METHODS[2:4])
    figure7.run(data, tmp_path, settings=settings, progress=lambda _: pytest.fail("a cell was computed again"))


def test_the_page_compares_stray_regions_by_a_sign_test() -> None:
    names = [method.name for method in SMALL.methods]
    rows = [
        {
            "picture": p,
            "sigma": 3.0,
            "method": m,
            "n_regions": 9,
            "n_stray": 0 if m == "LD-SSC exact" else 2,
            "stray_share": 0,
        }
        for p in "abcdefgh"
        for m in names
    ]
    page = figure7._body(rows, SMALL)
    assert "LD-SSC exact against FSC, stray regions: 8 better, 0 worse, 0 equal (sign test p = 0.0078)" in page


def test_an_unwritable_folder_is_said_before_the_work(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        figure7.run(data, tmp_path / "file", settings=SMALL, progress=lambda _: pytest.fail("the work was begun"))


def test_a_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    cells, cell = Cells(tmp_path), Cell({"a": 1, "b": "x", "c": 0.5}, np.arange(6).reshape(2, 3))
    assert cells.read("one", {"k": 4}) is None
    cells.write("one", {"k": 4}, cell)
    found = cells.read("one", {"k": 4})
    assert found is not None
    assert found.record == cell.record
    np.testing.assert_array_equal(found.array, cell.array)
    assert cells.read("one", {"k": 5}) is None
