"""ldssc data: what there is, terms before anything, and one that fails does not stop the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from command import Command

from ldssc import datasets
from ldssc.datasets import catalog, fetching
from ldssc.exceptions import InputError


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No download works; the addresses that were asked for."""
    asked: list[str] = []

    def refuse(url: str, *_: object) -> Path:
        asked.append(url)
        raise InputError(f"nothing comes from {url}")

    monkeypatch.setattr(fetching, "_download", refuse)
    return asked


def test_the_list_has_every_set(run: Command) -> None:
    code, out, err = run("data", "list")
    assert (code, err) == (0, "")
    for entry in datasets.CATALOG:
        assert entry.name in out
        assert str(entry.shape[1]) in out


def test_the_list_says_what_is_in_a_folder(run: Command) -> None:
    run("data", "fetch", "wine", "--to", "sets")
    np.savez("sets/iris.npz", X=np.zeros((2, 2)), y=np.arange(2))
    code, out, _ = run("data", "list", "--in", "sets")
    assert code == 1
    lines = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert "as published" in lines["wine"]
    assert "missing" in lines["yale"]
    assert "as published" not in lines["iris"]


@pytest.mark.parametrize("name", ["orl", "Yale"])
def test_terms_are_shown_before_anything_is_asked_for(name: str, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("ldssc.cli.console.say", lambda sentence="": shown.append(sentence))

    def asked(*_: object) -> Path:
        assert shown
        assert datasets.entry(name).terms in shown[0]
        raise InputError("no")

    monkeypatch.setattr(fetching, "_download", asked)
    assert run("data", "fetch", name, "--to", ".").code == 2
    assert "AT&T" in catalog.ORL_TERMS
    assert "do not publish" in catalog.YALE_TERMS


def test_all_gets_what_it_can_and_names_the_rest(run: Command, offline: list[str]) -> None:
    code, out, err = run("data", "fetch", "all", "--to", "sets")
    assert code == 1
    assert sorted(path.name for path in Path("sets").iterdir()) == ["iris.npz", "wine.npz"]
    assert "2 of 14 sets are in sets; missing: spectf, pima" in out
    assert len(err.splitlines()) == 12
    assert len(offline) == 12


@pytest.mark.usefixtures("offline")
def test_a_second_run_fills_the_gaps_only(run: Command) -> None:
    assert run("data", "fetch", "wine", "--to", "sets").code == 0
    before = Path("sets/wine.npz").stat().st_mtime_ns
    code, out, _ = run("data", "fetch", "wine", "--to", "sets")
    assert code == 0
    assert "wine: already there, and as published" in out
    assert Path("sets/wine.npz").stat().st_mtime_ns == before


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fetch", "bupa", "--to", "sets"], "nothing comes from https://archive.ics.uci.edu"),
        (["fetch", "bupa", "--to", "sets", "--from", "nowhere"], "there is no folder nowhere"),
        (["fetch", "bupa", "--to", "sets", "--from", "."], "BUPA needs bupa.data, which is not in ."),
        (["fetch", "swissroll", "--to", "sets"], "data set 'swissroll' is not known"),
        (["fetch", "wine", "--to", "file/sets"], "file"),
        (["list", "--in", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str, run: Command) -> None:
    Path("file").write_text("not a folder")
    outcome = run("data", *arguments)
    assert outcome.code == 2
    assert sentence in outcome.complaint
