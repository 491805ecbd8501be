"""The command line under test: what a command leaves behind, and how to start one in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Outcome(NamedTuple):
    """What a command leaves behind."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The only line on stderr."""
        (line,) = self.err.splitlines()
        return line


Command = Callable[..., Outcome]


def start(*arguments: object, cwd: Path, program: tuple[str, ...] = ("-m", "ldssc")) -> subprocess.Popen[str]:
    """`ldssc` in a process of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
