"""The best so far in a file: written as a run goes, whole or not at all, and read when the run goes on.

A .npz without pickles. `ldssc_checkpoint` is the version of the format, `fingerprint` belongs to the problem, `best_*` is
the point that is proven, `state_*` where the solver stood, `history_*` the records; the rest are counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.problem import Point, Problem
from ldssc.solvers.records import Progress, Record, State
from ldssc.writing import first_line, reason, remove_leftovers, require_writable, write_atomically

VERSION = 1
_ARRAYS = 6  # of n² doubles: F, Q, Z and those of the solver's state
_COUNTS = ("n_iter", "n_inner", "n_eig")
_Part = TypeVar("_Part", Point, State)
Arrays = Mapping[str, npt.NDArray[Any]]


class Checkpoint:
    """A file that holds the progress of one solver on one problem, and of nothing else."""

    def __init__(self, path: Any, problem: Problem, solver: str, interval: float) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"checkpoint must be the name of a file, and is of type {type(path).__name__}")
        self.path, self.solver, self.interval = Path(os.fsdecode(path)), solver, interval
        self.n, self.fingerprint = len(problem), fingerprint(problem)
        require_writable(self.path)
        found = self._read()
        require_writable(self.path, n_bytes=8.0 * _ARRAYS * self.n**2)
        remove_leftovers(self.path)
        self._last = time.monotonic()
        self._written = _place(found)
        self._warned = False
        self._found = found

    def take(self) -> Progress | None:
        """What an earlier run has left, once."""
        found, self._found = self._found, None
        return found

    def due(self) -> bool:
        """Whether the interval has passed."""
        return time.monotonic() - self._last >= self.interval

    def write(self, progress: Progress) -> None:
        """Replace the file; where that fails, say so once, and leave the run in peace."""
        if _place(progress) == self._written:
            return
        self._last = time.monotonic()
        try:
            if self.path.exists():
                with _opened(self.path) as present:
                    self._check(present)
            arrays = self._packed(progress)
            write_atomically(self.path, lambda stream: np.savez(stream, **arrays))
            self._written = _place(progress)
        except InputError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(f"{error} (the run goes on, and tries again later)", UserWarning, stacklevel=2)

    def _read(self) -> Progress | None:
        if not self.path.exists():
            return None
        with _opened(self.path) as arrays:
            self._check(arrays)
            return _unpacked(arrays, self.n)

    def _check(self, arrays: Arrays) -> None:
        """Refuse what another problem, solver or version has left."""
        if "ldssc_checkpoint" not in arrays:
            _no_checkpoint(self.path)
        if (version := int(arrays["ldssc_checkpoint"])) != VERSION:
            raise InputError(
                f"{self.path} is a checkpoint of format {version}, and this version of ldssc knows format {VERSION}; "
                f"name another file"
            )
        if str(arrays["fingerprint"]) != self.fingerprint:
            raise InputError(
                f"{self.path} is the checkpoint of another problem (its K, weights or trace differ); name another file"
            )
        if (solver := str(arrays["solver"])) != self.solver:
            raise InputError(
                f"{self.path} is a checkpoint of solver {solver!r}; go on with that one, or name another file"
            )

    def _packed(self, progress: Progress) -> dict[str, Any]:
        arrays: dict[str, Any] = {
            "ldssc_checkpoint": VERSION,
            "fingerprint": self.fingerprint,
            "solver": self.solver,
            "seconds": progress.seconds,
            "gain": progress.gain,
            **{name: getattr(progress, name) for name in _COUNTS},
        }
        for prefix, part in {"best": progress.best, "state": progress.state}.items():
            fields = {} if part is None else part._asdict()
            arrays |= {f"{prefix}_{name}": value for name, value in fields.items() if value is not None}
        for name in Record.__dataclass_fields__:
            column = [getattr(record, name) for record in progress.history]
            arrays[f"history_{name}"] = np.array(column, dtype=str if name == "note" else None)
        return arrays


def fingerprint(problem: Problem) -> str:
    """One number for A, the weights and the trace, to the last bit."""
    digest = hashlib.sha256()
    for part in (problem.A, problem.s, problem.trace):
        array = np.ascontiguousarray([] if part is None else part, dtype=np.float64)
        digest.update(str(array.shape).encode())
        digest.update(array.data)
    return digest.hexdigest()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Within this context SIGTERM is Ctrl-C; elsewhere than in the main thread nothing can be done about it."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    if before in (None, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _place(progress: Progress | None) -> tuple[int, int] | None:
    return None if progress is None else (progress.n_iter, len(progress.history))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Arrays]:
    """The arrays of a file, each read when it is asked for; whatever is wrong with them is one sentence."""
    try:
        with path.open("rb") as stream:
            if stream.read(2) != b"PK":
                _no_checkpoint(path)
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as arrays:
                yield arrays
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}") from error
    except Exception as error:  # what a broken file makes NumPy or zipfile raise has no common type
        raise InputError(
            f"{path} is a checkpoint that is damaged or cut short ({first_line(error)}); name another file"
        ) from error


def _no_checkpoint(path: Path) -> NoReturn:
    raise InputError(f"{path} is there already, and is no checkpoint of ldssc; name another file")


def _unpacked(arrays: Arrays, n: int) -> Progress:
    columns = {name: arrays[f"history_{name}"].tolist() for name in Record.__dataclass_fields__}
    rows = zip(*columns.values(), strict=True)
    n_iter, n_eig, level = arrays["gain"].tolist()
    return Progress(
        best=_part(Point, "best", arrays, n) if "best_F" in arrays else None,
        state=_part(State, "state", arrays, n),
        history=tuple(Record(**dict(zip(columns, row, strict=True))) for row in rows),
        seconds=float(arrays["seconds"]),
        gain=(int(n_iter), int(n_eig), float(level)),
        **{name: int(arrays[name]) for name in _COUNTS},
    )


def _part(kind: type[_Part], prefix: str, arrays: Arrays, n: int) -> _Part:
    """A point or a state, with multipliers that are multipliers: what is proven from them must hold."""
    found: dict[str, Any] = {name: arrays[f"{prefix}_{name}"] for name in kind._fields if f"{prefix}_{name}" in arrays}
    for name, value in found.items():
        shape = () if name in ("tau", "sigma") else (n,) if name == "u" else (n, n)
        if value.shape != shape or value.dtype != np.float64 or not np.isfinite(value).all():
            raise ValueError(f"{prefix}_{name} is not what was written")
    if kind is State:
        found.setdefault("Q", None)
    multipliers = [found[name] for name in ("Q", "Z") if found[name] is not None]
    if any(not np.array_equal(part, part.T) for part in multipliers) or multipliers[0].min() < 0 < len(multipliers) - 1:
        raise ValueError(f"{prefix}_Q or {prefix}_Z is no multiplier")
    found |= {name: float(value) for name, value in found.items() if value is not None and value.ndim == 0}
    return kind(**found)
