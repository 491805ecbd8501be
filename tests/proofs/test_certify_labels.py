"""certify_labels: never above the optimum, exact on planted partitions; what costs are invariant to; bad input."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from partitions import all_costs, exact_cost, partitions
from sklearn.cluster import KMeans as Lloyd
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import scale
from test_bounds import KINDS, draw, pose

import ldssc
from ldssc.proofs import cheap, labels, large, objectives
from ldssc.proofs.bounds import partition_bound


def blobs(spread: float, n: int = 90, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    angles = 2 * np.pi * np.arange(k) / k
    X, y = make_blobs(
        n, centers=10 * np.column_stack([np.cos(angles), np.sin(angles)]), cluster_std=spread, random_state=seed
    )
    return X, y


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), n=st.integers(3, 8), weighted=st.booleans())
def test_no_partition_costs_less_than_any_of_the_bounds(seed: int, kind: str, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    data = draw(rng, kind, n)
    w = rng.choice([0.3, 1.0, 2.0, 7.0], size=n) if weighted else None
    k = int(rng.integers(2, min(n, 4) + 1))
    data = data / max(1, np.abs(data).max() / 1e6)
    problem = pose(kind, data, w)
    codes = partitions(n, k)[rng.integers(len(partitions(n, k)))]
    shifted = data - data.mean(axis=0) if kind == "kmeans" else data
    costs = all_costs(kind, shifted, np.ones(n) if w is None else w, k)
    floor = costs.min() + 1e-11 * (np.abs(costs).max() + np.abs(problem.A).max())
    found = labels.relaxation_bound(problem, codes, 1e-3, math.inf)
    assert found.bound <= floor
    assert cheap.rank_one_bound(problem, codes) <= floor
    if isinstance(problem, objectives.KMeans):
        assert cheap.thin_bound(problem, codes) <= floor
        assert problem.principal(k) <= floor
    proof = ldssc.certify_labels([f"group {c}" for c in codes], data, kind, sample_weight=w)
    assert proof.bound <= floor
    assert proof.cost == pytest.approx(problem.cost(codes))
    if proof.optimal:
        assert proof.cost <= floor + 1e-7 * abs(proof.cost)
    if proof.better_labels is not None:
        assert proof.better_cost == pytest.approx(problem.cost(proof.better_labels), rel=1e-9)
        assert proof.better_cost < proof.cost


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    spread=st.sampled_from([0.0, 1.0, 4.0]),
    offset=st.sampled_from([0.0, 1e3, 1e8]),
)
def test_in_exact_arithmetic_no_partition_costs_less(seed: int, kind: str, spread: float, offset: float) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    k = min(k, n - 1)
    X = rng.normal(size=(n, 2)) + 30 * rng.integers(0, k, size=(n, 1))
    w = 10 ** rng.uniform(-spread, spread, n)
    if kind == "kmeans":
        data = X + offset
    elif kind == "kernel":
        data = (X @ X.T + (X @ X.T).T) / 2 + min(offset, 1e5)
    else:
        B = rng.uniform(size=(n, n)) ** rng.choice([1, 8])
        data = (B + B.T + 1e-6) * (1 if offset == 0 else 1 / offset)
    problem = pose(kind, data, w)
    codes = min(partitions(n, k), key=problem.cost)
    optimum = exact_cost(kind, data, w, codes)
    bounds = [labels.relaxation_bound(problem, codes, 1e-3, math.inf).bound, cheap.rank_one_bound(problem, codes)]
    if isinstance(problem, objectives.KMeans):
        bounds += [cheap.thin_bound(problem, codes), problem.principal(k)]
    for bound in bounds:
        assert bound == -math.inf or Fraction(bound) <= optimum


@pytest.mark.parametrize("scale", [1e-140, 1e-7, 1e140])
def test_units_are_no_matter(scale: float) -> None:
    X, y = blobs(3.0, n=30)
    base, scaled = ldssc.certify_labels(y, X), ldssc.certify_labels(y, scale * X)
    assert scaled.cost == pytest.approx(scale**2 * base.cost)
    assert scaled.bound == pytest.approx(scale**2 * base.bound, rel=1e-6)
    assert scaled.gap == pytest.approx(base.gap, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_partition_is_proven_optimal_and_found_from_bad_labels(kind: str) -> None:
    X, y = blobs(0.5)
    data = {"kmeans": X, "kernel": X @ X.T, "normalized-cut": np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 8)}[
        kind
    ]
    proof = ldssc.certify_labels(y, data, kind)
    assert proof.optimal
    assert proof.gap == 0
    assert proof.tightness == 1
    assert proof.better_labels is None
    assert "proven optimal" in proof.sentence
    bad = np.arange(len(y)) % 3
    other = ldssc.certify_labels(bad, data, kind)
    assert not other.optimal
    assert other.better_labels is not None
    assert ldssc.error_rate(y, other.better_labels) == 0
    assert other.bound == pytest.approx(proof.cost, rel=1e-3)


def test_wine_is_proven_within_a_hundredth_in_a_second() -> None:
    X = scale(load_wine().data)
    codes = Lloyd(3, n_init=10, random_state=0).fit(X).labels_
    start = time.process_time()
    proof = ldssc.certify_labels(codes, X)
    assert time.process_time() - start < 5  # a second on a quiet machine
    assert proof.cost == pytest.approx(1277.928488844643)
    assert 0.005 < proof.gap < 0.009
    assert proof.sentence.startswith("These labels cost 1277.93; no partition into 3 clusters costs less than 126")


def test_the_sentence_never_rounds_a_bound_up() -> None:
    from ldssc.proofs.verdict import LabelProof

    for bound in (9.9999999999, 9.996, 1 / 3, 1e-20, -2.5e-7, 0.0):
        sentence = LabelProof("k-means", 5, 0, 2, 10.0, bound, False, None, "", 0.0).sentence
        shown = float(sentence.split("less than ")[1].split(":")[0])
        assert bound - 0.1 * (10 - bound) <= shown <= bound
        assert float(sentence.split("within ")[1].split(" %")[0]) >= 100 * (10 - bound) / 10


@settings(max_examples=6)
@example(seed=6792175)
@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_move_with_the_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, _ = blobs(4.0, n=40, seed=seed % 1000)
    codes = rng.integers(0, 3, size=40)
    codes[:3] = [0, 1, 2]
    problem = objectives.KMeans(X)
    bound = labels.relaxation_bound(problem, codes, 1e-3, math.inf).bound
    order = rng.permutation(40)
    for other, those, factor in (
        (X[order], codes[order], 1),
        (X + np.array([1e3, -50]), codes, 1),
        (1e-4 * X, codes, 1e-8),
    ):
        moved = labels.relaxation_bound(objectives.KMeans(other), those, 1e-3, math.inf).bound
        assert moved == pytest.approx(factor * bound, rel=3e-3)
        thin = cheap.thin_bound(objectives.KMeans(other), those)
        assert thin == pytest.approx(factor * cheap.thin_bound(problem, codes), rel=1e-6, abs=1e-9 * factor)


@pytest.mark.parametrize("kind", ["kmeans", "kernel", "normalized-cut"])
def test_whole_weights_are_repeats(kind: str) -> None:
    rng = np.random.default_rng(4)
    X, _ = blobs(3.0, n=20)
    data = X if kind == "kmeans" else np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 40)
    w = rng.integers(1, 4, size=20)
    codes = np.arange(20) % 3
    rows = np.repeat(np.arange(20), w)
    again = data[rows] if kind == "kmeans" else data[np.ix_(rows, rows)]
    light = ldssc.certify_labels(codes, data, kind, sample_weight=w, tol=1e-5)
    heavy = ldssc.certify_labels(codes[rows], again, kind, tol=1e-5)
    assert light.cost == pytest.approx(heavy.cost)
    assert light.bound == pytest.approx(heavy.bound, rel=2e-3)


def test_noise_is_left_out_and_said() -> None:
    X, y = blobs(0.5)
    marked = y.astype(object)
    marked[:4], X[:4] = -1, 1e3
    for given_labels in (marked, np.array([str(label) for label in marked])):
        proof = ldssc.certify_labels(given_labels, X)
        assert (proof.n_points, proof.n_noise, proof.n_clusters) == (86, 4, 3)
        assert proof.optimal
        assert "4 points labelled as noise are left out" in proof.sentence
    kept = ldssc.certify_labels(marked, X, noise_label=None)
    assert (kept.n_noise, kept.n_clusters) == (0, 4)


def test_many_points_get_a_rigorous_bound() -> None:
    X, y = make_blobs(3_000, 10, centers=4, cluster_std=4.0, random_state=1)
    proof = ldssc.certify_labels(y, X)
    assert 0.8 * proof.cost < proof.bound < proof.cost
    assert proof.tightness is None
    assert proof.estimate is not None
    assert "an estimate, not a proof" in proof.sentence
    best = Lloyd(4, n_init=3, random_state=0).fit(X).inertia_
    assert proof.bound <= best


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_no_partition_costs_less_than_a_bound_from_merged_points(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 9)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, int(rng.integers(1, 3)))) + rng.choice([0, 6]) * rng.integers(0, 3, size=(n, 1))
    w = rng.choice([1.0, 2.0, 5.0], size=n) if weighted else np.ones(n)
    group = np.unique(rng.integers(0, n, size=n) if rng.random() < 0.5 else np.arange(n) // 2, return_inverse=True)[1]
    bound, _ = large.merged_bound(objectives.KMeans(X, w), k, group.astype(np.int64), math.inf)
    costs = all_costs("kmeans", X - X.mean(axis=0), w, k)
    assert bound <= costs.min() + 1e-11 * costs.max()


def test_merging_what_belongs_apart_proves_nothing() -> None:
    X = np.array([[0.0], [10], [0], [10]])  # the best partition costs nothing, that of the centres does
    bound, _ = large.merged_bound(objectives.KMeans(X), 2, np.array([0, 0, 1, 2]), math.inf)
    assert bound == pytest.approx(0, abs=1e-9)


def test_merged_points_prove_where_there_are_few_dimensions() -> None:
    X, _ = make_blobs(1500, 2, centers=4, cluster_std=2.0, random_state=0)
    problem = objectives.KMeans(X)
    best = Lloyd(4, n_init=3, random_state=0).fit(X).inertia_
    bound, how = large.merged_bound(problem, 4, large.micro_clusters(problem, 200), math.inf)
    assert 0.5 * best < bound <= best
    assert "micro-clusters" in how


def test_a_run_out_of_time_still_proves_something() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    codes = rng.integers(0, 5, size=300)
    full, short = ldssc.certify_labels(codes, X), ldssc.certify_labels(codes, X, time_limit=1e-3)
    assert 0 < short.bound <= full.bound * 1.01
    assert full.better_labels is not None


def test_an_interrupted_proof_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_blobs(3000, 4, centers=4, cluster_std=4.0, random_state=1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(large, "micro_clusters", interrupt)
    proof = ldssc.certify_labels(y, X)
    assert 0.5 * proof.cost < proof.bound < proof.cost
    assert proof.estimate is None
    monkeypatch.setattr("ldssc.proofs.loop.partition_bound", interrupt_once(monkeypatch))
    small = ldssc.certify_labels(y[:200], X[:200])
    assert 0 < small.bound <= small.cost


def interrupt_once(monkeypatch: pytest.MonkeyPatch) -> Callable[..., float]:
    def raising(*_: object, **__: object) -> float:
        monkeypatch.setattr("ldssc.proofs.loop.partition_bound", partition_bound)
        raise KeyboardInterrupt

    return raising


def test_trivial_partitions() -> None:
    X, _ = blobs(2.0, n=12)
    one = ldssc.certify_labels(np.zeros(12), X)
    assert one.optimal
    assert one.n_clusters == 1
    each = ldssc.certify_labels(range(12), X)
    assert (each.cost, each.bound, each.gap, each.optimal) == (0, 0, 0, True)
    constant = ldssc.certify_labels(np.arange(12) % 3, np.ones((12, 2)))
    assert (constant.cost, constant.optimal) == (0, True)
    assert "only 1 distinct point" in constant.sentence
    few = ldssc.certify_labels([0, 0, 1, 1, 2, 2], [[0.0], [1], [0], [1], [0], [1]])
    assert few.bound == 0 < few.cost
    assert "only 2 distinct points for 3 clusters" in few.sentence


@pytest.mark.parametrize("kind", ["kernel", "normalized-cut"])
def test_distances_are_recognised(kind: str) -> None:
    X, y = blobs(2.0, n=12)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert "as distances are" in ldssc.certify_labels(y, D, kind).sentence
    assert "as distances are" not in ldssc.certify_labels(y, np.exp(-D), kind).sentence


def test_an_indefinite_kernel_is_said() -> None:
    rng = np.random.default_rng(1)
    B = rng.normal(size=(8, 8))
    proof = ldssc.certify_labels([0, 0, 0, 1, 1, 1, 2, 2], B + B.T, "kernel")
    assert "indefinite" in proof.sentence
    assert proof.bound <= all_costs("kernel", B + B.T, np.ones(8), 3).min() + 1e-9
    X = rng.normal(size=(8, 2))
    assert "indefinite" not in ldssc.certify_labels([0, 0, 0, 1, 1, 1, 2, 2], X @ X.T, "kernel").sentence


SQUARE = np.ones((4, 4))
BAD = {
    "another length": (([0, 1, 0], SQUARE), {}, "3 labels and 4 rows"),
    "nan": (([0, 1], [[1.0], [np.nan]]), {}, "NaN or infinite"),
    "missing label": (([0, np.nan], [[1.0], [2.0]]), {}, "missing (NaN)"),
    "all noise": (([-1, -1], [[1.0], [2.0]]), {}, "which means noise"),
    "no labels": (([], np.ones((0, 1))), {}, "labels is empty"),
    "text for labels": (("abc", SQUARE), {}, "must be a list of labels"),
    "unknown objective": (([0, 1, 0, 1], SQUARE, "median"), {}, "valid names: kernel, kmeans, normalized-cut"),
    "points for a kernel": (([0, 1, 0, 1], np.ones((4, 2)), "kernel"), {}, "needs a square matrix"),
    "negative affinities": (([0, 1, 0, 1], SQUARE - 2 * np.eye(4), "normalized-cut"), {}, "has negative entries"),
    "zero degree": (([0, 1, 0, 1], np.diag([1.0, 1, 0, 1]), "normalized-cut"), {}, "row 2 of the affinities"),
    "asymmetric": (([0, 1, 0, 1], np.triu(SQUARE), "kernel"), {}, "not symmetric"),
    "weights": (([0, 1, 0, 1], SQUARE), {"sample_weight": [1, 1]}, "one number a row"),
    "negative weights": (([0, 1, 0, 1], SQUARE), {"sample_weight": [1, 1, -1, 1]}, "must be positive"),
    "tol": (([0, 1, 0, 1], SQUARE), {"tol": 0}, "tol must be a number > 0"),
    "time": (([0, 1, 0, 1], SQUARE), {"time_limit": -1}, "time_limit must be a number > 0"),
    "huge": (([0, 1, 0, 1], 1e200 * np.eye(4)), {}, "squares overflow"),
    "tiny": (([0, 1, 0, 1], 1e-200 * np.eye(4)), {}, "squares of that vanish"),
    "no columns": (([0, 1, 0, 1], np.ones((4, 0))), {}, "no columns"),
}


@pytest.mark.parametrize(("arguments", "options", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(arguments: tuple[object, ...], options: dict[str, object], said: str) -> None:
    with pytest.raises(ldssc.InputError) as error:
        ldssc.certify_labels(*arguments, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_does_not_fit_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.memory.available_memory", lambda: 10_000)
    with pytest.raises(ldssc.NotEnoughMemoryError, match=r"needs about .* use fewer points"):
        ldssc.certify_labels(np.arange(100) % 3, np.eye(100), "kernel")
