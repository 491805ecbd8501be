"""Labels, one a row, from a column of a text file or from an array: numbers or strings, as they stand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from ldssc import files
from ldssc.exceptions import InputError
from ldssc.tables import MISSING, sniff_delimiter
from ldssc.writing import PathLike

#: The column that is taken where a file has several and none is named.
USUAL = "label"


def read_labels(path: PathLike, *, column: str | None = None, n_rows: int | None = None) -> list[Any]:
    """The labels in a .csv (.tsv, .txt), .npy or .npz file.

    `column` is a name or a place from 1. Whether the first line of a text file holds names is told by their number: with
    one line more than `n_rows` it does.
    """
    path = Path(path)
    if path.suffix.lower() not in files.TEXT:
        if column is not None:
            raise InputError(f"a column can be named in text files only ({', '.join(files.TEXT)}), and {path} is none")
        array = files.read_matrix(path)
        if array.ndim == 2 and 1 in array.shape:
            array = array.ravel()
        if array.ndim != 1:
            raise InputError(f"{path} must hold one label a row, and has shape {array.shape}")
        return list(array.tolist())
    lines = _cells(path)
    names = [cell.strip() for cell in lines[0][1]]
    header = _has_header(lines, column, n_rows)
    place = _place(path, names, column, header)
    return [_label(path, line, cells, place) for line, cells in lines[header:]]


def _cells(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells of the lines that are not blank."""
    files.require_readable(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}); save it as UTF-8") from error
    reader = csv.reader(text.splitlines(), delimiter=sniff_delimiter(text[: 1 << 16]), skipinitialspace=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InputError(f"{path} cannot be split into cells: {error}") from error
    if not lines:
        raise InputError(f"{path} has no lines with labels")
    return lines


def _has_header(lines: list[tuple[int, list[str]]], column: str | None, n_rows: int | None) -> bool:
    if n_rows is not None and len(lines) in (n_rows, n_rows + 1):
        return len(lines) == n_rows + 1
    first = [cell.strip() for cell in lines[0][1]]
    return (column or USUAL) in first and not (column or "").isdigit()


def _place(path: Path, names: list[str], column: str | None, header: bool) -> int:
    wanted = USUAL if column is None else column
    if header and names.count(wanted) == 1:
        return names.index(wanted)
    if column is None:
        if len(names) == 1:
            return 0
        shown = f" ({', '.join(names)})" if header else ""
        raise InputError(f"{path} has {len(names)} columns{shown}; name the one with the labels: --label-column")
    if column.isdigit() and 1 <= int(column) <= len(names):
        return int(column) - 1
    known = f"its columns are {', '.join(names)}" if header else f"it has {len(names)} columns and no line of names"
    raise InputError(f"{path} has no column {column!r}; {known}")


def _label(path: Path, line: int, cells: list[str], place: int) -> str:
    if place >= len(cells) or cells[place].strip().lower() in MISSING - {"-", "."}:
        raise InputError(
            f"{path}, line {line}: there is no label in column {place + 1}; fill it in, or write -1 for noise"
        )
    return cells[place].strip()
