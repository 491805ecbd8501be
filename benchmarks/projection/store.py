"""Cells that are finished, one line of JSON each, written as they are measured: a run that was cut goes on from there.

A line counts only where the library, the libraries below it and the processor are the same as now.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from goals import Cell
from threadpoolctl import threadpool_info

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "cvxpy", "scs", "clarabel", "torch", "torchdr")
Row = dict[str, Any]


class Store:
    """The rows of one goal; those of another library or machine stay in the file until their cell is measured again."""

    def __init__(self, path: Path, here: dict[str, str], fresh: bool = False) -> None:
        self.path, self.here = path, here
        text = path.read_text() if path.exists() else ""
        self._lines = text.splitlines()
        self._break = "" if text.endswith("\n") or not text else "\n"  # after a line that was cut
        everything = [row for line in self._lines if (row := _parse(line)).get("here") == here]
        self.rows = [] if fresh else list({_identity(row["cell"]): row for row in everything}.values())

    def find(self, cell: Cell) -> Row | None:
        """The newest row of a cell, if it was measured before."""
        return next((row for row in reversed(self.rows) if row["cell"] == asdict(cell)), None)

    def add(self, cell: Cell, found: dict[str, Any], load: float) -> Row:
        """Keep a row, at once on disk."""
        row = {"cell": asdict(cell), "found": found, "load": load, "here": self.here}
        self.rows.append(row)
        self._lines.append(json.dumps(row))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as stream:
            stream.write(f"{self._break}{self._lines[-1]}\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._break = ""
        return row

    def tidy(self) -> None:
        """Leave only the newest row of each cell in the file, whatever its cap."""
        newest = {_identity(row["cell"]): line for line in self._lines if (row := _parse(line))}
        draft = self.path.with_suffix(".draft")
        draft.write_text("".join(line + "\n" for line in newest.values()))
        draft.replace(self.path)


def _identity(cell: Row) -> tuple[Any, ...]:
    return tuple(value for key, value in cell.items() if key != "cap")


def _parse(line: str) -> Row:
    try:
        return dict(json.loads(line))
    except ValueError:  # the last line of a run that was killed while writing
        return {}


def environment() -> dict[str, str]:
    """What the figures depend on."""
    sources = [*sorted((ROOT / "src" / "ldssc").rglob("*.py")), Path(__file__).with_name("problems.py")]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    blas = {f"{lib['internal_api']} {lib.get('version')}" for lib in threadpool_info() if lib["user_api"] == "blas"}
    return {
        "code": digest[:12],
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name))),
        "blas": ", ".join(sorted(blas)),
        "processor": _processor(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def commit() -> str:
    """The commit, and whether the library differs from it."""

    def git(*arguments: str) -> str:
        try:
            return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        except OSError:
            return ""

    name = git("rev-parse", "--short", "HEAD") or "unknown"
    return name + (" with changes in src" if git("status", "--porcelain", "src") else "")
