"""ldssc project: F and its certificate in files, exit codes, bad input, an interrupted run."""

from __future__ import annotations

import itertools
import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from command import Command, start

import ldssc
from ldssc import files, memory


@pytest.mark.parametrize("suffix", files.WRITABLE)
def test_the_certificate_in_the_file_is_that_of_the_matrix_in_the_file(
    suffix: str, run: Command, affinity: Path, K: np.ndarray
) -> None:
    code, out, err = run(
        "project", affinity, "-o", f"F{suffix}", "--tol", "1e-2", "--solver", "ld-ssc2", "--multipliers", "M.npz"
    )
    assert code == 0
    said = json.loads(Path("F.json").read_text())
    F = files.read_matrix(f"F{suffix}")
    F = F.toarray() if hasattr(F, "toarray") else F
    with np.load("M.npz") as M:
        proof = ldssc.certify(F, K, M["u"], M["Q"], M["Z"])
    assert said["distance"] == pytest.approx(proof.distance, rel=1e-9)
    assert said["distance"] <= said["tol"] == 1e-2
    assert said["gap"] == pytest.approx(proof.gap, rel=1e-9)
    for name in ("row_sum", "negativity", "indefiniteness"):
        assert said[name] == getattr(proof, name)
    assert (said["status"], said["n"], said["solver"]) == ("SOLVED", 60, "ld-ssc2")
    assert "proven to the tolerance" in out
    assert f"F{suffix}" in out
    assert "proven within" in err


def test_the_proven_distance_falls_line_by_line(run: Command, affinity: Path) -> None:
    _, _, err = run("project", affinity, "-o", "F.npy", "--tol", "1e-3")
    distances = [float(d) for d in re.findall(r"^proven within (\S+) \(iteration", err, re.M)]
    assert len(distances) > 2
    assert all(b <= a / 2 for a, b in itertools.pairwise(distances))


@pytest.mark.parametrize("option", [("--max-iter", "3"), ("--time-limit", "0.01"), ("--solver", "ld-ssc2", "--paper")])
def test_an_unproven_answer_is_written_and_said_with_code_1(
    option: tuple[str, ...], run: Command, affinity: Path
) -> None:
    code, out, err = run("project", affinity, "-o", "F.npy", "--tol", "1e-12", *option)
    assert code == 1
    assert "before the tolerance was proven" in out
    assert "not proven to tol 1e-12" in err
    said = json.loads(Path("F.json").read_text())
    assert said["status"] in ("MAX_ITER", "TIME_LIMIT")
    assert said["distance"] > 1e-12
    F = np.load("F.npy")
    assert F.min() >= 0
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-12)


def broken(K: np.ndarray, i: int, j: int, value: float) -> np.ndarray:
    A = K.copy()
    A[i, j] = value
    return A


HALF = np.array([[1, 0.5], [0.5, 1]])
BAD = {
    "nan": (broken(HALF, 0, 1, np.nan), "[0, 1] (nan)"),
    "infinity": (broken(HALF, 1, 1, np.inf), "[1, 1] (inf)"),
    "not square": (np.ones((2, 3)), "must be square, and has shape (2, 3)"),
    "asymmetric": (broken(HALF, 0, 1, 0.75), "is 0.25, at [0, 1]"),
    "complex": (HALF * 1j, "is complex"),
    "empty": (np.ones((0, 0)), "is empty (0 x 0)"),
    "vector": (np.ones(3), "must have two dimensions, and has 1"),
    "scalar": (np.float64(3), "must have two dimensions, and has 0"),
    "cube": (np.ones((2, 2, 2)), "must have two dimensions, and has 3"),
    "huge entries": (HALF * 1e300, "divide K by its largest entry"),
    "text": (np.array([["a", "b"], ["b", "a"]]), "no numbers"),
}


@pytest.mark.parametrize(("K", "said"), BAD.values(), ids=BAD)
def test_a_bad_matrix_is_one_line_and_code_2(K: np.ndarray, said: str, run: Command, tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", K)
    outcome = run("project", "bad.npy", "-o", "F.npy")
    assert outcome.code == 2
    assert said in outcome.complaint
    assert [path.name for path in tmp_path.iterdir()] == ["bad.npy"]


GOOD = {
    "one row": np.ones((1, 1)),
    "integer": np.array([[3, 1], [1, 3]]),
    "boolean": np.eye(3, dtype=bool),
    "float16": np.eye(3, dtype=np.float16),
    "constant": np.ones((4, 4)),
    "tiny entries": np.eye(3) * 1e-300,
    "negative": -np.ones((3, 3)),
    "a zero row": np.diag([1.0, 0.0, 1.0]),
    "rounding": broken(HALF, 0, 1, 0.5 + 1e-15),
}


@pytest.mark.parametrize("K", GOOD.values(), ids=GOOD)
def test_an_odd_matrix_is_projected_and_proven(K: np.ndarray, run: Command, tmp_path: Path) -> None:
    np.save(tmp_path / "K.npy", K)
    assert run("project", "K.npy", "-o", "F.npy").code == 0
    assert ldssc.certify(np.load("F.npy"), K).distance <= 1e-4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("absent.npy", "-o", "F.npy"), "there is no file absent.npy"),
        ((".", "-o", "F.npy"), "is a folder"),
        (("K.npy", "-o", "F.xlsx"), "must end in .npy, .npz, .csv, .mtx"),
        (("K.npy", "-o", "K.npy"), "would be overwritten"),
        (("K.npy", "-o", "F.npy", "--multipliers", "M.npy"), "must end in .npz"),
        (("K.npy", "-o", "F.npz", "--multipliers", "F.npz"), "would be overwritten"),
        (
            ("K.npy", "-o", "F.npy", "--solver", "magic"),
            "valid names: accelerated, auto, conic, ld-ssc1, ld-ssc2, newton, splitting",
        ),
        (("K.npy", "-o", "F.npy", "--tol", "-1"), "tol must be a number > 0"),
        (("K.npy", "-o", "F.npy", "--tol", "nan"), "tol must be a number > 0"),
        (("K.npy", "-o", "F.npy", "--max-iter", "0"), "max_iter must be at least 1"),
        (("K.npy", "-o", "F.npy", "--time-limit", "0"), "time_limit must be a number > 0"),
        (("K.npy", "-o", "F.npy", "--paper"), "valid names: ld-ssc1, ld-ssc2"),
    ],
)
def test_a_bad_argument_is_one_line_and_code_2(
    arguments: tuple[str, ...], said: str, run: Command, affinity: Path
) -> None:
    before = affinity.read_bytes()
    outcome = run("project", *arguments)
    assert outcome.code == 2
    assert said in outcome.complaint
    assert affinity.read_bytes() == before
    assert list(affinity.parent.iterdir()) == [affinity]


@pytest.mark.parametrize("output", ["nowhere/F.npy", "K.npy/F.npy", "/proc/F.npy"])
def test_an_output_that_cannot_be_written_is_said_before_the_work(
    output: str, run: Command, affinity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ldssc, "project", lambda *_, **__: pytest.fail("the work was done"))
    outcome = run("project", affinity, "-o", output)
    assert outcome.code == 2
    assert "cannot be written" in outcome.complaint


def test_what_does_not_fit_is_said_before_the_work(
    run: Command, affinity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000)
    outcome = run("project", affinity, "-o", "F.npy")
    assert outcome.code == 2
    assert re.search(r"needs about .* of memory and .* are available", outcome.complaint)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_run_writes_the_best_so_far_with_code_1(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    K = ldssc.gaussian_affinity(rng.normal(size=(120, 2)))
    np.save(tmp_path / "K.npy", K)
    process = start("project", "K.npy", "-o", "F.npy", "--tol", "1e-14", "--solver", "ld-ssc2", cwd=tmp_path)
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert line.startswith("proven within")
    assert process.returncode == 1, err
    assert "stopped on request" in out
    assert "not proven to tol 1e-14" in err
    said = json.loads((tmp_path / "F.json").read_text())
    assert said["status"] == "STOPPED"
    F = np.load(tmp_path / "F.npy")
    assert F.min() >= 0
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-12)
    assert np.linalg.eigvalsh(F)[0] >= -1e-12


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.usefixtures("affinity")
def test_a_full_disk_is_one_line_and_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "F.npy").write_text("old")
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from ldssc.cli import main; sys.exit(main(['project', 'K.npy', '-o', 'F.npy', '--tol', '1']))"
    )
    process = start(cwd=tmp_path, program=("-c", limited))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "F.npy cannot be written" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert (tmp_path / "F.npy").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["F.npy", "K.npy"]
