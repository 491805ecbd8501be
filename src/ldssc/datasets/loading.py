"""A set of the paper from its .npz file, checked against what was published; what differs is said."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ldssc.datasets.catalog import Entry, entry
from ldssc.datasets.toy import Dataset
from ldssc.exceptions import InputError
from ldssc.files import require_readable
from ldssc.validation import Matrix
from ldssc.writing import PathLike, first_line

Classes = npt.NDArray[np.int64]


def load(name: str, folder: PathLike, *, check: bool = True) -> Dataset:
    """The set `name` from FOLDER/name.npz, which holds X, one row a sample, and y = 0, 1, ...

    Shape, class counts and a checksum are compared with the published set. What differs is an InputError, or with
    `check=False` a warning.
    """
    wanted = entry(name)
    X, y = _read(wanted, Path(folder))
    difference = differs(wanted, X, y)
    if difference:
        said = f"{Path(folder) / wanted.name}.npz is not the published {wanted.title}: {difference}"
        if check:
            raise InputError(f"{said}; get it again with: ldssc data fetch {wanted.name}, or pass check=False")
        warnings.warn(said, UserWarning, stacklevel=2)
    return Dataset(X, y, wanted.title, image_shape=wanted.image_shape)


def differs(wanted: Entry, X: Matrix, y: Classes) -> str:
    """What is not as published, in words; "" where all is."""
    if X.shape != wanted.shape:
        return f"X has shape {X.shape}, and should have {wanted.shape}"
    if y.shape != X.shape[:1]:
        return f"y has shape {y.shape}, and should have {X.shape[:1]}"
    counts = np.bincount(y) if y.min() >= 0 else np.array([])
    if len(counts) != len(wanted.counts):
        return f"y runs from {y.min()} to {y.max()}, and should run from 0 to {len(wanted.counts) - 1}"
    for label, (found, expected) in enumerate(zip(counts, wanted.counts, strict=True)):
        if found != expected:
            return f"class {label} has {found} samples, and should have {expected}"
    if not np.isfinite(X).all():
        return f"X has {int((~np.isfinite(X)).sum())} entries that are NaN or infinite"
    checksum, rows = checksums(X, y)
    if checksum == wanted.checksum:
        return ""
    if rows == wanted.rows:
        return "it has the same samples in another order"
    return "shape and class counts are right, and values or labels differ (checksum)"


def checksums(X: Matrix, y: Classes) -> tuple[str, str]:
    """SHA-256 of X and y in order, and of the rows with their labels in any order."""
    X, y = np.ascontiguousarray(X, dtype="<f8") + 0.0, np.ascontiguousarray(y, dtype="<i8")
    rows = sorted(hashlib.sha256(row.tobytes() + label.tobytes()).digest() for row, label in zip(X, y, strict=True))
    return hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest(), hashlib.sha256(b"".join(rows)).hexdigest()


def _read(wanted: Entry, folder: Path) -> tuple[Matrix, Classes]:
    path = folder / f"{wanted.name}.npz"
    if not path.exists():
        raise InputError(
            f"there is no {wanted.name}.npz in {folder}; get it with: ldssc data fetch {wanted.name} --to {folder}"
        )
    path = require_readable(path)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            missing = [part for part in ("X", "y") if part not in arrays.files]
            if missing:
                raise InputError(f"{path} has no array {' and no '.join(missing)}; it has {', '.join(arrays.files)}")
            X, y = arrays["X"], arrays["y"]
    except InputError:
        raise
    except Exception as error:  # what a broken file makes NumPy, zipfile or zlib raise has no common type
        raise InputError(f"{path} is damaged, or no .npz file: {first_line(error)}; get it again") from error
    return _numbers(X, "X", path).astype(np.float64), _numbers(y, "y", path).astype(np.int64)


def _numbers(array: npt.NDArray[Any], name: str, path: Path) -> npt.NDArray[Any]:
    if array.dtype.kind not in ("fiub" if name == "X" else "iub") or array.ndim != (2 if name == "X" else 1):
        raise InputError(
            f"{name} in {path} has dtype {array.dtype} and shape {array.shape}; X is a table of numbers, y whole ones"
        )
    return array
