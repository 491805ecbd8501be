"""Results one by one: each is stored as soon as it is computed, and found again by a later run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.writing import PathLike, reason, remove_leftovers, write_atomically

#: Raised when what cells hold changes, so that those of before are computed anew.
FORMAT = 1


class Cell(NamedTuple):
    """One result: numbers and words that JSON knows, and one array."""

    record: dict[str, Any]
    array: npt.NDArray[Any]


def make_folder(folder: PathLike) -> Path:
    """The folder, made where it is not there yet."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {reason(error)}; choose a folder in which you may write") from error
    return Path(folder)


class Cells:
    """A folder of results, one file each, written whole or not at all.

    A cell belongs to the settings that it was computed with: under others it is not found, and is computed again.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = make_folder(folder)

    def read(self, name: str, settings: Any) -> Cell | None:
        """The cell, if it is there, whole, and of these settings."""
        path = self._path(name)
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                if str(arrays["settings"]) != _digest(settings):
                    return None
                return Cell(json.loads(str(arrays["record"])), arrays["array"])
        except Exception:  # missing, damaged or foreign: it is computed anew, and nothing was in it that is not
            return None

    def write(self, name: str, settings: Any, cell: Cell) -> None:
        """Store a cell, in place of an older one."""
        arrays: dict[str, Any] = {"settings": _digest(settings), "record": json.dumps(cell.record), "array": cell.array}
        path = self._path(name)
        remove_leftovers(path)
        write_atomically(path, lambda stream: np.savez_compressed(stream, **arrays))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npz"


def _digest(settings: Any) -> str:
    """One number for all that a result depends on."""
    return hashlib.sha256(json.dumps([FORMAT, settings], sort_keys=True, default=str).encode()).hexdigest()


@contextlib.contextmanager
def only_run(out: PathLike) -> Iterator[None]:
    """Refuse a second run on the same folder; the system lifts the lock with the process, whatever ends it."""
    folder = make_folder(out)
    try:
        stream = (folder / ".lock").open("a+")
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {reason(error)}; choose a folder in which you may write"
        ) from error
    with stream:
        try:
            _lock(stream.fileno())
        except OSError as error:
            raise InputError(
                f"another run is writing to {folder}; wait for it, or choose another folder with --out"
            ) from error
        yield


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
