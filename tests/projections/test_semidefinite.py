"""The projection on S+, and on the semidefinite matrices with given rows (5), by what a nearest point must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from hypothesis import given
from projections.common import examples, few, matrices, ordinary, size
from strategies import (
    SEEDS,
    random,
    random_feasible,
)

from ldssc.projections import (
    center,
    eigen,
    eigh,
    gram,
    project_semidefinite,
    row_shift,
    split,
    spread,
)

Array = np.ndarray[Any, np.dtype[np.float64]]


# --- the cone S+


@examples
@given(matrices)
def test_split_gives_two_orthogonal_semidefinite_parts_of_A(A: Array) -> None:
    plus, minus, values = split(A)
    scale = 1e-13 * np.linalg.norm(A) + 1e-300
    assert np.abs(plus - minus - A).max() <= scale
    assert la.eigvalsh(plus)[0] >= -scale
    assert la.eigvalsh(minus)[0] >= -scale
    assert np.linalg.norm(plus @ minus) <= scale * (1 + np.linalg.norm(A))
    np.testing.assert_allclose(values, la.eigvalsh(A), atol=scale)
    np.testing.assert_array_equal(plus, plus.T)
    np.testing.assert_array_equal(minus, minus.T)


@pytest.mark.parametrize("shift", [-3.0, 3.0], ids=["mostly negative", "mostly positive"])
def test_split_takes_either_side_and_both_agree(shift: float) -> None:
    A = random(np.random.default_rng(4), 9) + shift * np.eye(9)
    w, U = np.linalg.eigh(A)
    np.testing.assert_allclose(split(A).plus, (U * np.maximum(w, 0)) @ U.T, atol=1e-13)
    np.testing.assert_allclose(split(A).minus, (U * np.maximum(-w, 0)) @ U.T, atol=1e-13)


def test_split_uses_the_eigendecomposition_it_is_given_once() -> None:
    calls = []

    def counted(A: Array, /) -> tuple[Array, Array]:
        calls.append(A)
        return eigh(A)

    split(np.diag([1.0, -1.0]), counted)
    project_semidefinite(np.eye(3), counted)
    assert len(calls) == 2


def test_eigh_falls_back_to_the_slower_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    real = la.eigh

    def fails_fast(A: Array, driver: str, check_finite: bool) -> tuple[Array, Array]:
        if driver == "evd":
            raise la.LinAlgError("no convergence")
        return real(A, driver=driver, check_finite=check_finite)

    monkeypatch.setattr(eigen.la, "eigh", fails_fast)
    w, U = eigh(np.diag([2.0, 1.0]))
    np.testing.assert_allclose(w, [1, 2])
    np.testing.assert_allclose(np.abs(U), [[0, 1], [1, 0]])


def test_gram_is_symmetric_to_the_last_bit() -> None:
    V = np.random.default_rng(0).normal(size=(40, 7))
    np.testing.assert_array_equal(gram(V), gram(V).T)
    np.testing.assert_allclose(gram(V), V @ V.T, rtol=1e-13, atol=1e-13)


# --- the affine set F1 = 1, with and without F ⪰ 0 (5)


@examples
@given(matrices)
def test_center_is_PAP_and_row_shift_projects_on_unit_rows(A: Array) -> None:
    n = len(A)
    P = np.eye(n) - 1 / n
    scale = 1e-13 * size(A)
    assert np.abs(center(A) - P @ A @ P).max() <= scale
    np.testing.assert_array_equal(center(A), center(A).T)
    assert np.abs((A + spread(row_shift(A))).sum(axis=1) - 1).max() <= n * scale
    assert np.abs(A + spread(row_shift(A)) - (center(A) + 1 / n)).max() <= scale


@examples
@given(matrices, SEEDS)
def test_semidefinite_projection_satisfies_its_optimality_conditions(A: Array, seed: int) -> None:
    """F = A + M + Z, F1 = 1, F ⪰ 0, Z ⪰ 0, ⟨F, Z⟩ = 0 characterise the projection (5); then ⟨A − F, Y − F⟩ ≤ 0."""
    F, u, Z, _ = project_semidefinite(A)
    scale = 1e-12 * size(A)
    assert np.abs(F - (A + spread(u) + Z)).max() <= scale
    assert np.abs(F.sum(axis=1) - 1).max() <= scale
    assert la.eigvalsh(F)[0] >= -scale
    assert la.eigvalsh(Z)[0] >= -scale
    assert abs((F * Z).sum()) <= scale * size(A)
    np.testing.assert_array_equal(F, F.T)
    np.testing.assert_array_equal(Z, Z.T)
    Y = random_feasible(np.random.default_rng(seed), len(A))
    assert ((A - F) * (Y - F)).sum() <= scale * size(A)


@few
@given(ordinary)
def test_semidefinite_projection_is_idempotent(A: Array) -> None:
    F = project_semidefinite(A).F
    assert np.abs(project_semidefinite(F).F - F).max() <= 1e-12 * size(A)
