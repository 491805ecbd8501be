"""trust: high where there are clusters, low where there are none, and not fooled by what makes it lie."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import ldssc


def moons(n: int = 160, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    return make_moons(n, noise=noise, random_state=0)


def test_moons_are_believed_and_one_cloud_is_not() -> None:
    X, y = moons()
    found = ldssc.trust(X, 2, null=2)
    assert found.value > 0.97
    assert found.believable
    assert ldssc.error_rate(y, found.labels) < 0.02
    assert found.null is not None
    assert found.null[1] < found.value
    assert found.sentence.endswith("believe it.")
    cloud = ldssc.trust(np.random.default_rng(0).normal(size=(160, 2)), 3)
    assert cloud.value < 0.9
    assert not cloud.believable
    assert "do not believe in 3 clusters" in cloud.sentence


def test_labels_are_compared_with_the_partition_it_speaks_of() -> None:
    X, y = moons()
    names = np.where(y == 0, "left", "right")
    good = ldssc.trust(X, names)
    assert good.agreement == pytest.approx(1, abs=0.02)
    bad = ldssc.trust(X, np.arange(len(X)) % 2)
    assert bad.value == good.value
    assert bad.agreement < 0.6
    assert "agrees with the labels on" in bad.sentence
    assert float(good) == good.value


def test_nothing_changes_with_the_order_the_units_or_the_place() -> None:
    X, y = make_blobs(120, 3, centers=3, cluster_std=2.5, random_state=3)
    base = ldssc.trust(X, 3).value
    order = np.random.default_rng(0).permutation(120)
    assert ldssc.trust(X[order], y[order]).value == pytest.approx(base, abs=5e-3)
    assert ldssc.trust(X * [1e-5, 1, 1e5] + 40, 3).value == pytest.approx(base, abs=5e-3)
    assert ldssc.trust(np.column_stack([X, np.ones(120)]), 3).value == pytest.approx(base, abs=5e-3)
    assert ldssc.trust(X, 3, standardize=False).value == pytest.approx(
        ldssc.trust(100 * X, 3, standardize=False).value, abs=5e-3
    )


def test_repeated_points_are_weights() -> None:
    X, _ = make_blobs(60, 2, centers=3, cluster_std=3.0, random_state=3)
    once, twice = ldssc.trust(X, 3), ldssc.trust(np.repeat(X, 2, axis=0), 3)
    assert twice.value == pytest.approx(once.value, abs=5e-3)
    assert twice.n_points == 120


def test_isolated_points_do_not_make_a_cloud_tight() -> None:
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(150, 2))
    far = np.array([[40.0, 0], [0, 50], [-45, -45]])
    found = ldssc.trust(np.vstack([cloud, far]), 4)
    assert found.n_left_out >= 3
    assert found.value < 0.9
    assert "isolated points are left out" in found.sentence
    assert (found.labels[-3:] == -1).all()


def test_groups_that_stay_tiny_are_said_to_prove_nothing() -> None:
    rng = np.random.default_rng(2)
    X = np.concatenate(
        [0.01 * rng.normal(size=(40, 2)), 100 * np.column_stack([np.cos(range(1, 9)), np.sin(range(1, 9))])]
    )
    found = ldssc.trust(X, 9)
    assert found.value > 0.95
    assert not found.reliable
    assert not found.believable
    assert "this says nothing" in found.sentence


def test_many_points_are_sampled_with_a_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.proofs.tightness.WHOLE", 300)
    monkeypatch.setattr("ldssc.proofs.tightness._SAMPLE", 100)
    X, y = moons(400)
    found = ldssc.trust(X, y)
    assert found.spread is not None
    assert found.spread[0] <= found.value <= found.spread[1]
    assert found.labels is None
    assert found.agreement > 0.95
    assert "on samples" in found.sentence
    assert ldssc.trust(X, y).value == found.value  # the same seed
    assert ldssc.trust(X, y, random_state=1).value != found.value


def test_noise_takes_no_part() -> None:
    X, y = moons()
    marked = y.copy()
    marked[:5] = -1
    found = ldssc.trust(X, marked)
    assert found.n_points == 155
    assert "5 points labelled −1 take no part" in found.sentence


SQUARE = np.random.default_rng(0).normal(size=(6, 2))
BAD = {
    "one cluster": ((SQUARE, 1), {}, "labels_or_k must be at least 2"),
    "one label": ((SQUARE, [0] * 6), {}, "one group is always a partition"),
    "more than points": ((SQUARE, 7), {}, "labels_or_k=7 is more than the number of points, 6"),
    "more than distinct points": ((np.repeat(SQUARE[:2], 3, axis=0), 3), {}, "2 distinct points, which cannot make 3"),
    "constant": ((np.ones((5, 2)), 2), {}, "all 5 points are equal"),
    "another length": ((SQUARE, [0, 1]), {}, "2 labels and 6 rows"),
    "nan": (([[np.nan, 1]], 2), {}, "NaN or infinite"),
    "empty": ((np.ones((0, 2)), 2), {}, "data is empty"),
    "fraction": ((SQUARE, 2.5), {}, "must be a list of labels"),
    "null": ((SQUARE, 2), {"null": -1}, "null must be at least 0"),
    "standardize": ((SQUARE, 2), {"standardize": "yes"}, "standardize must be True or False"),
    "seed": ((SQUARE, 2), {"random_state": "x"}, "random_state"),
}


@pytest.mark.parametrize(("arguments", "options", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(arguments: tuple[object, ...], options: dict[str, object], said: str) -> None:
    with pytest.raises(ldssc.InputError) as error:
        ldssc.trust(*arguments, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
