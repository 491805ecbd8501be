"""ldssc data list, ldssc data fetch NAME|all --to FOLDER"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from ldssc import datasets
from ldssc.cli import console
from ldssc.exceptions import InputError
from ldssc.memory import readable

data = typer.Typer(name="data", help="The twelve data sets of the paper: what they are, and how to get them.")
_EVERY_SECONDS = 5.0


@data.command("list")
def list_sets(
    folder: Annotated[
        Path | None, typer.Option("--in", help="Say which of them are in this folder, and check them.")
    ] = None,
) -> int:
    """List the data sets with their sizes, and whether they can be fetched."""
    if folder is not None and not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    columns = ["name", "samples", "features", "classes", "source"] + ([] if folder is None else ["in the folder"])
    table = Table(box=SIMPLE_HEAD)
    for name in columns:
        table.add_column(name, justify="right" if name in ("samples", "features", "classes") else "left")
    wrong = 0
    for entry in datasets.CATALOG:
        place = next(iter(entry.source.files.values()), "scikit-learn")
        cells = [entry.name, *map(str, entry.shape), str(len(entry.counts)), place.split("//")[-1].split("/")[0]]
        if folder is not None:
            found = _state(entry, folder)
            wrong += found != "as published"
            cells.append(found)
        table.add_row(*cells)
    console.show(table)
    return 1 if wrong else 0


def _state(entry: datasets.Entry, folder: Path) -> str:
    if not (folder / f"{entry.name}.npz").exists():
        return "missing"
    try:
        datasets.load(entry.name, folder)
    except InputError as error:
        return str(error).split(": ", 1)[-1].split(";")[0]
    return "as published"


@data.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A name that `ldssc data list` gives, or all.")],
    to: Annotated[Path, typer.Option("--to", help="The folder for NAME.npz; it is made if need be.")],
    raw: Annotated[
        Path | None, typer.Option("--from", help="Take the source's files from this folder instead of the internet.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a server may be silent.")] = 30.0,
) -> int:
    """Get a data set from its public source, verify it, and write it as NAME.npz.

    A set that is there already is verified and left alone; one that is not as published is never written.
    """
    entries = list(datasets.CATALOG) if name == "all" else [datasets.entry(name)]
    if raw is not None and not raw.is_dir():
        raise InputError(f"there is no folder {raw}")
    for terms in dict.fromkeys(entry.terms for entry in entries):
        titles = ", ".join(entry.title for entry in entries if entry.terms == terms)
        console.say(f"{titles}: {terms}")
    to.mkdir(parents=True, exist_ok=True)
    missing = []
    with _progress() as progress:
        for entry in entries:
            try:
                done = datasets.fetch(entry.name, to, raw=raw, timeout=timeout, progress=progress)
            except InputError as error:
                if name != "all":
                    raise
                console.complain(str(error))
                missing.append(entry.name)
            else:
                console.say(f"{entry.name}: {done.value} ({to / entry.name}.npz)")
    if missing:
        console.say(f"{len(entries) - len(missing)} of {len(entries)} sets are in {to}; missing: {', '.join(missing)}")
    return 1 if missing else 0


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, else a line every few seconds."""
    terminal = console.err()
    if not terminal.is_terminal:
        last = time.monotonic()

        def line(file: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last > _EVERY_SECONDS:
                last = time.monotonic()
                terminal.print(
                    f"{file}: {readable(done)}" + (f" of {readable(total)}" if total else ""), soft_wrap=True
                )

        yield line
        return
    with Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=terminal, transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda file, done, total: bar.update(task, description=file, completed=done, total=total or None)
