"""Cells computed, here or in several processes, each stored at once; and how long the rest will take."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ldssc.exceptions import InputError
from ldssc.experiments.cells import Cell, Cells
from ldssc.writing import PathLike


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


def _readable(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
