"""Cells in one process and in several: stored at once, never twice, a killed run loses what it was working on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ldssc.exceptions import InputError
from ldssc.experiments.cells import Cell, only_run
from ldssc.experiments.computing import Task, compute


def square(x: int) -> Cell:
    return Cell({"x": x, "pid": os.getpid()}, np.array([x * x]))


def refuse(_: int) -> Cell:
    raise InputError("these numbers are too odd; take others")


def tasks(n: int, settings: int = 0) -> list[Task]:
    return [Task("group", f"c{x}", settings, square, (x,)) for x in range(n)]


def test_every_cell_is_computed_once_and_kept(tmp_path: Path) -> None:
    said: list[str] = []
    found = compute([*tasks(3), *tasks(2)], tmp_path, progress=said.append)
    assert {key: int(cell.array[0]) for key, cell in found.items()} == {"group/c0": 0, "group/c1": 1, "group/c2": 4}
    assert len(said) == 3
    again = compute(tasks(4), tmp_path, progress=said.append)
    assert len(said) == 4
    assert again["group/c1"].record == found["group/c1"].record


def test_several_processes_do_the_same(tmp_path: Path) -> None:
    said: list[str] = []
    failed: dict[str, str] = {}
    every = [*tasks(4), Task("group", "bad", 0, refuse, (1,))]
    found = compute(every, tmp_path, jobs=2, progress=said.append, failed=failed)
    assert os.getpid() not in {cell.record["pid"] for cell in found.values()}
    assert {int(found[f"group/c{x}"].array[0]) for x in range(4)} == {0, 1, 4, 9}
    assert list(failed) == ["group/bad"]
    assert len(compute(every, tmp_path, progress=said.append, failed=failed)) == 4
    assert len(said) == 6  # what refused is asked again


def test_other_settings_are_another_cell(tmp_path: Path) -> None:
    said: list[str] = []
    compute(tasks(2), tmp_path)
    compute(tasks(2, settings=1), tmp_path, progress=said.append)
    assert len(said) == 2


def test_a_cell_that_refuses_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    failed: dict[str, str] = {}
    mixed = [Task("group", "bad", 0, refuse, (1,)), *tasks(2)]
    found = compute(mixed, tmp_path, failed=failed)
    assert failed == {"group/bad": "these numbers are too odd; take others"}
    assert set(found) == {"group/c0", "group/c1"}
    with pytest.raises(InputError, match="too odd"):
        compute(mixed, tmp_path)


def test_two_runs_on_one_folder_are_refused(tmp_path: Path) -> None:
    with only_run(tmp_path), pytest.raises(InputError, match="another run is writing"), only_run(tmp_path):
        pass
    with only_run(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"), only_run(tmp_path / "file"):
        pass


SLOW = """
import sys, time
from ldssc.experiments.cells import Cell, only_run
from ldssc.experiments.computing import Task, compute
import numpy as np
def work(x):
    time.sleep(0.05 if x < 3 else 60)
    return Cell({"x": x}, np.zeros(1))
if __name__ == "__main__":
    with only_run(sys.argv[1]):
        tasks = [Task("group", f"c{x}", 0, work, (x,)) for x in range(5)]
        compute(tasks, sys.argv[1], jobs=int(sys.argv[2]), progress=lambda s: print(s, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_loses_what_it_was_working_on_and_leaves_no_process(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, tmp_path / "slow.py", out, str(jobs)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    while f"cell {3 + jobs} of 5" not in process.stdout.readline():
        pass
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()
    kept = sorted(path.stem for path in (out / "cells" / "group").glob("*.npz"))
    assert kept == ["c0", "c1", "c2"]
    with only_run(out):  # the lock went with the process
        pass
    for _ in range(50):
        if not _alive(process.pid):
            break
        time.sleep(0.1)
    assert not _alive(process.pid)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
