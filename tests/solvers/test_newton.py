"""Newton on Z, and which way `auto` takes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from strategies import gaussian, minus_distances, mirrored, random, zero_diagonal

from ldssc.exceptions import InputError
from ldssc.face import Face
from ldssc.problem import Problem
from ldssc.solvers import Status, base, project
from ldssc.solvers.newton import _inner, _Step, _System, conjugate_gradients, evaluate
from ldssc.solvers.splitting import Splitting

Array = np.ndarray[Any, np.dtype[np.float64]]


def points(seed: int, n: int = 40) -> Array:
    """A matrix whose Z is not zero and of low rank."""
    return 3 * minus_distances(np.random.default_rng(seed), n)


def notes(result: Any) -> str:
    return "; ".join(record.note for record in result.history)


@pytest.fixture
def step() -> _Step:
    """A Newton step near the solution of a small problem."""
    K = random(np.random.default_rng(5), 14)
    near = project(K, solver="splitting", tol=1e-2)
    at = evaluate(Problem(K), near.Z, None)
    step = _Step(at, *np.linalg.eigh(at.Z - at.F))
    assert 0 < step.r < 14
    return step


def test_merit_has_gradient_f(step: _Step) -> None:
    K = random(np.random.default_rng(5), 14)
    D = mirrored(np.random.default_rng(1).normal(size=K.shape))
    t = 1e-5
    ahead, behind = (evaluate(Problem(K), step.at.Z + sign * t * D, None).h for sign in (1, -1))
    assert (ahead - behind) / (2 * t) == pytest.approx(float(np.vdot(step.at.F, D)), rel=1e-4, abs=1e-6)


def test_system_is_the_compressed_projection_plus_damping(step: _Step) -> None:
    """Against the n x n matrices that its coordinates stand for."""
    n, r, rng = len(step.U), step.r, np.random.default_rng(2)
    damping = rng.uniform(size=(n, r))
    damping[-r:] = 0.25
    face = Face(step.at.F)
    system = _System(face, step.U, damping)
    Y = rng.normal(size=(n, r))
    Y[-r:] = (Y[-r:] + Y[-r:].T) / 2
    full = np.zeros((n, n))
    full[:, n - r :] = Y
    full[n - r :, :] = Y.T
    expected = step.U.T @ face.project(step.U @ full @ step.U.T) @ step.V + damping * Y
    np.testing.assert_allclose(system.apply(Y), expected, atol=1e-8)


def test_inner_product_of_coordinates_is_that_of_the_matrices() -> None:
    n, r = 7, 3
    pairs = []
    for seed in range(2):
        full = random(np.random.default_rng(seed), n)
        full[: n - r, : n - r] = 0
        pairs.append((full, full[:, n - r :]))
    (A, a), (B, b) = pairs
    assert _inner(a, b) == pytest.approx(float(np.vdot(A, B)), rel=1e-12)


def test_conjugate_gradients_solve_the_system(step: _Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ldssc.solvers.newton"], "_CG_STEPS", 500)
    rng, (n, r) = np.random.default_rng(2), (len(step.U), step.r)
    damping = np.full((n, r), 0.1)
    system = _System(Face(step.at.F), step.U, damping)
    right = rng.normal(size=(n, r))
    right[-r:] = (right[-r:] + right[-r:].T) / 2
    Y = conjugate_gradients(system, right, 1e-8)
    np.testing.assert_allclose(system.apply(Y), right, atol=1e-5)


def test_lift_of_no_step_is_the_semidefinite_part_of_z_on_its_coordinates(step: _Step) -> None:
    step.solve(1e-3, 0.1, np.float64)
    step.Y = np.zeros_like(step.Y)
    n, r = len(step.U), step.r
    full = np.zeros((n, n))
    full[:, n - r :] = step.U.T @ step.at.Z @ step.V
    full[n - r :, :] = full[:, n - r :].T
    w, E = np.linalg.eigh(step.U @ full @ step.U.T)
    np.testing.assert_allclose(step.lift(1.0), E @ np.diag(np.maximum(w, 0)) @ E.T, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_goes_downhill(step: _Step, dtype: Any) -> None:
    step.solve(1e-3, 0.1, dtype)
    assert evaluate(Problem(random(np.random.default_rng(5), 14)), step.lift(1.0), None).h < step.at.h


@pytest.mark.parametrize("seed", range(4))
def test_newton_proves_six_digits(seed: int) -> None:
    result = project(points(seed), solver="newton", tol=1e-6, max_iter=300)
    assert result.solved, result


@pytest.mark.parametrize("options", [{"weights": [1.0, 2.0, 3.0]}, {"trace": 2.0}])
def test_newton_refuses_weights_and_trace(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="solver 'newton' knows neither weights nor trace"):
        project(np.eye(3), solver="newton", **options)


def test_steps_that_are_not_finite_fall_back_on_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any, right: Array, __: float) -> Array:
        return np.full_like(right, np.nan)

    monkeypatch.setattr(sys.modules["ldssc.solvers.newton"], "conjugate_gradients", fails)
    result = project(random(np.random.default_rng(0), 20), solver="newton", tol=1e-8, max_iter=60)
    assert result.status in (Status.SOLVED, Status.MAX_ITER)
    assert "back to splitting: no more progress" in notes(result)


def test_auto_says_why_it_goes_on_by_newton() -> None:
    result = project(random(np.random.default_rng(0), 20), tol=1e-9, max_iter=40)
    assert result.history[0].note == "free exits (9) and (10)"
    assert "then Newton" in notes(result) or "too heavy" in notes(result)


def test_auto_stays_with_splitting_where_z_is_heavy() -> None:
    K = zero_diagonal(np.random.default_rng(1), 40)
    result = project(K, tol=1e-9, max_iter=40)
    assert "too heavy for Newton" in notes(result)
    assert "then Newton" not in notes(result)


@pytest.mark.parametrize("options", [{"weights": np.arange(1.0, 21)}, {"trace": 3.0}])
def test_auto_stays_with_splitting_for_weights_and_trace(options: dict[str, Any]) -> None:
    result = project(random(np.random.default_rng(0), 20), tol=1e-9, max_iter=40, **options)
    assert "splitting: weights or trace are given" in notes(result)


def test_sigma_rises_where_z_is_heavy() -> None:
    sigmas = []
    for K in (zero_diagonal(np.random.default_rng(1), 40), gaussian(np.random.default_rng(1), 40)):
        iteration = Splitting(base.Run(Problem(K), 1e-9))
        for _ in range(70):
            iteration.step()
        sigmas.append((iteration.heavy, iteration.sigma))
    assert sigmas[0][0]
    assert sigmas[0][1] >= 80
    assert not sigmas[1][0]
