"""No partition beats a bound: against all of them, for any Q >= 0; and against eigenvalues in many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import all_costs, partition_matrix, partitions
from scipy.linalg import block_diag

from ldssc.proofs import bounds, objectives
from ldssc.proofs.bounds import Piece, largest_sum, low_rank_bound, partition_bound

KINDS = ("kmeans", "kernel", "normalized-cut")


def pose(kind: str, data: np.ndarray, w: np.ndarray | None) -> objectives.Objective:
    return {"kmeans": objectives.KMeans, "kernel": objectives.Kernel, "normalized-cut": objectives.Cut}[kind](data, w)


def draw(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Points or affinities of many kinds: spread, clustered, repeated, far from the origin, huge and tiny."""
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.5:
        X += rng.integers(0, 3, size=(n, 1)) * rng.choice([2.0, 20.0])
    if rng.random() < 0.3:
        X[rng.integers(0, n, size=2)] = X[0]
    X *= rng.choice([1e-6, 1.0, 1.0, 1e5])
    if kind == "kmeans":
        return X + rng.choice([0.0, 0.0, 1e3])
    if kind == "kernel":
        return (X @ X.T + (X @ X.T).T) / 2 if rng.random() < 0.6 else np.subtract(B := rng.normal(size=(n, n)), -B.T)
    B = rng.uniform(size=(n, n)) * (rng.random((n, n)) < 0.7)
    return B + B.T + rng.choice([0.0, 1.0]) * np.eye(n) + 1e-3


@settings(max_examples=250)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 8),
    weighted=st.booleans(),
    size=st.sampled_from([0.0, 0.01, 0.3, 1.0]),
)
def test_no_partition_costs_less_than_the_bound_of_any_nonnegative_q(
    seed: int, kind: str, n: int, weighted: bool, size: float
) -> None:
    rng = np.random.default_rng(seed)
    data = draw(rng, kind, n)
    w = rng.choice([0.3, 1.0, 2.0, 7.0], size=n) if weighted else None
    problem = pose(kind, data, w)
    k = int(rng.integers(1, min(n, 4) + 1))
    Q = rng.exponential(size=(n, n)) * (rng.random((n, n)) < 0.5)
    C = problem.A + size * np.abs(problem.A).max() * (Q + Q.T) / 4
    bound = objectives.dense_bound(problem, C, k)
    costs = all_costs(kind, data - data.mean(axis=0) if kind == "kmeans" else data, np.ones(n) if w is None else w, k)
    noise = 1e-12 * (np.abs(costs).max() + np.abs(problem.A).max())
    assert bound <= costs.min() + noise
    if k == 1 and size == 0:  # there is one partition
        assert bound == pytest.approx(costs.min(), abs=1e-9 * (np.abs(problem.A).sum() + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_ten_points_in_four_groups(kind: str) -> None:
    rng = np.random.default_rng(3)
    data = draw(rng, kind, 10)
    problem = pose(kind, data, None)
    assert len(partitions(10, 4)) == 34105  # Stirling's number
    bound = objectives.dense_bound(problem, problem.A, 4)
    assert bound <= all_costs(kind, data, np.ones(10), 4).min()


@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_is_that_of_the_definition(kind: str) -> None:
    rng = np.random.default_rng(5)
    data, w = draw(rng, kind, 7), rng.uniform(0.5, 2, 7)
    problem = pose(kind, data, w)
    expected = all_costs(kind, data, w, 3)
    got = [problem.cost(labels) for labels in partitions(7, 3)]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def exact_sum(C: np.ndarray, m: int, s: np.ndarray | None) -> mpmath.mpf:
    """The sum of the m largest eigenvalues on the complement of s, in 40 digits."""
    with mpmath.workdps(40):
        M = mpmath.matrix(C.tolist())
        if s is not None:
            v = mpmath.matrix(s.tolist())
            P = mpmath.eye(len(C)) - v * v.T / mpmath.fdot(v, v)
            M = P * M * P - 10**6 * v * v.T
        return mpmath.fsum(sorted(mpmath.eigsy(M, eigvals_only=True), reverse=True)[:m])


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 7), weighted=st.booleans(), scale=st.sampled_from([1e-9, 1, 1e9])
)
def test_a_sum_of_eigenvalues_is_never_below_the_exact_one(seed: int, n: int, weighted: bool, scale: float) -> None:
    rng = np.random.default_rng(seed)
    B = rng.integers(-4, 5, size=(n, n)) if rng.random() < 0.4 else rng.normal(size=(n, n))
    C = (B + B.T) * float(rng.choice([1, 0.01]))
    s = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    m = int(rng.integers(1, n))
    found, exact = largest_sum(C, m, s), exact_sum(C, m, s)
    assert exact <= found <= exact + 1e-11 * (1 + np.abs(C).sum())
    assert largest_sum(scale * C, m, s) == pytest.approx(scale * found, rel=1e-9, abs=1e-11 * scale)


def test_wrong_eigenpairs_make_the_bound_blunt_and_never_wrong() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(30, 30))
    C = B + B.T
    true = largest_sum(C, 3)
    for trial in range(20):
        w, V = rng.normal(size=4), rng.normal(size=(30, 4))
        w, V = (w, V) if trial % 2 else (np.zeros(4), np.linalg.qr(V)[0])
        assert largest_sum(C, 3, pairs=bounds.Pairs(np.sort(w)[::-1], V)) >= true - 1e-9


def test_few_eigenpairs_of_a_large_matrix_are_proven_as_well_as_all() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6)) * [9, 7, 5, 3, 2, 1]
    C = X @ X.T
    C = (C + C.T) / 2
    s = rng.uniform(0.5, 2, 400)
    e = s / np.linalg.norm(s)
    w = np.linalg.eigvalsh((np.eye(400) - np.outer(e, e)) @ C @ (np.eye(400) - np.outer(e, e)))[::-1]
    assert w[:4].sum() * (1 - 1e-12) <= largest_sum(C, 4, s) <= w[:4].sum() * (1 + 1e-8)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), weighted=st.booleans())
def test_a_thin_factor_proves_what_its_matrix_proves(seed: int, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 6))
    cut = int(rng.integers(1, n))
    scale = 10.0 ** rng.integers(-6, 7)
    s = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    left, right = rng.normal(size=(cut, r)) * scale, rng.exponential(size=(n - cut, 2)) * scale
    S = rng.normal(size=(r + 2, r + 2))
    S = S + S.T
    pieces = [Piece(np.arange(r), left, s[:cut]), Piece(np.arange(r, r + 2), right, s[cut:])]
    F = block_diag(left, right)
    k = int(rng.integers(1, min(n, 5) + 1))
    thin, dense = low_rank_bound(pieces, S, k), partition_bound(F @ S @ F.T, k, s)
    size = float(np.abs(F @ S @ F.T).sum()) * 1e-10
    assert dense <= thin + size  # the thin bound takes negative eigenvalues for zero
    e = s / np.linalg.norm(s)
    C = F @ S @ F.T
    w = np.linalg.eigvalsh((np.eye(n) - np.outer(e, e)) @ C @ (np.eye(n) - np.outer(e, e)))[::-1]
    assert thin <= e @ C @ e + np.maximum(w[: k - 1], 0).sum() + size


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_clipped_bound_holds_for_partitions_that_cut_through_merged_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(4, 4)) - rng.choice([0.0, 3.0]) * np.eye(4)
    C, counts = B + B.T, rng.integers(1, 3, size=4)
    s = np.sqrt(counts)
    Z = np.repeat(np.eye(4), counts, axis=0) / s  # orthonormal: averages over merged points
    n = len(Z)
    k = int(rng.integers(1, min(n, 4) + 1))
    bound = partition_bound(C, k, s, clip=True)
    for codes in partitions(n, k):
        G = partition_matrix(codes, np.ones(n))
        assert np.vdot(C, Z.T @ G @ Z) <= bound + 1e-9
