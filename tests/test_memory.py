"""Memory: asked before it is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldssc import memory
from ldssc.exceptions import InputError, NotEnoughMemoryError
from ldssc.memory import available_memory, readable, require_memory
from ldssc.solvers import SOLVERS, project


def with_cgroup(monkeypatch: pytest.MonkeyPatch, folder: Path, limit: str, used: str) -> None:
    (folder / "max").write_text(limit)
    (folder / "current").write_text(used)
    monkeypatch.setattr(memory, "_CGROUP_LIMIT", folder / "max")
    monkeypatch.setattr(memory, "_CGROUP_USED", folder / "current")


def test_available_memory_is_a_plausible_number_of_bytes() -> None:
    present = available_memory()
    assert present is None or 2**20 < present < 2**60


def test_the_container_limit_counts_where_it_is_lower(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_from_proc", lambda: 10_000)
    with_cgroup(monkeypatch, tmp_path, "5000\n", "2000\n")
    assert available_memory() == 3000
    with_cgroup(monkeypatch, tmp_path, "50000\n", "2000\n")
    assert available_memory() == 10_000
    with_cgroup(monkeypatch, tmp_path, "max\n", "2000\n")
    assert available_memory() == 10_000
    with_cgroup(monkeypatch, tmp_path, "1000\n", "2000\n")
    assert available_memory() == 0


def test_without_proc_and_container_the_system_is_asked_or_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "_from_proc", lambda: None)
    monkeypatch.setattr(memory, "_CGROUP_LIMIT", tmp_path / "none")
    monkeypatch.setattr(memory.os, "sysconf", {"SC_AVPHYS_PAGES": 7, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    assert available_memory() == 7 * 4096

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(memory.os, "sysconf", unknown, raising=False)
    assert available_memory() is None
    require_memory(1e30, "anything", "no remedy")  # unknown memory refuses nothing


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1.02e+03 B"),
        (1536, "1.5 KiB"),
        (3 * 2**20, "3 MiB"),
        (2.5 * 2**30, "2.5 GiB"),
        (2**41, "2 TiB"),
    ],
)
def test_readable(n_bytes: float, text: str) -> None:
    assert readable(n_bytes) == text


def test_refusal_names_what_is_needed_what_is_there_and_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1024)
    require_memory(1024, "it", "do less")
    with pytest.raises(
        NotEnoughMemoryError, match=r"^it needs about 2 KiB of memory and 1 KiB are available; do less$"
    ):
        require_memory(2048, "it", "do less")
    assert issubclass(NotEnoughMemoryError, InputError)
    assert issubclass(NotEnoughMemoryError, MemoryError)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_forecasts_before_it_allocates(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    K = np.eye(50)
    monkeypatch.setattr(memory, "available_memory", lambda: 50_000)
    with pytest.raises(
        NotEnoughMemoryError, match=rf"solver '{solver}' at n = 50 needs about .* are available; .*fewer rows"
    ):
        project(K, solver=solver)


def test_ld_ssc1_is_let_through_where_ld_ssc2_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 20 * 30 * 30)
    assert project(np.eye(30), solver="ld-ssc1", max_iter=1).solved
    with pytest.raises(NotEnoughMemoryError, match="solver='ld-ssc1' needs least"):
        project(np.eye(30), solver="ld-ssc2")
