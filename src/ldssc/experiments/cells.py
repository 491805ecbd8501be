"""Results one by one: each is stored as soon as it is computed, and found again by a later run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

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


@dataclass(frozen=True)
class Task:
    """A cell to be: where it is kept, all that it depends on, and the function that makes it (importable by its name).

    `cost` is any unit that is the same for all tasks: it tells the time left.
    """

    group: str
    name: str
    settings: Any
    function: Callable[..., Cell]
    arguments: tuple[Any, ...] = ()
    cost: float = 1.0

    @property
    def key(self) -> str:
        return f"{self.group}/{self.name}"


Progress = Callable[[str], object]


def compute(
    tasks: Sequence[Task],
    out: PathLike,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    failed: dict[str, str] | None = None,
) -> dict[str, Cell]:
    """Every cell by its key, read from OUT/cells or made and stored at once; a killed run loses what it was working on.

    Tasks of one key are one cell. With more than one job the dearest are begun first. BLAS has one thread.
    With `failed`, a cell that refuses its input is left out and its sentence is put there.
    """
    say = progress or (lambda _: None)
    stores = {group: Cells(Path(out) / "cells" / group) for group in {task.group for task in tasks}}
    wanted = {task.key: task for task in tasks}
    found = {key: stores[task.group].read(task.name, task.settings) for key, task in wanted.items()}
    to_do = [wanted[key] for key, cell in found.items() if cell is None]
    if jobs > 1:
        to_do.sort(key=lambda task: -task.cost)
    clock = _Clock(sum(task.cost for task in to_do), len(to_do))
    for task, made in _in_processes(to_do, jobs, say, clock) if jobs > 1 else _here(to_do, say, clock):
        if isinstance(made, InputError):
            if failed is None:
                raise made
            failed[task.key] = str(made)
            continue
        stores[task.group].write(task.name, task.settings, made)
        found[task.key] = made
    return {key: cell for key, cell in found.items() if cell is not None}


class _Clock:
    """How much is done, and how long the rest will take if it goes on like that."""

    def __init__(self, cost: float, count: int) -> None:
        self.cost, self.count, self.done, self.begun, self.start = cost, count, 0.0, 0, time.monotonic()

    def line(self, task: Task) -> str:
        self.begun += 1
        rest = (time.monotonic() - self.start) / self.done * (self.cost - self.done) if self.done else 0.0
        left = f", about {_readable(rest)} left" if self.done else ""
        return f"cell {self.begun} of {self.count}: {task.key}{left}"


def _here(tasks: Sequence[Task], say: Progress, clock: _Clock) -> Iterator[tuple[Task, Cell | InputError]]:
    for task in tasks:
        say(clock.line(task))
        try:
            with threadpool_limits(limits=1):
                cell: Cell | InputError = task.function(*task.arguments)
        except InputError as error:
            cell = error
        clock.done += task.cost
        yield task, cell


def _in_processes(
    tasks: Sequence[Task], jobs: int, say: Progress, clock: _Clock
) -> Iterator[tuple[Task, Cell | InputError]]:
    """Fresh processes with one BLAS thread each, which end with this one, whatever ends it."""
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin_worker, (os.getpid(),))
    waiting = iter(tasks)
    try:
        running = {pool.submit(task.function, *task.arguments): task for task in islice(waiting, jobs)}
        for task in running.values():
            say(clock.line(task))
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                clock.done += task.cost
                if (following := next(waiting, None)) is not None:
                    say(clock.line(following))
                    running[pool.submit(following.function, *following.arguments)] = following
                try:
                    yield task, future.result()
                except InputError as error:
                    yield task, error
    except BrokenProcessPool as error:
        raise InputError(
            "a worker process was killed, perhaps for lack of memory; what was computed is kept: run the same command "
            "again, with fewer --jobs"
        ) from error
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    threadpool_limits(limits=1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


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


def _readable(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
