"""A table of numbers from a text file: delimiter and header are found, and every fault is named by line and column."""

from __future__ import annotations

import csv
import re
import shlex
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from ldssc.exceptions import InputError
from ldssc.memory import require_memory
from ldssc.validation import Matrix

#: In the order in which they are believed, where more than one splits every line into equally many cells.
DELIMITERS = ("\t", ";", ",", " ")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
_SAMPLE = 1 << 16
_BYTES_A_CELL = 16.0

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Table:
    """Numbers, one row a line; the names of the columns (their places, from 1, where there is no header)."""

    X: Matrix
    names: tuple[str, ...]
    header: bool


def read_text(path: Path, *, header: bool | None = None, ignore: Sequence[str] = ()) -> Table:
    """Read delimited numbers. header=None finds out; `ignore` leaves out columns, by name or by place from 1."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            sample = stream.read(_SAMPLE)
        delimiter = sniff_delimiter(sample)
        cells = sum(line.count(delimiter) + 1 for line in sample.splitlines())
        forecast = _BYTES_A_CELL * cells * path.stat().st_size / max(1, len(sample))
        require_memory(forecast, f"reading {path}", "use fewer rows")
        with open(path, encoding="utf-8-sig", newline="") as stream:
            return _read(_rows(stream, delimiter), str(path), header, ignore)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not text in UTF-8 (byte {error.start} is {error.object[error.start]:#04x}); save it as UTF-8"
        ) from error
    except csv.Error as error:
        raise InputError(f"{path} cannot be split into cells: {error}") from error


def sniff_delimiter(sample: str) -> str:
    """The delimiter that splits the first lines into equally many cells; else the one that occurs most on the first."""
    lines = [line for line in sample.splitlines()[:20] if line.strip() and not line.startswith("#")]
    if not lines:
        return ","
    for delimiter in DELIMITERS:
        widths = {len(cells) for _, cells in _rows(lines, delimiter)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    # ragged, or one column: a space may then be part of a name
    return max((",", "\t", ";"), key=lines[0].count)


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """Line numbers and cells; blank lines and those that start with # are no rows."""
    if delimiter == " ":
        lines = (line.strip() for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    for cells in reader:
        if cells and not (len(cells) == 1 and not cells[0].strip()) and not cells[0].startswith("#"):
            yield reader.line_num, cells


def _read(rows: Iterator[Row], path: str, header: bool | None, ignore: Sequence[str]) -> Table:
    first, second = next(rows, None), next(rows, None)
    if first is None:
        raise InputError(f"{path} has no rows; a table of numbers is needed")
    body = chain([row for row in (first, second) if row is not None], rows)
    if header is None:
        header = _is_header(first[1], second[1] if second else None)
    width = len(first[1])
    titles = [cell.strip() for cell in first[1]] if header else [""] * width
    if header:
        next(body)
    names = [title or str(place) for place, title in enumerate(titles, 1)]
    kept = _kept(names, ignore, path)
    found = _Numbers(path, width, kept, [names[j] for j in kept])
    for line, cells in body:
        found.add(line, cells)
    X = found.matrix()
    if header and kept[0] == 0 and not titles[0] and len(kept) > 1 and _counts_rows(X[:, 0]):
        warnings.warn(f"{path}: column 1 has no name and numbers the rows; it is left out", UserWarning, stacklevel=3)
        X, kept = np.ascontiguousarray(X[:, 1:]), kept[1:]
    elif not header and titles and _counts_columns(first[1]):
        warnings.warn(
            f"{path}: line {first[0]} ({', '.join(first[1][:4])}{', ...' if width > 4 else ''}) is read as data; if it "
            f"holds the names of the columns, pass --header",
            UserWarning,
            stacklevel=3,
        )
    return Table(X, tuple(names[j] for j in kept), header)


@dataclass
class _Numbers:
    """The cells read so far, as doubles in one growing buffer, and what was wrong with them."""

    path: str
    width: int
    kept: list[int]
    names: list[str]
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    texts: dict[int, tuple[int, int, str]] = field(default_factory=dict)

    def add(self, line: int, cells: list[str]) -> None:
        if len(cells) != self.width:
            raise InputError(
                f"{self.path}: line {line} has {len(cells)} cells, and the first row has {self.width}; every row "
                f"needs as many (delimiters: comma, semicolon, tab or space)"
            )
        chosen = cells if len(self.kept) == self.width else [cells[j] for j in self.kept]
        self.lines.append(line)
        if any("_" in cell for cell in chosen):  # float() reads 2021_01 as a number
            self._one_by_one(line, chosen)
            return
        try:
            self.values.extend([float(cell) for cell in chosen])
        except ValueError:
            self._one_by_one(line, chosen)

    def _one_by_one(self, line: int, cells: list[str]) -> None:
        for j, cell in enumerate(cells):
            if _is_text(cell):
                count, where, example = self.texts.get(j, (0, line, cell.strip()))
                self.texts[j] = (count + 1, where, example)
            self.values.append(float(cell) if _is_number(cell) else np.nan)

    def matrix(self) -> Matrix:
        """All numbers, or one sentence about those that are none."""
        if not self.lines:
            raise InputError(f"{self.path} has a header and no rows; a table of numbers is needed")
        if self.texts:
            raise InputError(self._about_texts())
        X: Matrix = np.frombuffer(self.values, dtype=np.float64).reshape(len(self.lines), len(self.kept))
        bad = ~np.isfinite(X)
        if bad.any():
            i, j = (int(place) for place in np.argwhere(bad)[0])
            count = int(bad.sum())
            what = "missing" if np.isnan(X[i, j]) else "infinite"
            raise InputError(
                f"{self.path} has {count} missing or infinite value{'s' * (count > 1)}, the first {what}, on "
                f"line {self.lines[i]} in column {self.names[j]!r}; fill them, or remove these rows or columns"
            )
        return X

    def _about_texts(self) -> str:
        n = len(self.lines)
        said = [
            f"{self.names[j]!r} ({count} of {n} cells, the first {example[:40]!r} on line {line})"
            for j, (count, line, example) in sorted(self.texts.items())
        ]
        several = len(said) > 1
        shown = ", ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")
        options = " ".join(f"--ignore {shlex.quote(self.names[j])}" for j in sorted(self.texts)[:3])
        comma = all(re.fullmatch(r"[-+]?\d+,\d+", example) for _, _, example in self.texts.values())
        them = "them" if several else "it"
        remedy = (
            "write decimal points for commas" if comma else f"make {them} numbers, or leave {them} out with {options}"
        )
        return f"{self.path}: {'columns' if several else 'column'} {shown} hold{'' if several else 's'} text; {remedy}"


def _kept(names: list[str], ignore: Sequence[str], path: str) -> list[int]:
    dropped: set[int] = set()
    for name in ignore:
        places = [j for j, own in enumerate(names) if own == name]
        if not places and name.isdecimal() and 1 <= int(name) <= len(names):
            places = [int(name) - 1]
        if not places:
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise InputError(f"{path} has no column {name!r} to ignore; its columns are {shown}")
        dropped.update(places)
    kept = [j for j in range(len(names)) if j not in dropped]
    if not kept:
        raise InputError(f"{path} has no column left: all {len(names)} are ignored")
    return kept


def _is_header(first: list[str], second: list[str] | None) -> bool:
    """All text; or text above a number; or the counting names that pandas gives to columns beside an index."""
    filled = [cell for cell in first if not _is_missing(cell)]
    if filled and all(map(_is_text, filled)):
        return True
    if second is not None and any(_is_text(a) and _is_number(b) for a, b in zip(first, second, strict=False)):
        return True
    return len(first) > 1 and not first[0].strip() and _counts_columns(first[1:])


def _counts_columns(cells: list[str]) -> bool:
    return len(cells) > 2 and [cell.strip() for cell in cells] == [str(j) for j in range(len(cells))]


def _counts_rows(column: Matrix) -> bool:
    return bool(column[0] in (0, 1) and np.array_equal(column - column[0], np.arange(len(column))))


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def _is_number(cell: str) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_text(cell: str) -> bool:
    return not _is_missing(cell) and not _is_number(cell)
