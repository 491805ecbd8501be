"""`auto` needs no more work than it used to: benchmarks/projection/work.py counts eigendecompositions, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ldssc

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "projection"
MODULES = ("problems", "audit", "work")


@pytest.fixture(scope="module")
def bench() -> Iterator[dict[str, ModuleType]]:
    """The modules of the benchmark, which lie outside the package."""
    if not FOLDER.is_dir():
        pytest.skip("needs the folder benchmarks/")
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in MODULES:
            sys.modules.pop(name, None)


def test_work_is_at_most_one_and_a_half_times_what_is_recorded(bench):
    work = bench["work"]
    standard = work.recorded()
    counts = {str(task): work.count(task) for task in work.TASKS}
    too_many = {
        name: f"{now} now, {standard[name]} recorded" for name, now in counts.items() if now.exceeds(standard[name])
    }
    assert not too_many, "if this is meant to be, run: python benchmarks/projection/work.py --record"


def test_record_has_exactly_the_tasks(bench):
    work = bench["work"]
    assert set(work.recorded()) == {str(task) for task in work.TASKS}


def test_there_are_24_problems_repeatable_and_symmetric(bench):
    problems = bench["problems"]
    assert len(set(problems.NAMES)) == 24
    for name in problems.NAMES:
        K = problems.problem(name, 40, seed=3)
        assert K.shape == (40, 40)
        assert np.array_equal(K, K.T)
        assert np.array_equal(K, problems.problem(name, 40, seed=3))
        assert not np.array_equal(K, problems.problem(name, 40, seed=4))


@pytest.fixture(scope="module")
def answer(bench):
    K = bench["problems"].problem("blobs/gauss1", 60)
    return K, ldssc.project(K, tol=1e-4)


def test_auditor_confirms_an_honest_claim(bench, answer):
    K, result = answer
    found = bench["audit"].audit(result.F, K, result.u, result.Q, result.Z)
    assert found.confirms(result.certificate.distance)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda F, u, Q, Z: (F, u, 0 * Q, Z),
        lambda F, u, Q, Z: (F, u, Q, 1.1 * Z),
        lambda F, u, Q, Z: (F, u, Q - 1e-3, Z),
        lambda F, u, Q, Z: (F, u, Q, Z - 1e-3 * np.eye(len(Z))),
        lambda F, u, Q, Z: (F - 1e-6 * np.eye(len(F)), u, Q, Z),
        lambda F, u, Q, Z: (1.001 * F, u, Q, Z),
    ],
    ids=["no signs", "too much Z", "Q < 0", "Z indefinite", "F indefinite", "rows off"],
)
def test_auditor_refuses_a_false_one(bench, answer, break_it):
    K, result = answer
    found = bench["audit"].audit(*_order(K, *break_it(result.F, result.u, result.Q, result.Z)))
    assert not found.confirms(result.certificate.distance)


def _order(K, F, u, Q, Z):
    return F, K, u, Q, Z


def test_auditor_bounds_the_distance_of_what_is_not_feasible(bench, answer):
    K, result = answer
    exact = ldssc.project(K, tol=1e-7)
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-4, 1e-2):
        E = rng.standard_normal(K.shape)
        F = result.F + size * (E + E.T)
        true = np.linalg.norm(F - exact.F) / np.linalg.norm(F)
        assert bench["audit"].audit(F, K, result.u, result.Q, result.Z).distance >= true
