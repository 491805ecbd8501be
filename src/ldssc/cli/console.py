"""Where words go: results to stdout, progress and complaints to stderr, plain lines where there is no terminal."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from ldssc.solvers import Record, Result

_EVERY_SECONDS = 10.0  # between plain lines, unless the distance has halved


class _Quiet(Console):
    """A console that falls silent when nobody reads it any more: what is written to files still counts."""

    def on_broken_pipe(self) -> None:
        mute()


def out() -> Console:
    """For results. Made on each call: the streams may have been replaced since."""
    return _Quiet(highlight=False, markup=False)


def err() -> Console:
    """For progress and complaints."""
    return _Quiet(stderr=True, highlight=False, markup=False)


def prepare() -> None:
    """A terminal that lacks a letter shows a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="replace")


def mute() -> None:
    """Send what is still to be printed nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(sentence: str = "") -> None:
    """One line of the result, never folded."""
    with _unread():
        out().print(sentence, soft_wrap=True)


def show(table: Table) -> None:
    """A table of the result."""
    with _unread():
        out().print(table)


@contextlib.contextmanager
def _unread() -> Iterator[None]:
    """Older versions of Rich raise where newer ones call `on_broken_pipe`."""
    try:
        yield
    except BrokenPipeError:
        mute()


def warn(sentence: str) -> None:
    """One line that the user should know."""
    err().print(Text.assemble(("warning: ", "yellow"), sentence), soft_wrap=True)


def complain(sentence: str) -> None:
    """The one sentence about what went wrong."""
    err().print(Text.assemble(("ldssc: ", "bold red"), sentence), soft_wrap=True)


def report_proof(result: Result) -> None:
    """Status and certificate, in words."""
    say(f"solver {result.solver}: {result.status.sentence} (tol {result.tol:.3g})")
    say(str(result.certificate))
    say(f"{result.n_iter} iterations, {result.n_eig} eigendecompositions, {result.seconds:.2f} s")


@contextlib.contextmanager
def progress(tol: float) -> Iterator[Callable[[Record], None]]:
    """A callback for `project`: a bar on a terminal, else a line whenever the proven distance has halved."""
    console = err()
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[place]}")
    with Progress(*columns, console=console, transient=True) as display:
        yield _bar(display, display.add_task("starting", total=1.0, place=""), tol)


def _lines(console: Console) -> Callable[[Record], None]:
    last = {"distance": math.inf, "time": -math.inf}

    def line(record: Record) -> None:
        now = time.monotonic()
        if record.distance <= last["distance"] / 2 or now - last["time"] > _EVERY_SECONDS:
            last.update(distance=record.distance, time=now)
            place = f"iteration {record.iteration}, {record.n_eig} eigendecompositions, {record.seconds:.1f} s"
            console.print(f"proven within {record.distance:.2e} ({place})", soft_wrap=True)

    return line


def _bar(display: Progress, task: TaskID, tol: float) -> Callable[[Record], None]:
    """The share of the way from the first proven distance to tol, in orders of magnitude."""
    first: list[float] = []

    def move(record: Record) -> None:
        first.append(record.distance)
        way = math.log(max(first[0] / tol, 1.0)) if math.isfinite(first[0]) else 0.0
        done = math.log(max(first[0] / record.distance, 1.0)) if way and record.distance > 0 else 0.0
        words = f"proven within {record.distance:.2e}, tol {tol:.1e}"
        where = f"iteration {record.iteration}, {record.seconds:.1f} s"
        display.update(task, description=words, completed=min(1.0, done / way) if way else 0.0, place=where)

    return move


SayWhere = Callable[[str], None]


@contextlib.contextmanager
def working() -> Iterator[SayWhere]:
    """A callback that says what is being worked on, on a terminal; nothing elsewhere."""
    console = err()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("starting") as status:
        yield lambda words: status.update(words)
