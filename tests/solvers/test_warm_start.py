"""A warm start: the answer of a cold one, from wherever it begins, and sooner where the beginning is near."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ORDINARY, SEEDS, random, symmetric_matrices

import ldssc
from ldssc import InputError, Result, project
from ldssc.datasets import iris
from ldssc.solvers import SOLVERS

X = iris().X[::3]
OURS = tuple(name for name in SOLVERS if name != "conic")
GENERAL = ("auto", "accelerated", "splitting")
ours = pytest.mark.parametrize("solver", OURS)
TOL = {"ld-ssc1": 5e-2, "ld-ssc2": 1e-2}


def affinity(width: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return ldssc.gaussian_affinity(X, width * ldssc.median_distance(X))


def near(one: Result, two: Result) -> None:
    apart = float(np.linalg.norm(one.F - two.F))
    allowed = [result.certificate.distance * float(np.linalg.norm(result.F)) for result in (one, two)]
    assert apart <= sum(allowed) * (1 + 1e-9) + 1e-13


@ours
def test_the_answer_is_that_of_a_cold_start(solver: str) -> None:
    options: dict[str, Any] = {"solver": solver, "tol": TOL.get(solver, 1e-4)}
    before, K = project(affinity(0.8), **options), affinity(0.9)
    cold, warm = project(K, **options), project(K, start=before, **options)
    assert cold.solved
    assert warm.solved
    near(cold, warm)
    assert warm.certificate == ldssc.certify(warm.F, K, warm.u, warm.Q, warm.Z)
    assert warm.history[0].note == "warm start"


@ours
@settings(max_examples=10)
@given(symmetric_matrices(ORDINARY, largest=8), SEEDS, st.sampled_from(OURS))
def test_any_answer_of_the_same_size_will_do(solver: str, K: Any, seed: int, other: str) -> None:
    """Of another solver and of a problem that has nothing to do with this one."""
    start = project(random(np.random.default_rng(seed), len(K)), solver=other, tol=1e-2, max_iter=20)
    cold = project(K, tol=1e-3, max_iter=300)
    warm = project(K, solver=solver, tol=1e-2, max_iter=30, start=start)
    near(cold, warm)
    assert warm.certificate == ldssc.certify(warm.F, K, warm.u, warm.Q, warm.Z)


@ours
def test_its_own_answer_is_proven_without_a_step(solver: str) -> None:
    K, tol = affinity(0.9), TOL.get(solver, 1e-3)
    first = project(K, solver=solver, tol=tol)
    again = project(K, solver=solver, tol=tol, start=first)
    assert again.solved
    assert again.n_iter == 0
    assert again.n_eig < 10 < first.n_eig


@ours
def test_a_sharper_tolerance_needs_less_from_there(solver: str) -> None:
    K, tol = affinity(0.9), TOL.get(solver, 1e-3)
    rough = project(K, solver=solver, tol=2 * tol)
    cold = project(K, solver=solver, tol=tol)
    warm = project(K, solver=solver, tol=tol, start=rough)
    assert warm.solved
    assert warm.n_eig <= cold.n_eig


@pytest.mark.parametrize("solver", GENERAL)
def test_a_sweep_over_kernel_widths_gains(solver: str) -> None:
    flowers, widths = iris().X[::2], np.linspace(0.85, 1.15, 10)
    scale = ldssc.median_distance(flowers)
    before: Result | None = None
    work = {"cold": 0, "warm": 0}
    tol = 3e-3 if solver == "accelerated" else 1e-2  # at 1e-2 a third of its work are the proofs
    for width in widths * scale:
        K = ldssc.gaussian_affinity(flowers, width)
        cold = project(K, solver=solver, tol=tol)
        before = project(K, solver=solver, tol=tol, start=before)
        near(cold, before)
        work["cold"] += cold.n_eig
        work["warm"] += before.n_eig
    assert work["warm"] <= 0.8 * work["cold"]


@pytest.mark.parametrize("solver", GENERAL)
@pytest.mark.parametrize("kinds", [(False, True), (True, False), (True, True)])
def test_weights_and_trace_of_the_start_may_differ(solver: str, kinds: tuple[bool, bool]) -> None:
    """A start is a guess: its τ is not taken where no trace is prescribed, and no proof rests on it."""
    rng = np.random.default_rng(1)
    K, w = random(rng, 8), np.exp(rng.normal(size=8))
    options = [{"weights": w, "trace": 2.5} if kind else {} for kind in kinds]
    start = project(K, tol=1e-3, solver=solver, **options[0])  # type: ignore[arg-type]
    cold = project(K, tol=1e-3, solver=solver, **options[1])  # type: ignore[arg-type]
    warm = project(K, tol=1e-3, solver=solver, start=start, **options[1])  # type: ignore[arg-type]
    assert cold.solved
    assert warm.solved
    near(cold, warm)
    claim = ldssc.certify(warm.F, K, warm.u, warm.Q, warm.Z, tau=warm.tau, **options[1])  # type: ignore[arg-type]
    assert claim.distance <= 1e-3 * (1 + 1e-9)
    assert warm.tau == 0 or kinds[1]


def test_the_start_is_not_changed() -> None:
    start = project(affinity(0.8), tol=1e-2)
    before = [part.copy() for part in (start.F, start.u, start.Q, start.Z)]
    project(affinity(0.9), tol=1e-3, start=start)
    for part, copy in zip((start.F, start.u, start.Q, start.Z), before, strict=True):
        np.testing.assert_array_equal(part, copy)


@pytest.mark.parametrize("status", [{"max_iter": 1}, {"time_limit": 1e-9}])
def test_limits_are_obeyed_from_a_warm_start_too(status: dict[str, Any]) -> None:
    start = project(affinity(0.8), tol=1e-1)
    result = project(affinity(0.9), tol=1e-9, start=start, **status)
    assert not result.solved
    assert result.n_iter <= 1
    assert np.isfinite(result.certificate.distance)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": project(np.eye(3))}, "start is the answer for 3 rows, and K has 50; they must be equal"),
        ({"start": np.eye(50)}, "start must be a Result of ldssc.project, and is of type ndarray"),
        ({"start": "result.npz"}, "start must be a Result of ldssc.project, and is of type str"),
        ({"start": project(np.eye(50)), "solver": "conic"}, "solver 'conic' takes no start"),
        ({"start": project(np.eye(50)), "solver": "ld-ssc2", "paper": True}, "paper=True takes no start"),
        ({"start": replace(project(np.eye(50)), Z=np.full((50, 50), np.nan))}, "start is no answer: it holds NaN"),
        ({"start": replace(project(np.eye(50)), Q=-np.ones((50, 50)))}, "start is no answer: .* a negative Q"),
    ],
)
def test_a_start_that_cannot_be_used_is_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        project(affinity(0.9), callback=lambda _: pytest.fail("the work was done"), **options)
