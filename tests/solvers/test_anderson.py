"""Anderson acceleration: what it is exact for, and what it must survive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldssc.solvers.anderson import Anderson

Array = np.ndarray[Any, np.dtype[np.float64]]


def test_an_affine_contraction_of_few_dimensions_is_solved_in_as_many_steps() -> None:
    """With two eigenvalues, three steps reach the fixed point to what single precision keeps."""
    n, rng = 12, np.random.default_rng(0)
    goal = rng.normal(size=(n, n))
    goal += goal.T
    split = np.add.outer(np.arange(n), np.arange(n)) % 2

    def residual(W: Array) -> Array:
        return np.where(split, 0.05, 0.6) * (goal - W)

    anderson, W = Anderson(n, 5), np.zeros((n, n))
    for _ in range(4):
        W = anderson.step(W, residual(W))
    assert np.linalg.norm(W - goal) <= 1e-4 * np.linalg.norm(goal)
    np.testing.assert_array_equal(W, W.T)
    plain = np.zeros((n, n))
    for _ in range(4):
        plain = plain + residual(plain)
    assert np.linalg.norm(plain - goal) >= 0.3 * np.linalg.norm(goal)


def test_a_system_that_cannot_be_solved_gives_the_plain_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: Any) -> Array:
        raise np.linalg.LinAlgError

    anderson, R = Anderson(3, 2), np.eye(3)
    W = anderson.step(np.zeros((3, 3)), R)
    monkeypatch.setattr(np.linalg, "solve", singular)
    np.testing.assert_array_equal(anderson.step(W, 0.5 * R), W + 0.5 * R)


def test_steps_that_stand_still_are_taken_as_they_are() -> None:
    anderson, W, R = Anderson(4, 3), np.eye(4), np.zeros((4, 4))
    for _ in range(5):
        np.testing.assert_array_equal(anderson.step(W, R), W)
