"""The number of threads changes no label, and F no more than what is proven."""

from __future__ import annotations

from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import ldssc
from ldssc import threads
from ldssc.solvers import Result, project


def blobs(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) + 5 * rng.integers(0, 3, size=n)[:, None] * np.array([1.0, 0.3])


def with_threads(count: int, K: np.ndarray, solver: str) -> Result:
    with threadpool_limits(count):
        return project(K, solver=solver, tol=1e-3, max_iter=20)


@pytest.mark.parametrize("solver", ["auto", "ld-ssc1", "ld-ssc2"])
def test_one_and_two_threads_give_the_same_matrix_within_the_proof(solver: str) -> None:
    X = blobs(60)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    one, two = (with_threads(count, K, solver) for count in (1, 2))
    proven = sum(result.certificate.distance * np.linalg.norm(result.F) for result in (one, two))
    assert np.linalg.norm(one.F - two.F) <= proven
    assert one.status is two.status


def test_one_and_two_threads_give_the_same_labels() -> None:
    X = blobs(40)
    labels = []
    for count in (1, 2):
        with threadpool_limits(count):
            labels.append(ldssc.SemidefiniteSpectralClustering(3, random_state=0).fit_predict(X))
    np.testing.assert_array_equal(*labels)


def test_the_limit_reaches_the_linear_algebra() -> None:
    with threadpool_limits(1):
        assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")


def test_work_is_shared_out_within_the_budget_that_blas_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_SHARED_FROM", 10)
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            assert threads.budget() == limit
            meeting = Barrier(limit)  # as many at once as the budget says, or nobody gets through

            def work(part: int, meeting: Barrier = meeting) -> int:
                meeting.wait(timeout=20)
                return part * part

            assert threads.in_threads(10, work, range(4)) == [0, 1, 4, 9]
            assert threads.in_threads(9, lambda part: part, range(3)) == [0, 1, 2]
