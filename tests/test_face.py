"""The face of D at F: its projection, and landings on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ORDINARY, SEEDS, gaussian, minus_distances, mirrored, random, symmetric_matrices

from ldssc import project
from ldssc.face import Face, land, land_point, move_onto, pairs_within
from ldssc.problem import Point, Problem
from ldssc.projections import project_doubly_stochastic
from ldssc.solvers import sharpen

Array = np.ndarray[Any, np.dtype[np.float64]]
few = settings(max_examples=30)
doubly_stochastic = st.builds(lambda K: project_doubly_stochastic(K).F, symmetric_matrices(ORDINARY, largest=9))


def least_squares_projection(Y: Array, S: Array) -> Array:
    """The nearest symmetric matrix to Y on the support S with zero rows, by a basis of entries."""
    n = len(Y)
    i, j = np.nonzero(np.triu(S))
    rows = np.zeros((n, len(i)))
    rows[i, np.arange(len(i))] = rows[j, np.arange(len(i))] = 1
    root = np.where(i == j, 1.0, np.sqrt(2))  # an off-diagonal entry counts twice
    C = rows / root
    y = Y[i, j] * root
    y = (y - np.linalg.pinv(C) @ (C @ y)) / root
    E = np.zeros((n, n))
    E[i, j] = E[j, i] = y
    return E


def case(seed: int, n: int = 12) -> tuple[Array, Array]:
    """A feasible circulant band matrix with FV = 0, moved a little along its face; and V.

    Its eigenvalues are ((cos θ − cos α)/(1 − cos α))², zero at θ = ±α, α = 2π/3.
    """
    angle = 2 * np.pi * (n // 3) / n
    column = np.zeros(n)
    column[[0, 1, 2, -1, -2]] = np.array([0.5 + np.cos(angle) ** 2, -np.cos(angle), 0.25, -np.cos(angle), 0.25])
    column /= (1 - np.cos(angle)) ** 2
    F = column[(np.arange(n)[:, None] - np.arange(n)[None, :]) % n]
    V = np.column_stack([np.cos(angle * np.arange(n)), np.sin(angle * np.arange(n))]) * np.sqrt(2 / n)
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-14
    assert np.abs(F @ V).max() <= 1e-14
    return F + Face(F).project(1e-3 * random(np.random.default_rng(seed), n)), V


@few
@given(doubly_stochastic, SEEDS)
def test_operator_is_the_least_squares_projection_on_the_face(F: Array, seed: int) -> None:
    Y = mirrored(np.random.default_rng(seed).normal(size=F.shape))
    np.testing.assert_allclose(Face(F).project(Y), least_squares_projection(Y, F > 0), atol=1e-9)


@few
@given(doubly_stochastic, SEEDS)
def test_operator_is_idempotent_and_self_adjoint(F: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = (mirrored(rng.normal(size=F.shape)) for _ in range(2))
    face = Face(F)
    E = face.project(X)
    np.testing.assert_allclose(face.project(E), E, atol=1e-9)
    assert np.vdot(E, Y) == pytest.approx(np.vdot(X, face.project(Y)), abs=1e-8)
    assert (E[F == 0] == 0).all()
    assert np.abs(E.sum(axis=1)).max() <= 1e-9
    np.testing.assert_array_equal(E, E.T)


@pytest.mark.parametrize(("dtype", "allowed"), [(np.float64, 1e-6), (np.float32, 1e-3)])
@few
@given(F=doubly_stochastic, seed=SEEDS)
def test_compression_is_that_of_the_projection(F: Array, seed: int, dtype: Any, allowed: float) -> None:
    T, V = np.random.default_rng(seed).normal(size=(2, len(F), 3))
    B = Face(F, dtype).compress(T.astype(dtype), V.astype(dtype))
    np.testing.assert_allclose(B, Face(F).project(T @ V.T + V @ T.T) @ V, atol=allowed)


@few
@given(doubly_stochastic, SEEDS)
def test_gram_matrix_holds_the_inner_products_of_projected_pairs(F: Array, seed: int) -> None:
    U = np.random.default_rng(seed).normal(size=(len(F), 4))
    a, b = np.triu_indices(4)
    face = Face(F)
    P = [np.outer(U[:, k], U[:, m]) for k, m in zip(a, b, strict=True)]
    P = [p if k == m else p + p.T for p, k, m in zip(P, a, b, strict=True)]
    expected = [[np.vdot(face.project(p), q) for q in P] for p in P]
    np.testing.assert_allclose(face.gram(U, a, b), expected, atol=1e-5 * float(np.abs(U).max()) ** 4 * len(F) ** 2)


@pytest.mark.parametrize(("r", "most", "size"), [(3, 100, 3), (3, 6, 3), (5, 6, 3), (5, 2, 1), (4, 0, 0)])
def test_pairs_are_those_of_the_last_columns_within_the_allowed_number(r: int, most: int, size: int) -> None:
    a, b = pairs_within(r, most)
    pairs = {(k, m) for k, m in zip(a, b, strict=True)}
    wanted = range(r - size, r)
    assert pairs == {(k, m) for k in wanted for m in wanted if k >= m}


@pytest.mark.parametrize("block", [0.0, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_landing_kills_the_form_on_v_and_keeps_rows_and_zeros(
    seed: int, block: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldssc.face._BLOCK", block)
    F, V = case(seed)
    B = -(V.T @ F @ V)
    E = move_onto(F, V, (B + B.T) / 2)
    assert np.linalg.norm(V.T @ (F + E) @ V) <= 2e-3 * np.linalg.norm(B)
    assert (E[F == 0] == 0).all()
    assert np.abs(E.sum(axis=1)).max() <= 1e-13
    np.testing.assert_array_equal(E, E.T)


@pytest.mark.parametrize("seed", range(3))
def test_landing_is_the_smallest_move(seed: int) -> None:
    """Against least squares on the entries: minimise ‖E‖ on the face subject to VᵀEV = B."""
    F, V = case(seed)
    B = np.zeros((V.shape[1],) * 2)
    B[0, 0] = 1e-3
    E = move_onto(F, V, B)
    i, j = np.nonzero(np.triu(F))
    n, root = len(F), np.where(i == j, 1.0, np.sqrt(2))
    moves = np.zeros((len(i), n, n))
    moves[np.arange(len(i)), i, j] = moves[np.arange(len(i)), j, i] = 1 / root
    forms = np.stack([V.T @ move @ V for move in moves]).reshape(len(i), -1).T
    conditions = np.vstack([forms, moves.sum(axis=2).T])
    smallest = np.linalg.pinv(conditions) @ np.concatenate([B.ravel(), np.zeros(n)])
    np.testing.assert_allclose(E, np.tensordot(smallest, moves, axes=1), atol=2e-3 * np.linalg.norm(E))


@few
@given(symmetric_matrices(ORDINARY, largest=10), SEEDS)
def test_landings_are_feasible_wherever_they_start(K: Array, seed: int) -> None:
    W = np.random.default_rng(seed).normal(size=(len(K), 2))
    Z = mirrored(W @ W.T)
    for F in land(Problem(K), project_doubly_stochastic(K + Z).F, Z):
        assert F.min() >= 0
        assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12
        assert np.linalg.eigvalsh(F)[0] >= -1e-14
        np.testing.assert_array_equal(F, F.T)


def test_landing_sharpens_a_proof_near_the_solution() -> None:
    """(12b): what costs a root without it costs only itself."""
    K = minus_distances(np.random.default_rng(3), 40)
    near = project(K, solver="accelerated", tol=1e-3)
    point = Problem(K).close_doubly_stochastic(near.Z)
    before = np.vdot(point.F, point.Q + point.Z)
    landed = list(land_point(Problem(K), point))
    assert min(np.vdot(at.F, at.Q + at.Z) for at in landed) <= 0.2 * before


def test_nothing_lands_without_z_or_with_weights_or_a_trace() -> None:
    K, zero = gaussian(np.random.default_rng(0), 6), np.zeros((6, 6))
    point = Point(np.eye(6), np.zeros(6), zero, np.eye(6))
    assert list(land_point(Problem(K), point._replace(Z=zero))) == []
    assert list(land_point(Problem(K, np.full(6, 2.0)), point)) == []
    assert list(land_point(Problem(K, None, 2.0), point)) == []


@pytest.mark.parametrize("solver", ["splitting", "newton", "accelerated"])
def test_a_bad_landing_changes_nothing(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Landings are only offered: the proof takes the better one."""
    K = minus_distances(np.random.default_rng(6), 20)
    monkeypatch.setattr(sharpen, "land_point", lambda *_: [])
    without = project(K, solver=solver, tol=1e-9, max_iter=60)
    calls = []

    def identity(_: Problem, point: Point, __: Any) -> list[Point]:
        calls.append(1)
        return [point._replace(F=np.eye(20))]

    monkeypatch.setattr(sharpen, "land_point", identity)
    monkeypatch.setattr(sharpen, "_LANDING_RANGE", 1e9)
    monkeypatch.setattr(sharpen, "_LANDING_BELOW", 1e9)
    result = project(K, solver=solver, tol=1e-9, max_iter=60)
    assert calls
    assert result.certificate.distance == without.certificate.distance
    np.testing.assert_array_equal(result.F, without.F)


@pytest.mark.parametrize("solver", ["splitting", "newton"])
def test_a_bad_polish_changes_nothing(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Z is heavy the same holds for the polished matrix."""
    K = random(np.random.default_rng(3), 20)
    monkeypatch.setattr(sharpen, "polish", lambda _, F, __: F)
    without = project(K, solver=solver, tol=1e-7, max_iter=60)
    calls = []

    def identity(*_: Any) -> Array:
        calls.append(1)
        return np.eye(20)

    monkeypatch.setattr(sharpen, "polish", identity)
    monkeypatch.setattr(sharpen, "_POLISH_RANGE", 1e9)
    result = project(K, solver=solver, tol=1e-7, max_iter=60)
    assert calls
    assert result.certificate.distance == without.certificate.distance
    np.testing.assert_array_equal(result.F, without.F)
