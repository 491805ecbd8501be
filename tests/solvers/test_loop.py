"""The one loop: how a run ends, what it records, and that nothing found is lost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from strategies import gaussian, random, zero_diagonal

from ldssc.problem import Problem
from ldssc.solvers import Record, Status, base, project

Array = np.ndarray[Any, np.dtype[np.float64]]
K = random(np.random.default_rng(7), 12)
OURS = ("auto", "ld-ssc1", "ld-ssc2")
ours = pytest.mark.parametrize("solver", OURS)


def answer(**options: Any) -> Any:
    """`project(K)`; an interrupt that gets out of it is a failure, not the end of all tests."""
    try:
        return project(K, tol=1e-9, **options)
    except KeyboardInterrupt:
        pytest.fail("the interrupt was let through, and the answer lost")


def assert_is_an_answer(result: Any) -> None:
    assert np.isfinite(result.F).all()
    assert result.F.min() >= 0
    assert np.abs(result.F.sum(axis=1) - 1).max() <= 1e-12
    assert np.linalg.eigvalsh(result.F)[0] >= -1e-12
    assert np.isfinite(result.certificate.distance)
    assert result.history


@ours
def test_solved_means_proven(solver: str) -> None:
    result = project(gaussian(np.random.default_rng(0), 8), solver=solver, tol=1e-3)
    assert result.status is Status.SOLVED
    assert result.certificate.distance <= 1e-3
    assert result.solver == solver
    assert result.tol == 1e-3


@ours
@pytest.mark.parametrize("limit", [1, 3, 20])
def test_max_iter_is_obeyed(solver: str, limit: int) -> None:
    result = project(K, solver=solver, tol=1e-9, max_iter=limit)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == limit
    assert_is_an_answer(result)


@ours
def test_a_tolerance_reached_at_the_last_iteration_counts(solver: str) -> None:
    result = project(K, solver=solver, tol=1e3, max_iter=1)
    assert result.status is Status.SOLVED


@ours
def test_time_limit_is_obeyed(solver: str) -> None:
    big = zero_diagonal(np.random.default_rng(0), 60)
    start = time.perf_counter()
    result = project(big, solver=solver, tol=1e-9, time_limit=0.3)
    assert result.status is Status.TIME_LIMIT
    assert 0.3 <= result.seconds <= time.perf_counter() - start < 3
    assert_is_an_answer(result)


@ours
def test_time_limit_before_the_first_iteration_still_gives_an_answer(solver: str) -> None:
    result = project(K, solver=solver, tol=1e-9, time_limit=1e-9)
    assert result.status is Status.TIME_LIMIT
    assert_is_an_answer(result)


@ours
def test_an_unreachable_tolerance_ends_as_stalled(solver: str) -> None:
    result = project(gaussian(np.random.default_rng(0), 4), solver=solver, tol=1e-30)
    assert result.status is Status.STALLED
    assert result.certificate.distance <= 1e-3
    assert_is_an_answer(result)


@ours
def test_callback_gets_every_record_and_stops_the_run(solver: str) -> None:
    seen: list[Record] = []

    def third(record: Record) -> bool:
        seen.append(record)
        return len(seen) == 3

    result = project(K, solver=solver, tol=1e-9, callback=third)
    assert result.status is Status.STOPPED
    assert tuple(seen) == result.history
    assert len(seen) == 3
    assert result.certificate.distance <= seen[-1].distance * (1 + 1e-6)
    assert_is_an_answer(result)


@ours
def test_callback_that_says_nothing_does_not_stop(solver: str) -> None:
    seen: list[Record] = []
    result = project(K, solver=solver, tol=1e-9, max_iter=30, callback=seen.append)
    assert result.status is Status.MAX_ITER
    assert tuple(seen) == result.history


@ours
def test_interrupt_returns_the_best_answer_so_far(solver: str) -> None:
    seen: list[Record] = []

    def interrupt(record: Record) -> None:
        seen.append(record)
        if len(seen) == 2:
            raise KeyboardInterrupt

    result = answer(solver=solver, callback=interrupt)
    assert result.status is Status.STOPPED
    assert result.certificate.distance <= seen[-1].distance * (1 + 1e-6)
    assert_is_an_answer(result)


@ours
@pytest.mark.parametrize("options", [{"max_iter": 1}, {"time_limit": 1e-9}], ids=["max_iter", "time_limit"])
def test_interrupt_in_the_last_callback_returns_the_answer_too(solver: str, options: dict[str, Any]) -> None:
    """The closing proof calls back as well."""

    def interrupt(_: Record) -> None:
        raise KeyboardInterrupt

    assert_is_an_answer(answer(solver=solver, callback=interrupt, **options))


@pytest.mark.parametrize("solver", ["ld-ssc1", "ld-ssc2"])
def test_interrupt_in_the_only_callback_of_a_paper_run_returns_the_answer(solver: str) -> None:
    def interrupt(_: Record) -> None:
        raise KeyboardInterrupt

    assert_is_an_answer(answer(solver=solver, paper=True, max_iter=2, callback=interrupt))


@ours
@pytest.mark.parametrize("name", ["complete", "close_semidefinite", "prove", "dual_value"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_interrupt_in_the_middle_of_a_proof_returns_an_answer(
    solver: str, name: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may fall anywhere, the first proof included."""
    owner = base if name == "prove" else Problem
    real, calls = getattr(owner, name), []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
    result = answer(solver=solver, max_iter=60)
    closes_once = solver == "auto" and name == "close_semidefinite"  # at the free exits, and never again
    assert result.status is (Status.MAX_ITER if closes_once and call > 1 else Status.STOPPED)
    assert_is_an_answer(result)


@ours
def test_an_error_in_the_callback_is_not_swallowed(solver: str) -> None:
    def fails(_: Record) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        project(K, solver=solver, tol=1e-9, callback=fails)


@ours
@pytest.mark.parametrize("call", [1, 2, 10, 40])
@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_nan_from_an_eigendecomposition_gives_back_the_last_good_answer(
    solver: str, call: int, once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def breaks(A: Array, /) -> tuple[Array, Array]:
        nonlocal calls
        calls += 1
        w, U = la.eigh(A)
        return (w, np.full_like(U, np.nan)) if calls == call or (calls > call and not once) else (w, U)

    monkeypatch.setattr(base, "eigh", breaks)
    result = project(K, solver=solver, tol=1e-9, max_iter=60)
    assert result.status in (Status.NONFINITE, Status.MAX_ITER, Status.STALLED)
    if not once:
        assert result.status is Status.NONFINITE
    assert_is_an_answer(result)


@ours
def test_a_failing_eigendecomposition_does_not_lose_the_answer(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def fails(A: Array, /) -> tuple[Array, Array]:
        nonlocal calls
        calls += 1
        if calls == 60:
            raise la.LinAlgError("the algorithm failed to converge")
        return la.eigh(A)

    monkeypatch.setattr(base, "eigh", fails)
    result = project(K, solver=solver, tol=1e-9)
    assert result.status is not Status.SOLVED
    assert_is_an_answer(result)


@ours
def test_reported_eigendecompositions_are_those_that_were_done(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full ones and those for eigenvalues alone, whoever asks for them."""
    real = {"eigh": la.eigh, "eigvalsh": la.eigvalsh}
    done = dict.fromkeys(real, 0)
    for name in done:

        def counted(*arguments: Any, name: str = name, **options: Any) -> Any:
            done[name] += 1
            return real[name](*arguments, **options)

        monkeypatch.setattr(la, name, counted)
    result = project(K, solver=solver, tol=1e-9, max_iter=40)
    assert done["eigh"] <= result.n_eig == sum(done.values())


def test_records_tell_the_dual_value_of_the_best_point() -> None:
    result = project(K, solver="ld-ssc2", tol=1e-3)
    primal = ((result.F - K) ** 2).sum() / 2
    assert result.history[-1].dual <= primal
    assert result.history[-1].dual == pytest.approx(primal - result.certificate.gap, rel=1e-9)
    assert result.history[-1].distance == pytest.approx(result.certificate.distance, rel=1e-6)


def test_result_is_frozen_and_reads_as_one_line() -> None:
    result = project(np.eye(3))
    with pytest.raises(AttributeError):
        result.F = np.eye(3)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        result.certificate.distance = 0.0  # type: ignore[misc]
    assert repr(result).startswith("Result(n=3, solver='auto', status=SOLVED, distance=")
    assert "\n" not in repr(result)


def test_every_status_carries_its_sentence() -> None:
    assert [status.name for status in Status] == ["SOLVED", "MAX_ITER", "TIME_LIMIT", "STALLED", "STOPPED", "NONFINITE"]
    assert len({status.sentence for status in Status}) == 6
    assert all(status.sentence == status.value for status in Status)


@ours
def test_a_run_is_repeatable_to_the_last_bit(solver: str) -> None:
    one, two = (project(K, solver=solver, tol=1e-9, max_iter=25) for _ in range(2))
    np.testing.assert_array_equal(one.F, two.F)
    np.testing.assert_array_equal(one.iterate, two.iterate)
    assert one.certificate == two.certificate


def test_free_exits_need_no_iteration_of_a_solver() -> None:
    """(9) Π_D(K) is PSD; (10) 11ᵀ/n + (PKP)₊ ≥ 0."""
    doubly = np.eye(6) * 2 - 0.3
    X = np.random.default_rng(0).normal(size=(6, 2)) * 0.05
    for free in (doubly, X @ X.T):
        result = project((free + free.T) / 2)
        assert result.solved
        assert result.n_iter == 1
        assert result.history[0].note == "free exits (9) and (10)"
