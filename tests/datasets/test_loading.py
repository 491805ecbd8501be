"""Sets from .npz files: what is as published is read, what differs is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldssc import datasets
from ldssc.datasets.loading import checksums
from ldssc.exceptions import InputError


@pytest.fixture
def wine() -> dict[str, Any]:
    """The set as it should be: scikit-learn's copy is the published one."""
    data = datasets.wine()
    return {"X": data.X, "y": data.y}


def saved(folder: Path, name: str = "wine", **arrays: Any) -> Path:
    np.savez(folder / f"{name}.npz", **arrays)
    return folder


def test_the_published_set_is_read(wine: dict[str, Any], tmp_path: Path) -> None:
    data = datasets.load("wine", saved(tmp_path, **wine, class_names=np.array(["1", "2", "3"])))
    np.testing.assert_array_equal(data.X, wine["X"])
    np.testing.assert_array_equal(data.y, wine["y"])
    assert (data.X.dtype, data.y.dtype, data.name) == (np.float64, np.int64, "Wine")


@pytest.mark.parametrize("name", datasets.names())
def test_every_set_of_the_paper_is_as_published(name: str, shared_data: Path) -> None:
    found, data = datasets.entry(name), datasets.load(name, shared_data)
    assert data.X.shape == found.shape
    np.testing.assert_array_equal(np.bincount(data.y), found.counts)
    if data.image_shape is not None:
        assert np.prod(data.image_shape) == data.X.shape[1]


@pytest.mark.parametrize("found", datasets.CATALOG, ids=lambda found: found.name)
def test_the_catalogue_agrees_with_itself(found: datasets.Entry) -> None:
    assert sum(found.counts) == found.shape[0]
    assert len(found.checksum) == len(found.rows) == 64
    assert found.terms.endswith(".")
    assert datasets.entry(found.name) is datasets.entry(found.title) is datasets.entry(found.title.upper()) is found
    assert len({other.checksum for other in datasets.CATALOG}) == len(datasets.CATALOG)


@pytest.mark.parametrize("name", ["Hayes-Roth", "hayes_roth", "HAYES ROTH", "hayesroth"])
def test_names_are_found_however_they_are_written(name: str) -> None:
    assert datasets.entry(name).name == "hayes_roth"


@pytest.mark.parametrize("name", ["swiss roll", "", None, 3])
def test_an_unknown_name_lists_the_known_ones(name: Any) -> None:
    with pytest.raises(InputError, match="is not known; known are spectf, wine, pima"):
        datasets.entry(name)


def changed(wine: dict[str, Any], change: str) -> dict[str, Any]:
    X, y = wine["X"].copy(), wine["y"].copy()
    if change == "value":
        X[17, 3] += 1e-12
    elif change == "order":
        X, y = X[::-1], y[::-1]
    elif change == "rows":
        X, y = X[:-1], y[:-1]
    elif change == "columns":
        X = X[:, :-1]
    elif change == "label":
        y[0] = 1
    elif change == "swapped labels":
        y[[0, -1]] = y[[-1, 0]]
    elif change == "from one":
        y = y + 1
    elif change == "from minus one":
        y = y - 1
    elif change == "lengths":
        y = y[:-1]
    elif change == "NaN":
        X[0, 0] = np.nan
    return {"X": X, "y": y}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("value", "shape and class counts are right, and values or labels differ"),
        ("order", "it has the same samples in another order"),
        ("rows", r"X has shape \(177, 13\), and should have \(178, 13\)"),
        ("columns", r"X has shape \(178, 12\)"),
        ("label", "class 0 has 58 samples, and should have 59"),
        ("swapped labels", "values or labels differ"),
        ("from one", "y runs from 1 to 3, and should run from 0 to 2"),
        ("from minus one", "y runs from -1 to 1"),
        ("lengths", r"y has shape \(177,\), and should have \(178,\)"),
        ("NaN", "X has 1 entries that are NaN"),
    ],
)
def test_what_differs_is_said(change: str, sentence: str, wine: dict[str, Any], tmp_path: Path) -> None:
    saved(tmp_path, **changed(wine, change))
    with pytest.raises(InputError, match=f"is not the published Wine: .*{sentence}.*get it again with"):
        datasets.load("wine", tmp_path)
    with pytest.warns(UserWarning, match=sentence):
        datasets.load("wine", tmp_path, check=False)


def test_a_negative_zero_is_a_zero() -> None:
    X = np.zeros((2, 2))
    assert checksums(-X, np.array([0, 1])) == checksums(X, np.array([0, 1]))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 0.99])
def test_a_file_cut_short_is_one_sentence(share: float, wine: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path, **wine) / "wine.npz"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(InputError, match=r"wine\.npz is (empty|damaged, or no \.npz file)") as caught:
        datasets.load("wine", tmp_path)
    assert "\n" not in str(caught.value)


def test_flipped_bytes_are_found(wine: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "wine.npz"
    np.savez_compressed(path, **wine)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"wine\.npz is damaged"):
        datasets.load("wine", tmp_path)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((2, 2))}, "has no array y; it has X"),
        ({"data": np.zeros(2)}, "has no array X and no y; it has data"),
        ({"X": np.array([["a"]]), "y": np.array([0])}, "X in .* has dtype <U1"),
        ({"X": np.zeros((2, 2)), "y": np.array([0.0, 1.0])}, "y in .* has dtype float64"),
        ({"X": np.zeros(2), "y": np.array([0, 1])}, r"and shape \(2,\)"),
    ],
)
def test_a_wrong_layout_is_one_sentence(arrays: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    saved(tmp_path, **arrays)
    with pytest.raises(InputError, match=sentence):
        datasets.load("wine", tmp_path)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    saved(tmp_path, X=np.array([[{}]], dtype=object), y=np.array([0]))
    with pytest.raises(InputError, match=r"is damaged, or no \.npz file"):
        datasets.load("wine", tmp_path)


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no yale\.npz in .*; get it with: ldssc data fetch yale --to"):
        datasets.load("yale", tmp_path)
