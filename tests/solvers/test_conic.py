"""The paper's CVX-SSC: a general conic solver, which refuses what is hopeless before it starts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from strategies import gaussian, random, zero_diagonal

from ldssc import memory
from ldssc.exceptions import InputError, MissingExtraError, NotEnoughMemoryError
from ldssc.solvers import Status, project
from ldssc.solvers.conic import forecast


@pytest.fixture
def _cvxpy() -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    pytest.importorskip("scs")


needs_cvxpy = pytest.mark.usefixtures("_cvxpy")


@needs_cvxpy
def test_clarabel_takes_the_small_and_scs_the_larger() -> None:
    small = project(gaussian(np.random.default_rng(0), 8), solver="conic", tol=1e-4)
    assert small.history[-1].note == "CLARABEL of CVXPY"
    assert small.solved
    large = project(gaussian(np.random.default_rng(0), 61), solver="conic", tol=1e-2)
    assert large.history[-1].note == "SCS of CVXPY"
    assert large.solved
    assert small.n_inner > 1
    assert large.n_inner > 1


@needs_cvxpy
def test_iterate_is_what_the_solver_returned_and_F_is_its_repair() -> None:
    result = project(zero_diagonal(np.random.default_rng(0), 10), solver="conic", tol=1e-4)
    assert 0 < np.linalg.norm(result.iterate - result.F) <= 1e-3
    np.testing.assert_array_equal(result.iterate, result.iterate.T)


@needs_cvxpy
def test_time_limit_reaches_the_solver() -> None:
    result = project(gaussian(np.random.default_rng(0), 50), solver="conic", tol=1e-13, time_limit=0.6)
    assert result.status in (Status.TIME_LIMIT, Status.STALLED)
    assert result.seconds < 10


def test_hopeless_sizes_are_refused_with_a_forecast() -> None:
    K = np.eye(2500)
    with pytest.raises(
        InputError, match=r"solver 'conic' at n = 2500 would take SCS about .* hours; use solver='auto'"
    ):
        project(K, solver="conic")


def test_a_short_time_limit_makes_more_sizes_hopeless() -> None:
    with pytest.raises(InputError, match="would take SCS"):
        project(np.eye(300), solver="conic", time_limit=0.1)


def test_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 120 * 60**2 + 1)
    with pytest.raises(NotEnoughMemoryError, match=r"solver 'conic' \(CLARABEL\) at n = 60 needs about .* MiB"):
        project(np.eye(60), solver="conic")


def test_forecast_grows_and_changes_solver_at_60() -> None:
    assert forecast(60)[0] == "CLARABEL"
    assert forecast(61)[0] == "SCS"
    assert forecast(400)[1] > forecast(200)[1] > 0
    assert forecast(181)[1] < 600  # the paper's Lung: must run


@pytest.mark.parametrize("module", ["cvxpy", "clarabel"])
def test_a_missing_extra_is_said(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if module == "clarabel":
        pytest.importorskip("cvxpy")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"this needs {module}, .* pip install 'ldssc\[conic\]'"):
        project(np.eye(4), solver="conic")


@needs_cvxpy
def test_failure_of_the_solver_is_a_stall_with_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy

    def fails(*_: Any, **__: Any) -> None:
        raise cvxpy.error.SolverError("no")

    monkeypatch.setattr(cvxpy.Problem, "solve", fails)
    result = project(random(np.random.default_rng(0), 12), solver="conic")
    assert result.status is Status.STALLED
    assert result.F.min() >= 0


@needs_cvxpy
@pytest.mark.slow
def test_lung_size_of_the_paper_runs() -> None:
    """n = 181."""
    result = project(gaussian(np.random.default_rng(0), 181), solver="conic", tol=1e-2, time_limit=120)
    assert result.certificate.distance <= 5e-2
