"""ldssc segment: labels and an overlay as pictures, exit codes, one sentence for bad input."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("PIL")

from command import Command, start
from PIL import Image


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """Three areas of different grey, 30 x 45 pixels."""
    grey = np.repeat([[30] * 15 + [200] * 15 + [90] * 15], 30, axis=0)
    noisy = grey + np.random.default_rng(0).normal(0, 2, grey.shape)
    Image.fromarray(noisy.astype(np.uint8)).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def test_labels_are_the_values_of_a_coloured_picture(run: Command, photo: Path) -> None:
    code, out, err = run("segment", photo, "-k", 3, "-o", "s.png", "--overlay", "o.png", "--grid", 15)
    assert code == 0, err
    assert "proven to the tolerance" in out
    assert "45 x 30 pixels, worked on 18 x 12" in out
    assert "labels are in s.png, the overlay in o.png" in out
    with Image.open("s.png") as picture:
        assert picture.mode == "P"
        values = np.asarray(picture)
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) == 3
    np.testing.assert_array_equal(values[:, [0, 22, 44]], np.repeat([[0, 1, 2]], 30, axis=0))
    assert np.asarray(Image.open("o.png")).shape == (30, 45, 3)
    assert sorted(path.name for path in Path().iterdir()) == ["o.png", "photo.png", "s.png"]


@pytest.mark.parametrize("name", ["s.npy", "s.tif", "s.bmp"])
def test_other_kinds_of_files_hold_the_same_labels(name: str, run: Command, photo: Path) -> None:
    assert run("segment", photo, "-k", 3, "-o", name, "--normalization", "frobenius", "--grid", "12x18").code == 0
    labels = np.load(name) if name.endswith("npy") else np.asarray(Image.open(name))
    np.testing.assert_array_equal(labels[:, [0, 22, 44]], np.repeat([[0, 1, 2]], 30, axis=0))


def test_many_labels_go_into_16_bits(run: Command, tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((20, 20)))
    assert run("segment", "noise.npy", "-k", 300, "-o", "s.png", "--normalization", "frobenius").code == 0
    values = np.asarray(Image.open("s.png"))
    assert len(np.unique(values)) == 300
    assert values.max() == 299


def test_what_is_not_proven_is_written_and_ends_with_1(run: Command, photo: Path) -> None:
    code, out, _ = run("segment", photo, "-k", 3, "-o", "s.png", "--grid", 12, "--tol", 1e-9, "--max-iter", 1)
    assert code == 1
    assert "before the tolerance was proven" in out
    assert Path("s.png").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing.png", "-o", "s.png"], "there is no file nothing.png"),
        (["photo.png", "-o", "s.jpg"], "its name must end in .png"),
        (["photo.png", "-o", "photo.png"], "would be overwritten"),
        (["photo.png", "-o", "s.png", "--overlay", "photo.png"], "would be overwritten"),
        (["photo.png", "-o", "s.png", "--overlay", "s.png"], "would be overwritten"),
        (["photo.png", "-o", "nowhere/s.png"], "there is no folder nowhere"),
        (["photo.png", "-o", "s.png", "--grid", "4by5"], "--grid must be a number, as 40, or rows and columns"),
        (["photo.png", "-o", "s.png", "-k", "0"], "n_segments must be at least 1"),
        (["photo.png", "-o", "s.png", "--normalization", "sinkhorn", "--max-iter", "3"], "--max-iter belongs to"),
        (["broken.jpg", "-o", "s.png"], "is no picture of a kind that Pillow knows"),
        (["flat.npy", "-o", "s.png"], "image has no edges"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    arguments: list[str], sentence: str, run: Command, photo: Path
) -> None:
    Path("broken.jpg").write_bytes(b"\xff\xd8 not really")
    np.save("flat.npy", np.ones((9, 9)))
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    outcome = run("segment", *arguments)
    assert outcome.code == 2
    assert sentence in outcome.complaint
    assert {path.name: path.read_bytes() for path in photo.parent.iterdir()} == before


def test_an_interruption_gives_the_labels_of_the_best_matrix_so_far(photo: Path) -> None:
    process = start("segment", photo, "-k", 3, "-o", "s.png", "--grid", 24, "--tol", 1e-12, cwd=photo.parent)
    assert process.stderr is not None
    assert "proven within" in process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "stopped on request" in out
    assert (photo.parent / "s.png").exists()
