"""The application: version, help, usage, and what becomes of what goes wrong."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from command import Command

import ldssc

FAULTS = [
    (OSError(5, "Input/output error", "K.npy"), 2, "K.npy: Input/output error"),
    (MemoryError(), 2, "out of memory"),
    (np.linalg.LinAlgError("no driver\nconverges"), 2, "no driver converges"),
    (ldssc.InputError("wrong\nhere"), 2, "wrong here"),
    (KeyboardInterrupt(), 130, "interrupted"),
]


def test_version(run: Command) -> None:
    assert run("--version") == (0, f"ldssc {ldssc.__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands_and_the_exit_codes(arguments: tuple[str, ...], run: Command) -> None:
    code, out, _ = run(*arguments)
    assert code == 0
    for word in ("demo", "cluster", "project", "Exit codes"):
        assert word in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("project",),
        ("project", "K.npy"),
        ("project", "K.npy", "-o", "F.npy", "--tol", "small"),
        ("project", "K.npy", "-o", "F.npy", "--nonsense"),
        ("cluster", "data.csv", "-k", "3"),
        ("cluster", "data.csv", "-k", "3", "-o", "l.csv", "--random-state", "-1"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(arguments: tuple[str, ...], run: Command) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.complaint.startswith("ldssc: ")
    assert outcome.out == ""


@pytest.mark.parametrize(("fault", "code", "said"), FAULTS, ids=lambda value: type(value).__name__)
def test_what_goes_wrong_is_one_line(
    fault: BaseException, code: int, said: str, run: Command, affinity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(ldssc, "project", fail)
    outcome = run("project", affinity, "-o", "F.npy")
    assert outcome.code == code
    assert said in outcome.complaint
    assert not Path("F.npy").exists()


def test_a_fault_of_our_own_is_said_to_be_one(run: Command, affinity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ldssc, "project", fail)
    code, _, err = run("project", affinity, "-o", "F.npy")
    assert code == 70
    assert "ZeroDivisionError" in err
    assert "a fault in ldssc" in err


def test_a_warning_is_one_line_and_never_an_error(
    run: Command, affinity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = ldssc.project

    def warn(*arguments: object, **options: object) -> ldssc.Result:
        warnings.warn("mind\nthe gap", UserWarning, stacklevel=2)
        warnings.warn("not for users", DeprecationWarning, stacklevel=2)
        return project(*arguments, **options)

    monkeypatch.setattr(ldssc, "project", warn)
    code, _, err = run("project", affinity, "-o", "F.npy", "--tol", "0.2")
    assert code == 0
    assert "warning: mind the gap\n" in err
    assert "not for users" not in err


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named_with_the_line_that_installs_it(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from ldssc.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"ldssc: this needs {missing}, which is not installed; install it with: pip install 'ldssc[cli]'\n"
    )


@pytest.mark.usefixtures("table", "affinity")
def test_matplotlib_is_not_imported_where_nothing_is_drawn(tmp_path: Path) -> None:
    code = (
        "import sys; from ldssc.cli import main; main(['--help']); main('project K.npy -o F.npy --tol 1'.split());"
        "main('cluster irises.csv -k 3 -o l.csv --ignore species --normalization frobenius'.split());"
        "sys.exit('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "F.npy").exists()
    assert (tmp_path / "l.csv").exists()


@pytest.mark.usefixtures("affinity")
def test_a_reader_that_leaves_early_changes_nothing(tmp_path: Path) -> None:
    line = f"'{sys.executable}' -m ldssc project K.npy -o F.npy --tol 1 2>err.txt | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], cwd=tmp_path).returncode == 0
    assert (tmp_path / "F.json").exists()
    assert "Traceback" not in (tmp_path / "err.txt").read_text()


@pytest.mark.usefixtures("table")
def test_a_terminal_without_the_letters_gets_what_it_can_show(tmp_path: Path) -> None:
    line = f"'{sys.executable}' -m ldssc cluster irises.csv -k 3 -o l.csv --ignore species --normalization none"
    done = subprocess.run(
        ["bash", "-c", f"PYTHONIOENCODING=ascii {line}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "labels are in l.csv" in done.stdout
