"""What every table and figure is made of: a request, a plan of cells, and what is written when they are there."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ldssc.exceptions import InputError
from ldssc.experiments.cells import Cell
from ldssc.experiments.clustering import load_set
from ldssc.experiments.computing import Task
from ldssc.writing import write_atomically

Found = Mapping[str, Cell]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Request:
    """Where the data are, where results go, and how much is wanted."""

    data: Path
    out: Path
    quick: bool = False
    full: bool = False


class Page(NamedTuple):
    """A page of the report, in Markdown, without its heading and without how it was made."""

    name: str
    title: str
    body: str
    verdicts: Mapping[str, Mapping[str, int]] = {}  # protocol -> verdict -> how often


@dataclass(frozen=True)
class Plan:
    """The cells of a table or figure, what cannot be had, and what makes its files and its page from the cells."""

    tasks: list[Task]
    finish: Callable[[Found], tuple[list[Path], Page]]
    missing: list[str] = field(default_factory=list)


def available(names: Iterable[str], data: Path) -> tuple[list[str], list[str]]:
    """The sets that are there and right, and a sentence for each of the others."""
    there, missing = [], []
    for name in names:
        try:
            load_set(name, data)
        except InputError as error:
            missing.append(str(error))
        else:
            there.append(name)
    return there, missing


def write_csv(path: Path, rows: Rows, columns: Sequence[str]) -> Path:
    """A table as CSV; what a row lacks is left empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)
    write_atomically(path, lambda file: file.write(stream.getvalue().encode()))
    return path


def markdown(rows: Rows, columns: Sequence[str]) -> str:
    """A table as Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(_short(row.get(name)) for name in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
