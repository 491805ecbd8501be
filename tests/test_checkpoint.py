"""The checkpoint: a run that is ended anyhow goes on where it was, and a file that is something else is left alone."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies import random, zero_diagonal

import ldssc
from ldssc import InputError, Record, Result, Status, project
from ldssc.certificate import pose
from ldssc.checkpoint import VERSION, Checkpoint, fingerprint
from ldssc.solvers import SOLVERS, base

K = random(np.random.default_rng(7), 12)
HARD = zero_diagonal(np.random.default_rng(0), 60)
OURS = tuple(name for name in SOLVERS if name != "conic")
ours = pytest.mark.parametrize("solver", OURS)
#: before the first proof that suffices
EARLY = {"ld-ssc1": 3}
linux = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits of a process")


def radius(result: Result) -> float:
    """‖F − F*‖ is at most this."""
    return result.certificate.distance * float(np.linalg.norm(result.F))


def near(one: Result, two: Result) -> None:
    assert np.linalg.norm(one.F - two.F) <= (radius(one) + radius(two)) * (1 + 1e-9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.npz"


@pytest.fixture
def written(path: Path) -> Path:
    """The checkpoint of a run that is not done."""
    project(K, tol=1e-9, max_iter=5, checkpoint=path)
    return path


def changed(path: Path, **arrays: Any) -> None:
    """The checkpoint once more, with other arrays in it; None leaves one out."""
    with np.load(path) as stored:
        content = {**stored, **arrays}
    np.savez(path, **{name: value for name, value in content.items() if value is not None})


# --- going on


@ours
def test_a_resumed_run_goes_on_and_gives_the_same_answer(solver: str, path: Path) -> None:
    options: dict[str, Any] = {"solver": solver, "tol": 1e-2, "checkpoint": path}
    first = project(K, max_iter=EARLY.get(solver, 5), **options)
    assert first.status is Status.MAX_ITER
    second = project(K, **options)
    whole = project(K, solver=solver, tol=1e-2)
    assert second.solved
    near(second, whole)
    assert second.n_iter > first.n_iter
    assert second.n_eig > first.n_eig
    assert second.n_inner >= first.n_inner
    assert second.seconds > first.seconds
    assert second.history[: len(first.history)] == first.history
    assert second.certificate == ldssc.certify(second.F, K, second.u, second.Q, second.Z)


def test_ld_ssc1_goes_on_to_the_last_bit(path: Path) -> None:
    """Its rounds begin anew from u and Q alone."""
    for rounds in (2, 4, 6):
        parts = project(K, solver="ld-ssc1", tol=1e-9, max_iter=rounds, checkpoint=path)
    np.testing.assert_array_equal(parts.iterate, project(K, solver="ld-ssc1", tol=1e-9, max_iter=6).iterate)


def test_splitting_goes_on_without_losing_ground(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its W and σ are those it had: the next step is no further from the answer, up to what extrapolation had gained."""
    exact, seen, real = project(K, tol=1e-9).F, [], base.Run.observe

    def observe(run: base.Run, state: base.State, **options: Any) -> None:
        seen.append(float(np.linalg.norm(state.iterate - exact)))
        real(run, state, **options)

    monkeypatch.setattr(base.Run, "observe", observe)
    for limit in (40, 41):
        project(K, solver="splitting", tol=1e-12, max_iter=limit, checkpoint=path)
    assert len(seen) == 41
    assert seen[40] <= 1.5 * seen[39] < seen[0] / 10


@pytest.mark.parametrize("steps", [1, 7])
def test_many_interruptions_lead_to_the_same_answer(steps: int, path: Path) -> None:
    whole, n_iter = project(K, tol=1e-3), 0
    for _ in range(200):
        result = project(K, tol=1e-3, max_iter=n_iter + steps, checkpoint=path)
        assert result.n_iter > n_iter or result.solved
        n_iter = result.n_iter
        if result.solved:
            break
    assert result.solved
    near(result, whole)
    distances = [record.distance for record in result.history]
    assert distances == sorted(distances, reverse=True)
    assert all(a.n_eig < b.n_eig for a, b in zip(result.history, result.history[1:], strict=False))


def test_weights_and_trace_go_on_too(path: Path) -> None:
    w = np.exp(np.random.default_rng(0).normal(size=len(K)))
    options: dict[str, Any] = {"weights": w, "trace": 3.5, "tol": 1e-3}
    first = project(K, max_iter=5, checkpoint=path, **options)
    second = project(K, checkpoint=path, **options)
    assert not first.solved
    assert second.solved
    near(second, project(K, **options))
    assert ldssc.certify(
        second.F, K, second.u, second.Q, second.Z, tau=second.tau, weights=w, trace=3.5
    ).distance <= 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_finished_run_returns_at_once(solver: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if solver == "conic":
        pytest.importorskip("cvxpy")
    done = project(K, solver=solver, tol=1e-2, checkpoint=path)
    before = path.read_bytes()
    monkeypatch.setitem(SOLVERS, solver, (lambda _: pytest.fail("it ran again"), 1))
    again = project(K, solver=solver, tol=1e-2, checkpoint=path)
    assert done.solved
    assert again.solved
    for name in ("F", "u", "Q", "Z"):
        np.testing.assert_array_equal(getattr(again, name), getattr(done, name))
    assert (again.n_iter, again.history, again.certificate) == (done.n_iter, done.history, done.certificate)
    assert path.read_bytes() == before


def test_used_up_iterations_stay_used_up(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS, "auto", (lambda _: pytest.fail("it ran again"), 1))
    again = project(K, tol=1e-9, max_iter=5, checkpoint=written)
    assert (again.status, again.n_iter) == (Status.MAX_ITER, 5)


def test_the_time_limit_is_for_what_follows(path: Path) -> None:
    first = project(HARD, tol=1e-12, time_limit=0.3, checkpoint=path)
    second = project(HARD, tol=1e-12, time_limit=0.3, checkpoint=path)
    assert first.status is second.status is Status.TIME_LIMIT
    assert second.n_iter > first.n_iter
    assert second.seconds >= first.seconds + 0.3


@pytest.mark.parametrize("solver", ["ld-ssc1", "ld-ssc2"])
def test_the_papers_runs_go_on(solver: str, path: Path) -> None:
    first = project(K, solver=solver, paper=True, max_iter=3, checkpoint=path)
    second = project(K, solver=solver, paper=True, max_iter=6, checkpoint=path)
    assert (first.n_iter, second.n_iter) == (3, 6)
    assert second.certificate.distance <= first.certificate.distance


# --- written as it goes


@ours
def test_it_is_written_at_every_interval_and_at_the_end(
    solver: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[int] = []
    real = Checkpoint.write

    def write(self: Checkpoint, progress: base.Progress) -> None:
        moments.append(progress.n_iter)
        real(self, progress)

    monkeypatch.setattr(Checkpoint, "write", write)
    project(K, solver=solver, tol=1e-9, max_iter=4, checkpoint=path, checkpoint_interval=0)
    assert moments == [1, 2, 3, 4, 4]
    moments.clear()
    path.unlink()
    project(K, solver=solver, tol=1e-9, max_iter=4, checkpoint=path, checkpoint_interval=1000)
    assert moments == [4]


def test_nothing_is_unpickled_and_nothing_else_is_left(written: Path, tmp_path: Path) -> None:
    with np.load(written, allow_pickle=False) as arrays:
        assert all(not arrays[name].dtype.hasobject for name in arrays)
        np.testing.assert_array_equal(arrays["best_F"], project(K, tol=1e-9, max_iter=5).F)
    assert list(tmp_path.iterdir()) == [written]


def test_a_killed_write_is_tidied_up_and_other_files_are_not(tmp_path: Path, path: Path) -> None:
    (tmp_path / ".run.npz.0123abcd.part").write_bytes(b"half")
    others = [tmp_path / name for name in (".run.npz.part", "run.npz.0123abcd.part", ".other.npz.0123abcd.part")]
    for other in others:
        other.write_bytes(b"mine")
    project(K, tol=1e-2, checkpoint=path)
    assert set(tmp_path.iterdir()) == {path, *others}


# --- ended from outside, in real processes

PROGRAM = """
import sys, json, numpy as np, ldssc
K = np.load("K.npy")
print("ready", flush=True)
seen = lambda record: print(record.iteration, flush=True)
result = ldssc.project(K, solver=sys.argv[1], tol=float(sys.argv[2]), checkpoint="run.npz",
    checkpoint_interval=0.05, callback=seen)
np.savez("answer.npz", F=result.F, u=result.u, Q=result.Q, Z=result.Z)
print(result.status.name, result.n_iter, flush=True)
"""


def start(folder: Path, solver: str, tol: float) -> subprocess.Popen[str]:
    np.save(folder / "K.npy", HARD)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, solver, str(tol)]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def running(process: subprocess.Popen[str], path: Path, proofs: int = 4) -> None:
    """Wait until it has proven something and written it."""
    assert process.stdout is not None
    for _ in range(proofs + 1):
        process.stdout.readline()
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None


def saved(path: Path) -> base.Progress:
    found = Checkpoint(path, pose(HARD), "splitting", 60).take()
    assert found is not None
    return found


@linux
@pytest.mark.parametrize("which", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_run_as_stopped_with_the_answer_written(which: str, path: Path, tmp_path: Path) -> None:
    process = start(tmp_path, "splitting", 1e-13)
    running(process, path)
    process.send_signal(getattr(signal, which))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    status, n_iter = out.splitlines()[-1].split()
    assert status == "STOPPED"
    assert saved(path).n_iter == int(n_iter)
    with np.load(tmp_path / "answer.npz") as answer:
        claim = ldssc.certify(answer["F"], HARD, answer["u"], answer["Q"], answer["Z"])
    assert claim.distance < 1
    assert {file.name for file in tmp_path.iterdir()} == {"K.npy", "run.npz", "answer.npz"}


@linux
def test_a_killed_process_loses_no_more_than_the_interval_and_goes_on(path: Path, tmp_path: Path) -> None:
    best = []
    for _ in range(3):
        process = start(tmp_path, "splitting", 1e-13)
        running(process, path)
        time.sleep(1)
        killed = time.time()
        process.kill()
        out, _ = process.communicate(timeout=60)
        assert killed - path.stat().st_mtime < 1  # 0.05, and what a busy machine takes to write
        lines = [int(line) for line in out.split() if line.isdigit()]
        found = saved(path)
        assert not lines or found.n_iter >= 0.3 * lines[-1]
        best.append((found.n_iter, found.history[-1].distance))
    assert best[0][0] < best[1][0] < best[2][0]
    assert best[0][1] >= best[1][1] >= best[2][1]
    resumed = project(HARD, solver="splitting", tol=1e-2, checkpoint=path)
    assert resumed.solved
    assert resumed.n_iter >= best[-1][0]
    near(resumed, project(HARD, tol=1e-2))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["K.npy", "run.npz"]


def test_an_interrupt_anywhere_in_the_end_still_leaves_a_whole_file(path: Path) -> None:
    """Ctrl-C in the callback, and again in the closing proof."""

    def interrupt(_: Record) -> None:
        raise KeyboardInterrupt

    result = project(K, tol=1e-9, checkpoint=path, callback=interrupt)
    assert result.status is Status.STOPPED
    again = project(K, tol=1e-2, checkpoint=path)
    assert again.n_iter >= result.n_iter


@linux
def test_the_handler_is_put_back_and_is_there_only_while_it_is_needed(path: Path) -> None:
    mine: Callable[..., None] = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGTERM, mine)
    seen = []
    try:
        project(K, tol=1e-2, callback=lambda _: seen.append(signal.getsignal(signal.SIGTERM)))
        assert set(seen) == {mine}
        project(K, tol=1e-2, checkpoint=path, callback=lambda _: seen.append(signal.getsignal(signal.SIGTERM)))
        assert seen[-1] is not mine
        assert signal.getsignal(signal.SIGTERM) is mine
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever ignores it goes on ignoring it
        path.unlink()
        project(K, tol=1e-2, checkpoint=path, callback=lambda _: seen.append(signal.getsignal(signal.SIGTERM)))
        assert seen[-1] is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_checkpoint_without_a_handler(path: Path) -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(project(K, tol=1e-2, checkpoint=path)))
    thread.start()
    thread.join()
    assert results[0].solved
    assert path.exists()


# --- refused


def refused(path: Path, said: str, matrix: Any = K, **options: Any) -> None:
    """One sentence, before the work, and the file as it was."""
    before = path.read_bytes()
    with pytest.raises(InputError, match=said) as error:
        project(matrix, callback=lambda _: pytest.fail("the work was done"), checkpoint=path, **options)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_checkpoint_of_another_problem_is_refused(written: Path) -> None:
    other = K.copy()
    other[0, 1] = other[1, 0] = np.nextafter(K[0, 1], 2)
    for matrix, options in ((other, {}), (K[:10, :10], {}), (K, {"trace": 3.0}), (K, {"weights": np.ones(len(K))})):
        refused(written, "another problem", matrix, **options)


def test_the_fingerprint_tells_problems_apart() -> None:
    w = np.arange(1.0, len(K) + 1)
    problems = [pose(K), pose(2 * K), pose(K, w), pose(K, None, 2.0), pose(K, None, 3.0), pose(K, w, 2.0)]
    assert len({fingerprint(problem) for problem in problems}) == len(problems)
    assert fingerprint(pose(K.tolist())) == fingerprint(pose(np.asfortranarray(K)))


def test_a_checkpoint_of_another_version_is_refused(written: Path) -> None:
    changed(written, ldssc_checkpoint=VERSION + 1)
    refused(written, f"format {VERSION + 1}, and this version of ldssc knows format {VERSION}")


def test_a_checkpoint_of_another_solver_is_refused(written: Path) -> None:
    refused(written, "solver 'auto'", solver="accelerated")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(share: float, written: Path) -> None:
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    refused(written, "damaged or cut short")


@pytest.mark.parametrize("place", np.linspace(0.05, 0.9, 12))
def test_a_flipped_bit_is_refused_or_harmless(place: float, written: Path) -> None:
    content = bytearray(written.read_bytes())
    content[int(place * len(content))] ^= 16
    written.write_bytes(content)
    try:
        result = project(K, tol=1e-2, checkpoint=written)
    except InputError as error:
        assert "damaged" in str(error) or "another" in str(error)  # noqa: PT017
        assert written.read_bytes() == content
    else:
        near(result, project(K, tol=1e-2))


@pytest.mark.parametrize(
    "arrays",
    [
        {"best_F": None},
        {"state_u": None},
        {"seconds": None},
        {"history_note": None},
        {"history_n_eig": np.arange(9)},
        {"best_F": np.eye(3)},
        {"best_Q": -np.ones(K.shape)},
        {"best_Z": np.triu(np.ones(K.shape))},
        {"state_Z": np.full(K.shape, np.nan)},
        {"state_u": np.zeros(len(K), dtype=np.float32)},
    ],
    ids=lambda arrays: "-".join(arrays),
)
def test_a_checkpoint_with_something_else_in_it_is_refused(arrays: dict[str, Any], written: Path) -> None:
    changed(written, **arrays)
    if arrays.get("best_F", K) is None:  # a run that has proven nothing yet
        assert project(K, tol=1e-2, checkpoint=written).solved
    else:
        refused(written, "damaged")


def test_objects_in_a_checkpoint_are_never_unpickled(written: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("unpickled",))

    changed(written, state_Z=np.array([Bomb()], dtype=object))
    refused(written, "damaged")


def other_files() -> dict[str, bytes]:
    npy, npz, archive = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, K)
    np.savez(npz, K=K)
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("letter.txt", "dear all")
    return {
        "empty": b"",
        "text": b"my thesis\n",
        "npy": npy.getvalue(),
        "npz": npz.getvalue(),
        "zip": archive.getvalue(),
        "pickle": pickle.dumps({"K": 1}),
    }


@pytest.mark.parametrize("content", other_files().values(), ids=other_files())
def test_any_other_file_is_refused_and_never_overwritten(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    refused(path, "no checkpoint of ldssc")


def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name, said in {
        ".": "is a folder",
        "nowhere/run.npz": "no folder",
        "file/run.npz": "no folder",
        "pipe": "a pipe",
        "n" * 300: "cannot be written",
    }.items():
        with pytest.raises(InputError, match=said):
            project(K, checkpoint=tmp_path / name, callback=lambda _: pytest.fail("the work was done"))
    assert {file.name for file in tmp_path.iterdir()} == {"file", "pipe"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"checkpoint": 7}, "checkpoint must be the name of a file"),
        ({"checkpoint_interval": -1}, "checkpoint_interval must be a number >= 0"),
        ({"checkpoint_interval": float("nan")}, "checkpoint_interval must be a number >= 0"),
        ({"checkpoint_interval": "1"}, "checkpoint_interval must be a number >= 0"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        project(K, **options)


def test_a_full_disk_is_said_before_the_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: os.terminal_size((0, 0)) and type("Disk", (), {"free": 100}))
    with pytest.raises(InputError, match="are free in its folder"):
        project(K, checkpoint=path)


# --- what goes wrong on the way


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy 1.26 leaves its zip file open
@linux
def test_a_disk_that_fills_up_is_said_once_and_nothing_is_lost(path: Path) -> None:
    import resource

    project(K, tol=1e-9, max_iter=3, checkpoint=path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.warns(UserWarning, match=r"run\.npz cannot be written: .*the run goes on") as caught:
            result = project(K, tol=1e-3, checkpoint=path, checkpoint_interval=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(caught) == 1
    assert result.solved
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_with_room_again_is_written_to_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.replace, []

    def replace(*names: Any) -> None:
        calls.append(names)
        if len(calls) < 3:
            raise OSError(28, "No space left on device")
        real(*names)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.warns(UserWarning, match="No space left on device"):
        project(K, tol=1e-9, max_iter=6, checkpoint=path, checkpoint_interval=0)
    with warnings.catch_warnings():
        assert project(K, tol=1e-9, max_iter=6, checkpoint=path).n_iter == 6


def test_what_another_process_has_put_there_is_not_overwritten(path: Path) -> None:
    def meddle(record: Record) -> None:
        if record.iteration > 1:
            path.write_bytes(b"my thesis\n")

    with pytest.warns(UserWarning, match="no checkpoint of ldssc"):
        result = project(K, tol=1e-3, checkpoint=path, checkpoint_interval=0, callback=meddle)
    assert result.solved
    assert path.read_bytes() == b"my thesis\n"


@pytest.mark.parametrize("call", [2, 10, 40])
def test_after_a_nan_the_last_good_state_is_what_is_kept(
    call: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, calls, real = random(np.random.default_rng(7), 12), [], base.eigh

    def breaks(A: Any, /) -> Any:
        calls.append(1)
        w, U = real(A)
        return (w, U * np.nan) if len(calls) == call else (w, U)

    with monkeypatch.context() as patch:
        patch.setattr(base, "eigh", breaks)
        result = project(matrix, tol=1e-9, checkpoint=path, checkpoint_interval=0, max_iter=60)
    assert result.status is Status.NONFINITE
    again = project(matrix, tol=1e-6, checkpoint=path)
    assert again.solved
    near(again, project(matrix, tol=1e-6))
