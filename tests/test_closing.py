"""A proof without decompositions holds as the others do: for any Z, whatever it was made from, and for single precision."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from auditor import audited_distance, rounding_of_auditor, true_distance
from exact.load import ExactCase, load_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ORDINARY, SEEDS, mirrored, symmetric_matrices

from ldssc.blocks import Rows, row_blocks, symmetrise
from ldssc.closing import Closing, close, mend, proven, single
from ldssc.problem import Problem, lowest_eigenvalue
from ldssc.projections import project_doubly_stochastic
from ldssc.solvers.lean import Given

Array = np.ndarray[Any, np.dtype[np.float64]]
CASES = [case for case in load_cases() if np.abs(case.K).max() <= 100]


def closing_of(K: Array, Z: Array) -> Closing:
    kernel = Given(Z).kernel()
    return close(K, kernel.Z, kernel.missed)


def semidefinite(rng: np.random.Generator, n: int, size: float) -> Array:
    B = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    return mirrored(size * (B @ B.T) / n)


def assert_feasible(F: Array) -> None:
    np.testing.assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12
    assert np.linalg.eigvalsh(F)[0] >= -1e-14


@settings(max_examples=150)
@given(symmetric_matrices(ORDINARY, largest=15), SEEDS, st.sampled_from([0.0, 1e-8, 0.3, 30.0]))
def test_closing_is_feasible_and_the_auditor_confirms_it(K: Array, seed: int, size: float) -> None:
    closing = closing_of(K, semidefinite(np.random.default_rng(seed), len(K), size))
    F, u, Q, Z = closing.F, closing.u, closing.write_signs(), closing.Z
    assert_feasible(F)
    assert Q.min() >= 0
    np.testing.assert_array_equal(Q, Q.T)
    audit, noise = audited_distance(F, K, u, Q, Z), rounding_of_auditor(F, K, u, Q, Z)
    assert audit <= closing.distance + rounding_of_auditor(F, K, u, Q, Z, np.longdouble)
    assert closing.distance <= 2 * audit + noise + 1e-7 * np.sqrt(1 + np.linalg.norm(Z) + np.linalg.norm(K))
    assert closing.dual == pytest.approx(Problem(K).dual_value(u, Q, Z), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("size", [0.0, 0.1, 3.0])
def test_claim_is_never_below_the_true_distance(case: ExactCase, size: float) -> None:
    """Also at Z that are nearly right: the exact one's negative part, and noise."""
    rng = np.random.default_rng(len(case.name))
    exact = np.asarray(case.F, float)
    u = project_doubly_stochastic(case.K).u
    guess = exact - case.K - (u[:, None] + u[None, :])
    for Z in (semidefinite(rng, len(case.K), size), mirrored(guess + size * 1e-3 * rng.normal(size=guess.shape))):
        w, U = np.linalg.eigh(Z)
        closing = closing_of(case.K, mirrored((U * np.maximum(w, 0)) @ U.T))
        assert closing.distance >= true_distance(closing.F, case.F, case.F_low)
        rounded, certificate = single(closing)
        assert certificate.distance >= true_distance(rounded.F, case.F, case.F_low)


@settings(max_examples=60)
@given(symmetric_matrices(ORDINARY, largest=12), SEEDS)
def test_a_z_that_is_not_semidefinite_is_lifted_or_paid_for(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z = mirrored(rng.normal(size=K.shape)) * rng.choice([1e-9, 1.0])
    kernel = Given(Z).kernel()
    negative = np.minimum(np.linalg.eigvalsh(kernel.Z), 0)
    assert np.linalg.norm(negative) <= kernel.missed + 1e-16 * np.linalg.norm(kernel.Z)


def test_what_z_misses_of_being_semidefinite_must_be_priced() -> None:
    """K = 2F: with Z = −F all of (12a) vanishes at F, but F is not the answer (16), and Z is no multiplier."""
    n = 6
    F, zero = 0.4 * np.eye(n) + 0.6 / n, np.zeros((n, n))
    answer = 0.8 * np.eye(n) + 0.2 / n
    distance = float(np.linalg.norm(F - answer) / np.linalg.norm(F))
    unpriced = proven(Closing(2 * F, F, np.zeros(n), -F, 0.0, zero))
    priced = proven(Closing(2 * F, F, np.zeros(n), -F, float(np.linalg.norm(F)), zero))
    assert unpriced.distance < 1e-6 < distance <= priced.distance


@settings(max_examples=80)
@given(symmetric_matrices(ORDINARY, largest=15))
def test_mended_matrix_is_feasible(K: Array) -> None:
    F = project_doubly_stochastic(K).F
    mend(F, lowest_eigenvalue(F) - 1e-15 * len(F))
    assert_feasible(F)


@pytest.mark.parametrize("make", [torch.tensor, array_api_strict.asarray], ids=["torch", "strict"])
def test_other_libraries_prove_the_same_with_their_own_rounding(make: Any) -> None:
    rng = np.random.default_rng(0)
    K = mirrored(rng.normal(size=(25, 25)))
    Z = semidefinite(rng, 25, 1.0)
    here, there = closing_of(K, Z), closing_of(make(K), make(Z))
    assert type(there.F) is type(make(K))
    assert there.distance == pytest.approx(here.distance, rel=1e-6)
    rounded, certificate = single(there)
    assert "float32" in str(rounded.F.dtype)
    assert certificate.distance == pytest.approx(single(here)[1].distance, rel=1e-3)


def test_single_precision_says_what_it_costs() -> None:
    rng = np.random.default_rng(1)
    K = mirrored(rng.normal(size=(12, 12)))
    closing = closing_of(K, semidefinite(rng, 12, 1.0))
    rounded, certificate = single(closing)
    for part in (rounded.F, rounded.u, rounded.Q, rounded.Z):
        assert part is not None
        assert part.dtype == np.float32
    assert certificate.distance > closing.distance
    assert certificate.row_sum > 1e-9
    assert f"{closing.distance:.2e}" in certificate.note


def test_rounding_of_z_is_priced() -> None:
    """A singular Z is not semidefinite any more when it is rounded."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        V = rng.normal(size=(15, 2))
        rounded, _ = single(closing_of(mirrored(rng.normal(size=(15, 15))), mirrored(V @ V.T)))
        negative = np.minimum(np.linalg.eigvalsh(rounded.Z.astype(float)), 0)
        assert 1e-9 < np.linalg.norm(negative) <= rounded.missed


# --- the passes beneath it


@settings(max_examples=40)
@given(symmetric_matrices(ORDINARY, largest=20), st.booleans(), SEEDS)
def test_rows_in_passes_are_the_projection(K: Array, weighted: bool, seed: int) -> None:
    s = np.sqrt(np.random.default_rng(seed).uniform(0.5, 2, len(K))) if weighted else None
    F = project_doubly_stochastic(K, s=s).F
    B = K.copy()
    dual = Rows(B, s)
    found = dual.write(dual.solve(None))
    assert found is B
    np.testing.assert_allclose(found, F, atol=1e-8)


def test_passes_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    A = np.random.default_rng(0).normal(size=(50, 50))
    monkeypatch.setattr("ldssc.blocks._IN_CACHE", 50 * 7)
    assert [block.stop - block.start for block in row_blocks(A)] == [7] * 7 + [1]
    B = A.copy()
    symmetrise(B)
    np.testing.assert_array_equal(B, (A + A.T) / 2)
    K = mirrored(A)
    blocks = closing_of(K, np.eye(50))
    monkeypatch.setattr("ldssc.blocks._IN_CACHE", 10**6)
    whole = closing_of(K, np.eye(50))
    assert blocks.distance == pytest.approx(whole.distance, rel=1e-9)
    np.testing.assert_allclose(blocks.F, whole.F, atol=1e-12)
