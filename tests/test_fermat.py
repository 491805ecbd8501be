"""Fermat distances: shortest of all paths, bounded by the direct way, the same for repeats, in the units of the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldssc


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9), power=st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0]))
def test_it_is_the_cheapest_path_of_all(seed: int, n: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        X[rng.integers(0, n)] = X[0]
    P = ldssc.fermat_distances(X, power, n_neighbors=15)  # all others: every path is allowed
    cheapest = np.linalg.norm(X[:, None] - X[None], axis=2) ** power
    for middle in range(n):  # Floyd and Warshall
        cheapest = np.minimum(cheapest, cheapest[:, middle, None] + cheapest[None, middle])
    np.testing.assert_allclose(P, cheapest, rtol=1e-9, atol=1e-12 * cheapest.max())


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), neighbours=st.integers(1, 5))
def test_it_is_symmetric_scales_and_never_exceeds_the_direct_way(seed: int, neighbours: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    P = ldssc.fermat_distances(X, 2, n_neighbors=neighbours)
    direct = np.square(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_array_equal(P, P.T)
    assert P.diagonal().max() == 0
    assert (direct * (1 + 1e-12) >= P).all()
    assert P.max() > 0
    order = rng.permutation(30)
    np.testing.assert_allclose(ldssc.fermat_distances(X[order], 2, n_neighbors=neighbours), P[np.ix_(order, order)])
    np.testing.assert_allclose(ldssc.fermat_distances(1e-3 * X + 7, 2, n_neighbors=neighbours), 1e-6 * P, rtol=1e-6)
    rows = np.repeat(np.arange(30), 2)
    np.testing.assert_array_equal(ldssc.fermat_distances(X[rows], 2, n_neighbors=neighbours), P[np.ix_(rows, rows)])


def test_a_path_through_a_dense_line_is_short() -> None:
    line = np.column_stack([np.linspace(0, 10, 101), np.zeros(101)])
    P = ldssc.fermat_distances(line)
    assert P[0, 100] == pytest.approx(100 * 0.1**2)
    far = ldssc.fermat_distances([[0.0, 0], [10, 0]])
    assert far[0, 1] == pytest.approx(100)


def test_far_apart_groups_are_joined_by_the_tree() -> None:
    X = np.concatenate(
        [np.random.default_rng(0).normal(size=(30, 2)), 1e3 + np.random.default_rng(1).normal(size=(30, 2))]
    )
    P = ldssc.fermat_distances(X, n_neighbors=3)
    assert np.isfinite(P).all()
    assert P[0, 30] > 1e5
    assert P[0, 29] < 1e5


@pytest.mark.parametrize(
    ("X", "options", "said"),
    [
        (np.ones((0, 2)), {}, "X is empty"),
        ([[np.nan]], {}, "NaN or infinite"),
        ([1.0, 2.0], {}, "must have two dimensions"),
        ([[1.0], [2.0]], {"power": 0}, "power must be a number > 0"),
        ([[1.0], [2.0]], {"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ([[1e200], [2.0]], {"power": 2}, "overflows"),
    ],
)
def test_bad_input_is_one_sentence(X: object, options: dict[str, float], said: str) -> None:
    with pytest.raises(ldssc.InputError) as error:
        ldssc.fermat_distances(X, **options)
    assert said in str(error.value)


def test_odd_input_is_taken() -> None:
    np.testing.assert_array_equal(ldssc.fermat_distances(np.ones((3, 2))), 0)
    np.testing.assert_array_equal(ldssc.fermat_distances([[5.0]]), 0)
    tiny = ldssc.fermat_distances([[0.0], [1e-200], [1.0]])
    assert np.isfinite(tiny).all()
