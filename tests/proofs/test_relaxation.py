"""relax: G is feasible, the bound holds, tightness is one on partitions, answers move with the problem, runs can stop."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import partition_matrix, partitions
from strategies import ORDINARY, symmetric_matrices

import ldssc
from ldssc.projections import center, project_semidefinite
from ldssc.proofs import splitting
from ldssc.proofs.bounds import partition_bound
from ldssc.proofs.repair import feasible_value
from ldssc.proofs.rounding import fit_multiplier, group_sums, membership, rank_one_multiplier, targets
from ldssc.proofs.subspace import Subspace
from ldssc.solvers import Status


def gram(X: np.ndarray) -> np.ndarray:
    A = (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T
    return (A + A.T) / 2


def cloud(n: int, k: int, spread: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 10 * np.eye(k)[y] + spread * rng.normal(size=(n, k)), y


@settings(max_examples=60)
@given(A=symmetric_matrices(ORDINARY, smallest=2, largest=8), seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_g_is_feasible_and_no_partition_exceeds_the_bound(A: np.ndarray, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = len(A)
    w = rng.uniform(0.5, 3, n) if weighted else None
    s = np.ones(n) if w is None else np.sqrt(w)
    k = int(rng.integers(1, min(n, 4) + 1))
    result = ldssc.relax(A, k, weights=w, max_iter=60)
    G, proof = result.G, result.certificate
    np.testing.assert_allclose(G @ s, s, atol=1e-9 * s.max())
    assert np.trace(G) == pytest.approx(k)
    assert np.linalg.eigvalsh(G)[0] >= -1e-12
    assert proof.negativity == pytest.approx(max(0.0, -G.min()), abs=1e-12)
    assert proof.violation == pytest.approx(np.linalg.norm(np.minimum(G, 0)) / np.linalg.norm(G), abs=1e-10)
    weighted_A = A * np.outer(s, s)
    assert proof.value == pytest.approx(np.vdot(weighted_A, G), abs=1e-9 * np.abs(weighted_A).sum())
    values = [np.vdot(weighted_A, partition_matrix(codes, s)) for codes in partitions(n, k)]
    noise = 1e-11 * (1 + np.abs(weighted_A).sum())
    assert max(values) <= proof.bound + noise
    assert proof.feasible_value <= proof.bound + noise
    assert 0 <= result.tightness <= 1
    np.testing.assert_allclose(result.F * np.outer(s, s), G, atol=1e-12)
    assert result.Q.min() >= 0
    np.testing.assert_allclose(result.Z @ s, 0, atol=1e-8 * (1 + np.abs(weighted_A).max() + np.abs(result.Q).max()))


def test_the_multipliers_prove_the_bound() -> None:
    X, _ = cloud(60, 3, 4.0)
    result = ldssc.relax(gram(X), 3, tol=1e-5)
    assert result.status is Status.SOLVED
    A, n, k = gram(X), 60, 3
    # 2·1ᵀ(−u) − τk is the dual value of (22) where Z is semidefinite
    assert np.linalg.eigvalsh(result.Z)[0] > -1e-3 * np.linalg.norm(A, 2)
    assert -2 * result.u.sum() - result.tau * k == pytest.approx(result.certificate.bound, rel=1e-4)
    assert abs(np.vdot(result.Z, result.G)) < 1e-3 * result.certificate.value
    assert abs(np.vdot(result.Q, result.G)) < 1e-3 * result.certificate.value
    assert result.certificate.bound == pytest.approx(partition_bound(A + result.Q, k), rel=1e-9)
    assert n == len(result.u)


def test_tightness_is_one_exactly_on_partitions() -> None:
    X, y = cloud(80, 4, 1.0)
    tight = ldssc.relax(gram(X), 4)
    assert tight.tightness == 1.0
    assert tight.labels is not None
    assert ldssc.error_rate(y, tight.labels) == 0
    np.testing.assert_allclose(tight.G, partition_matrix(tight.labels, np.ones(80)), atol=1e-12)
    assert tight.certificate.relative_gap < 1e-7
    loose = ldssc.relax(gram(np.random.default_rng(0).normal(size=(80, 2))), 4)
    assert loose.labels is None
    assert loose.tightness < 0.9


def test_a_large_problem_by_its_few_eigenpairs_agrees_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = cloud(200, 3, 5.0)
    few = ldssc.relax(gram(X), 3, tol=1e-4)
    monkeypatch.setattr("ldssc.proofs.subspace.FULL", 1000)
    every = ldssc.relax(gram(X), 3, tol=1e-4)
    assert few.certificate.bound == pytest.approx(every.certificate.bound, rel=1e-4)
    assert few.tightness == pytest.approx(every.tightness, abs=1e-3)


def test_the_step_is_the_projection_of_the_book() -> None:
    rng = np.random.default_rng(2)
    A = center(gram(rng.normal(size=(150, 3))))
    at = splitting.Splitting.start(A, np.ones(150), 4)
    at.spectral()
    for _ in range(5):
        B = np.abs(at.V) + A / at.rho
        at.step()
        exact = project_semidefinite((B + B.T) / 2, trace=4.0).F
        np.testing.assert_allclose(at.factor() @ at.factor().T, exact, atol=1e-3 * np.abs(exact).max())


def test_a_lost_direction_comes_back() -> None:
    rng = np.random.default_rng(3)
    n = 300
    U = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, 12))]))[0][:, 1:]
    first = (U[:, :6] * [9, 8, 7, 6, 5, 4]) @ U[:, :6].T
    space = Subspace(np.ones(n))
    space.leading((first + first.T) / 2, lambda values: int((values > 1).sum()), 1e-6)
    other = (U[:, 6:] * [9, 8, 7, 6, 5, 4]) @ U[:, 6:].T  # nothing in common with what the block knows
    found = space.leading((other + other.T) / 2, lambda values: int((values > 1).sum()), 1e-6)
    np.testing.assert_allclose(found.values[:6], [9, 8, 7, 6, 5, 4], rtol=1e-6)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_answers_move_with_the_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, _ = cloud(40, 3, 4.0, seed % 1000)
    A = gram(X)
    base = ldssc.relax(A, 3, tol=1e-4)
    order, a = rng.permutation(40), rng.normal(size=40)
    scale = base.certificate.value
    moved = ldssc.relax(A[np.ix_(order, order)], 3, tol=1e-4)
    assert moved.certificate.bound == pytest.approx(base.certificate.bound, rel=5e-4)
    assert moved.tightness == pytest.approx(base.tightness, abs=5e-3)
    scaled = ldssc.relax(1e6 * A, 3, tol=1e-4)
    assert scaled.certificate.bound == pytest.approx(1e6 * base.certificate.bound, rel=1e-9)
    shifted = ldssc.relax(A + a[:, None] + a[None, :], 3, tol=1e-4)  # (14)
    assert shifted.certificate.bound - 2 * a.sum() == pytest.approx(base.certificate.bound, abs=1e-3 * scale)


def test_whole_weights_are_repeats() -> None:
    rng = np.random.default_rng(5)
    X, _ = cloud(30, 3, 4.0)
    w = rng.integers(1, 4, size=30)
    rows = np.repeat(np.arange(30), w)
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 50)
    light, heavy = ldssc.relax(K, 3, weights=w, tol=1e-5), ldssc.relax(K[np.ix_(rows, rows)], 3, tol=1e-5)
    assert light.certificate.bound == pytest.approx(heavy.certificate.bound, rel=1e-4)
    assert light.tightness == pytest.approx(heavy.tightness, abs=1e-3)
    np.testing.assert_allclose(light.F @ w, 1, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_a_conic_solver_finds_the_same_optimum(k: int) -> None:
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("scs")
    A = gram(np.random.default_rng(7).normal(size=(14, 2)))
    G = cp.Variable((14, 14), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.trace(A @ G)), [G >= 0, cp.sum(G, axis=1) == 1, cp.trace(G) == k])
    optimum = problem.solve(solver="SCS", eps=1e-7)
    ours = ldssc.relax(A, k, tol=1e-6).certificate
    assert ours.bound >= optimum - 1e-5 * abs(optimum)
    assert ours.bound == pytest.approx(optimum, rel=1e-4)
    assert ours.feasible_value == pytest.approx(optimum, rel=1e-2)
    assert ours.feasible_value <= optimum + 1e-5 * abs(optimum)


def test_the_feasible_value_is_that_of_a_feasible_matrix() -> None:
    rng = np.random.default_rng(8)
    s = rng.uniform(0.5, 2, 7)
    e = s / np.linalg.norm(s)
    for trial in range(60):
        L = rng.normal(size=(7, 1 + trial % 4))
        L -= np.outer(e, e @ L)
        factor = np.column_stack([e, L * np.sqrt(2 / np.sum(L**2))])
        assert (factor @ factor.T).min() < -0.01
        units = np.eye(7)
        probe = [[np.outer(units[i], units[j]) + np.outer(units[j], units[i]) for j in range(7)] for i in range(7)]
        G = np.array([[feasible_value(A, factor, s, 3) / 2 for A in row] for row in probe])  # it is linear in A
        np.testing.assert_allclose(G @ s, s, atol=1e-9)
        assert np.trace(G) == pytest.approx(3)
        assert G.min() >= -1e-12
        assert np.linalg.eigvalsh(G)[0] >= -1e-12


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_multipliers_from_labels_have_the_sums_asked_for(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X, codes = cloud(24, 3, 0.5, seed % 1000)
    s = rng.uniform(0.8, 1.2, 24) if weighted else np.ones(24)
    A = gram(X * s[:, None])
    W = membership(codes, s)
    sums = group_sums(A @ (W * np.sqrt(np.bincount(codes, s * s))), codes, s)
    level = np.linalg.eigvalsh((np.eye(24) - W @ W.T) @ A @ (np.eye(24) - W @ W.T))[-1]
    r = targets(sums, codes, s, 2 * level)
    onehot = np.eye(3)[codes] * s[:, None]
    for Q in (rank_one_multiplier(r, codes, s), fit_multiplier(rng.exponential(size=(24, 24)), r, codes, s)):
        assert Q.min() >= 0
        np.testing.assert_array_equal(Q, Q.T)
        np.testing.assert_allclose(Q @ onehot, r, atol=1e-9 * r.max())
        assert np.abs(Q[codes[:, None] == codes[None, :]]).max() == 0


def test_a_stopped_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    X, _ = cloud(60, 3, 6.0)
    A, path = gram(X), tmp_path / "run.npz"
    first = ldssc.relax(A, 3, tol=1e-4, max_iter=40, checkpoint=path)
    assert first.status is Status.MAX_ITER
    again = ldssc.relax(A, 3, tol=1e-4, checkpoint=path)
    assert again.n_iter > 40
    assert again.history[: len(first.history)] == first.history
    assert again.status is Status.SOLVED
    straight = ldssc.relax(A, 3, tol=1e-4)
    assert again.certificate.bound == pytest.approx(straight.certificate.bound, rel=2e-4)
    with pytest.raises(ldssc.InputError, match="another problem"):
        ldssc.relax(A, 4, checkpoint=path)
    with pytest.raises(ldssc.InputError, match="solver 'relax'"):
        ldssc.project(A, trace=3, checkpoint=path)


def test_every_end_leaves_a_valid_bound() -> None:
    X, _ = cloud(150, 4, 8.0)
    A = gram(X)
    exact = ldssc.relax(A, 4, tol=1e-4).certificate
    called = []

    def interrupt(record: ldssc.Record) -> bool:
        called.append(record)
        raise KeyboardInterrupt

    ends = [
        ldssc.relax(A, 4, tol=1e-9, time_limit=1e-3),
        ldssc.relax(A, 4, tol=1e-9, max_iter=1),
        ldssc.relax(A, 4, tol=1e-9, callback=lambda record: record.iteration >= 20),
        ldssc.relax(A, 4, tol=1e-9, callback=interrupt),
    ]
    assert [end.status for end in ends] == [Status.TIME_LIMIT, Status.MAX_ITER, Status.STOPPED, Status.STOPPED]
    assert called
    for end in ends:
        assert end.certificate.bound >= exact.feasible_value
        assert end.certificate.bound >= exact.bound * (1 - 2e-4)
        assert len(end.history) >= 1
        assert end.history[-1].dual == end.certificate.bound


def test_answers_do_not_depend_on_the_thread() -> None:
    A, found = gram(cloud(40, 3, 3.0)[0]), []
    thread = threading.Thread(target=lambda: found.append(ldssc.relax(A, 3)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0].factor, ldssc.relax(A, 3).factor)


@pytest.mark.parametrize("A", [np.zeros((6, 6)), np.ones((6, 6)), np.eye(6), -np.eye(6), 1e-300 * np.eye(6)])
def test_a_matrix_that_says_nothing_is_no_accident(A: np.ndarray) -> None:
    for k in (1, 2, 5, 6):
        result = ldssc.relax(A, k, max_iter=100)
        values = [np.vdot(A, partition_matrix(codes, np.ones(6))) for codes in partitions(6, k)]
        assert result.certificate.bound >= max(values) - 1e-12 * np.abs(A).sum()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((np.eye(3), 4), {}, "n_clusters=4 is more than the number of rows, 3"),
        ((np.eye(3), 0), {}, "n_clusters must be at least 1"),
        ((np.eye(3), 2.5), {}, "n_clusters must be a whole number"),
        ((np.ones((2, 3)), 1), {}, "must be square"),
        ((np.triu(np.ones((3, 3))), 1), {}, "not symmetric"),
        (([[np.nan]], 1), {}, "NaN or infinite"),
        ((np.eye(3), 2), {"weights": [1, 2]}, "one number a row"),
        ((np.eye(3), 2), {"tol": 0}, "tol must be a number > 0"),
        ((np.eye(3), 2), {"max_iter": 0}, "max_iter must be at least 1"),
        ((np.eye(3), 2), {"time_limit": -1}, "time_limit must be a number > 0"),
        ((np.eye(3), 2), {"callback": 3}, "callback must be a function"),
        ((np.eye(3), 2), {"checkpoint": 3}, "checkpoint must be the name of a file"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[object, ...], options: dict[str, object], said: str) -> None:
    with pytest.raises(ldssc.InputError) as error:
        ldssc.relax(*arguments, **options)
    assert said in str(error.value)


def test_what_does_not_fit_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.memory.available_memory", lambda: 10_000)
    with pytest.raises(ldssc.NotEnoughMemoryError, match="the relaxation"):
        ldssc.relax(np.eye(100), 3)
