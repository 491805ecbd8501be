"""ldssc reproduce: exit codes, and one sentence for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from ldssc import datasets
from ldssc.cli import main
from ldssc.experiments import table1
from ldssc.experiments.cells import only_run


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """iris only, and a table I of iris only."""
    (tmp_path / "data").mkdir()
    datasets.fetch("iris", tmp_path / "data")
    monkeypatch.setattr(table1, "TABLE_I", ("iris",))
    return tmp_path / "data"


def test_0_when_all_is_there(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table1", "--data", str(data), "--out", str(tmp_path / "out")]) == 0
    assert "Table I: data sets: 1 MATCH, 0 DIFFERS" in capsys.readouterr().out
    assert (tmp_path / "out" / "table1.csv").exists()


def test_1_when_a_set_is_missing_or_damaged(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "TABLE_I", ("iris", "wine", "spectf"))
    (data / "wine.npz").write_bytes(b"half a file")
    assert main(["reproduce", "table1", "--data", str(data), "--out", str(tmp_path / "out")]) == 1
    captured = capsys.readouterr()
    assert "wine.npz is damaged" in captured.err
    assert "no spectf.npz" in captured.err
    assert "2 parts are missing" in captured.err
    assert "150" in (tmp_path / "out" / "table1.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table9"], "table9"),
        (["table1", "--quick", "--full"], "choose one"),
        (["table1", "--data", "nowhere"], "no folder nowhere"),
        (["table1", "--jobs", "0"], "jobs"),
        ([], "Missing argument"),
    ],
)
def test_2_for_bad_input(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    given = ["--data", str(data), "--out", str(tmp_path / "out"), *arguments]
    assert main(["reproduce", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.strip().splitlines()) == 1


def test_an_interruption_says_what_is_kept(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ldssc.experiments.running.compute", interrupted)
    assert main(["reproduce", "table1", "--data", str(data), "--out", str(tmp_path / "out")]) == 1
    assert "run the same command again" in capsys.readouterr().err


def test_2_for_a_folder_that_cannot_be_written_or_is_in_use(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "table1", "--data", str(data), "--out", str(tmp_path / "file")]) == 2
    assert "cannot be made" in capsys.readouterr().err
    with only_run(tmp_path / "out"):
        assert main(["reproduce", "table1", "--data", str(data), "--out", str(tmp_path / "out")]) == 2
    assert "another run is writing" in capsys.readouterr().err
