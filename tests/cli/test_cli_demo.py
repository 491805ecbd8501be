"""ldssc demo: everything on three small data sets, a table, proofs in words, and a picture."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from command import Command, start

from ldssc.cli import demo
from ldssc.datasets import two_moons

PNG = b"\x89PNG\r\n\x1a\n"
ROWS = ("none", "ratio-cut", "normalized-cut", "sinkhorn", "frobenius", "LD-SSC1", "LD-SSC2")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small data set in place of the three."""
    moons = two_moons(30, random_state=0)
    case = demo.Case(moons, "the two features", slice(0, 2))
    monkeypatch.setattr(demo, "_cases", lambda: [case])


@pytest.mark.slow
def test_the_demo_runs_without_arguments(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    process = start("demo", cwd=tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    for word in (*ROWS, "iris", "wine", "two moons", "as they are", "within", "./ldssc-demo.png"):
        assert word in out
    picture = (tmp_path / "ldssc-demo.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) > 50_000
    assert [path.name for path in tmp_path.iterdir()] == ["ldssc-demo.png"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["picture.png", "picture.svg", "picture.pdf"])
def test_the_picture_goes_where_it_is_asked_for(name: str, run: Command) -> None:
    pytest.importorskip("matplotlib")
    code, out, _ = run("demo", "--out", name)
    assert code == 0
    assert name in out
    assert Path(name).stat().st_size > 5_000


@pytest.mark.usefixtures("small")
def test_without_matplotlib_the_demo_says_so_and_goes_on(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("demo")
    assert code == 0
    assert "pip install 'ldssc[plot]'" in err
    for word in ROWS:
        assert word in out
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_drawn_or_written_is_said_before_the_work(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_cases", lambda: pytest.fail("the work was done"))
    if "matplotlib" in sys.modules:
        assert "must end in" in run("demo", "--out", "picture.docx").complaint
        assert "no folder nowhere" in run("demo", "--out", "nowhere/picture.png").complaint
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run("demo", "--out", "picture.png")
    assert outcome.code == 2
    assert "pip install 'ldssc[plot]'" in outcome.complaint
