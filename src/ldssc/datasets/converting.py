"""Downloaded files -> X and y, one short function a kind of file. Nothing is scaled; labels become 0, 1, ..."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
from sklearn.datasets import load_iris, load_wine

from ldssc.datasets.catalog import Entry
from ldssc.exceptions import require

Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]
Files = Mapping[str, Path]

#: The samples of golub-test.csv in its order, by the numbers that their authors gave them.
GOLUB_TEST = (
    *(39, 40, 42, 47, 48, 49, 41, 43, 44, 45, 46, 70, 71, 72, 68, 69, 67),
    *(55, 56, 59, 52, 53, 51, 50, 54, 57, 58, 60, 61, 65, 66, 63, 64, 62),
)


def convert(wanted: Entry, files: Files) -> Arrays:
    """X and y of a set from its downloaded files; whatever is wrong with them raises."""
    X, y = CONVERTERS[wanted.source.converter](files, wanted)
    return np.asarray(X), np.asarray(y).astype(np.int64)


def _spectf(files: Files, _: Entry) -> Arrays:
    table = np.vstack([_table(files["train"]), _table(files["test"])])
    return table[:, 1:], table[:, 0]


def _wine(_: Files, __: Entry) -> Arrays:
    X, y = load_wine(return_X_y=True)
    return X, y


def _iris(_: Files, __: Entry) -> Arrays:
    """UCI's edition: scikit-learn has corrected two rows to Fisher's paper, and published tables use the typing errors."""
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[[34, 37]] = 4.9, 3.1, 1.5, 0.1
    return X, y


def _pima(files: Files, _: Entry) -> Arrays:
    table = _table(files["data"])
    return table[:, :-1], table[:, -1]


def _hayes_roth(files: Files, _: Entry) -> Arrays:
    """The first column of the training file is the number of the case, which the test file does not have."""
    table = np.vstack([_table(files["train"])[:, 1:], _table(files["test"])])
    return table[:, :-1], table[:, -1] - 1


def _bupa(files: Files, _: Entry) -> Arrays:
    table = _table(files["data"])
    return table[:, :-1], table[:, -1] - 1


def _leukemia(files: Files, _: Entry) -> Arrays:
    """One sample a line, its class first; sorted by the authors' numbers, 1 to 38 being the training set."""
    lines = [line for part in ("train", "test") for line in files[part].read_text().splitlines()[1:]]
    cells = [line.split(",") for line in lines]
    order = np.argsort([*range(1, 39), *GOLUB_TEST])
    X = np.array([row[1:] for row in cells], dtype=np.float32)
    y = np.array([row[0].strip('"') == "AML" for row in cells])
    return X[order], y[order]


def _lung(files: Files, _: Entry) -> Arrays:
    table = require("rdata", "data").read_rda(files["data"])["gordon"]
    return np.asarray(table["x"], dtype=np.float64), np.asarray(table["y"]).astype(str) == "MPM"


def _orl(files: Files, _: Entry) -> Arrays:
    """s1/1.pgm to s40/10.pgm, wherever they are in the archive."""
    pillow = require("PIL.Image", "data")
    found = {}
    with zipfile.ZipFile(files["zip"]) as archive:
        for name in archive.namelist():
            if place := re.search(r"(?:^|/)s(\d+)/(\d+)\.pgm$", name):
                with pillow.open(io.BytesIO(archive.read(name))) as picture:
                    found[int(place[1]), int(place[2])] = np.asarray(picture).ravel()
    order = sorted(found)
    return np.array([found[place] for place in order]), np.array([person - 1 for person, _ in order])


def _matlab(files: Files, wanted: Entry) -> Arrays:
    """fea and gnd; pictures are stored column by column there, and row by row here."""
    content = scipy.io.loadmat(files["data"])
    X, y = content["fea"], content["gnd"].ravel()
    assert wanted.image_shape is not None
    height, width = wanted.image_shape
    upright = X.reshape(-1, width, height).transpose(0, 2, 1).reshape(len(X), -1)
    return upright.astype(np.float32 if X.dtype.kind == "f" and X.max() <= 1 else np.uint8), y.astype(np.int64) - 1


def _alphadigits(files: Files, _: Entry) -> Arrays:
    """A cell array: 36 characters, 39 pictures of each."""
    cells = scipy.io.loadmat(files["data"])["dat"]
    X = np.array([picture.ravel() for row in cells for picture in row], dtype=np.uint8)
    return X, np.repeat(np.arange(cells.shape[0]), cells.shape[1])


def _table(path: Path) -> npt.NDArray[np.float64]:
    table: npt.NDArray[np.float64] = np.loadtxt(path, delimiter=",", ndmin=2)
    return table


CONVERTERS: dict[str, Callable[[Files, Entry], Arrays]] = {
    "spectf": _spectf,
    "wine": _wine,
    "pima": _pima,
    "hayes_roth": _hayes_roth,
    "iris": _iris,
    "bupa": _bupa,
    "leukemia": _leukemia,
    "lung": _lung,
    "orl": _orl,
    "matlab": _matlab,
    "alphadigits": _alphadigits,
}
