"""k-means labels of more points than (22) can take: bounds that stay rigorous, and an estimate that is called one.

Three ways, of which the best counts. (a) (24) with the rank-one multiplier of the labels, or with Q = 0 (`cheap`). (b) Points
merged into micro-clusters: in the space of all n points, with X = M + E, M the centres repeated, every partition has

    (26)  √cost(X) = ‖(I − G_W)X‖ ≥ ‖(I − G_W)M‖ − ‖E‖ ≥ √(bound for the weighted centres) − √(squares inside micro-clusters)

A partition may cut through micro-clusters. Averaged over them its G_W keeps its rows, signs and semidefiniteness, stays ⪯ I,
and its trace may shrink: (24) then counts negative eigenvalues as zero. (c) The multiplier of the centres' relaxation,
repeated for the points, in (24) for the points themselves.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.linalg as la
from sklearn.cluster import KMeans as Lloyd
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from ldssc.accurate import EPS
from ldssc.problem import Problem
from ldssc.proofs.bounds import Piece, low_rank_bound, partition_bound
from ldssc.proofs.cheap import thin_bound
from ldssc.proofs.found import Found
from ldssc.proofs.loop import RelaxationRun
from ldssc.proofs.objectives import KMeans, within
from ldssc.proofs.rounding import Codes
from ldssc.solvers.records import Status
from ldssc.validation import Matrix

MICRO = 500
_WORTH = 0.1  # share of the cost inside micro-clusters, above which merging proves nothing of use
_SAMPLE, _SAMPLES = 500, 4
_LLOYD = 30


def large_bound(problem: KMeans, codes: Codes, quick: float, tol: float, deadline: float) -> Found:
    """The best of the three bounds, and the estimate, as far as the time goes; Ctrl-C keeps what has been found."""
    found = Found(quick, "the bound (24) with the rank-one multiplier (25) of the labels")
    with contextlib.suppress(KeyboardInterrupt):
        for step in _steps(problem, codes, found, tol, deadline):
            found = step
    return found


def _steps(problem: KMeans, codes: Codes, found: Found, tol: float, deadline: float) -> Iterator[Found]:
    """What has been found, after each step that improves on it."""
    k = int(codes.max()) + 1
    best = _polished(problem, codes)
    cost = problem.cost(best)
    if cost < problem.cost(codes) * (1 - 1e-3 * tol):
        found = found._replace(labels=best)
        yield found
        found = found._replace(bound=max(found.bound, thin_bound(problem, best)))
        yield found
    if cost - found.bound > tol * cost and time.perf_counter() < deadline:
        group = micro_clusters(problem, max(MICRO, 4 * k))
        if float(within(problem.X, group, problem.weights).sum()) <= _WORTH * cost:
            merged, how = merged_bound(problem, k, group, deadline)
            if merged > found.bound:
                found = found._replace(bound=merged, method=how)
                yield found
    if time.perf_counter() < deadline:
        yield found._replace(estimate=sampled_estimate(problem, k, deadline))


def _polished(problem: KMeans, codes: Codes) -> Codes:
    """Lloyd's iterations from the labels."""
    k = int(codes.max()) + 1
    w = np.ones(len(codes)) if problem.weights is None else problem.weights
    centres = np.zeros((k, problem.X.shape[1]))
    np.add.at(centres, codes, problem.X * w[:, None])
    centres /= np.bincount(codes, w)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = Lloyd(k, init=centres, n_init=1, max_iter=_LLOYD, tol=0).fit(problem.X, sample_weight=w).labels_
    found = labels.astype(np.int64)
    return found if len(np.unique(found)) == k and problem.cost(found) < problem.cost(codes) else codes


def merged_bound(problem: KMeans, k: int, group: Codes, deadline: float) -> tuple[float, str]:
    """(26) for points merged into these groups, and (24) with the repeated multiplier: the larger of them, and its name."""
    d = problem.X.shape[1]
    w = np.ones(len(problem)) if problem.weights is None else problem.weights
    inside = float(within(problem.X, group, problem.weights).sum())
    mass = np.asarray(np.bincount(group, w), dtype=np.float64)
    centres = np.zeros((len(mass), d))
    np.add.at(centres, group, problem.X * w[:, None])
    coarse = KMeans(centres / mass[:, None], mass)
    if len(mass) <= k:
        return -math.inf, ""
    s = np.sqrt(mass)
    unit = float(np.sqrt(np.mean(mass)))
    run = RelaxationRun(
        Problem(coarse.A, s / unit, float(k), unit), 1e-4, time_limit=max(deadline - time.perf_counter(), 1e-3)
    )
    answer = run.solve()
    # the centres are rounded: that moves M, and E with it, by ε of their size
    upper = partition_bound(coarse.A + answer.Q, k, s / unit, clip=True)
    floor = math.sqrt(coarse.lower(upper, k)) - math.sqrt(inside) * (1 + 8 * EPS)
    floor -= 8 * EPS * math.sqrt(problem.total)
    first = max(0.0, floor) ** 2 * (1 - 4 * EPS)
    second = problem.lower(_repeated(problem, answer.Q / np.outer(s, s), group, k), k, exact=True)
    where = f"the relaxation (22) of {len(mass)} micro-clusters"
    if first >= second:
        return first, f"{where}, less what is inside them (26)"
    return second, f"{where}, its multiplier repeated for the points in the bound (24)"


def micro_clusters(problem: KMeans, count: int) -> Codes:
    """Points merged with their neighbours, by k-means of a few rounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MiniBatchKMeans(min(count, len(problem)), n_init=1, random_state=0, batch_size=4096, max_iter=10)
        labels = model.fit(problem.X, sample_weight=problem.weights).predict(problem.X)
    return np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)


def _repeated(problem: KMeans, Q: Matrix, group: Codes, k: int) -> float:
    """(24) for C = A + diag(s)ZQZᵀdiag(s), Z the membership of points in micro-clusters."""
    d = problem.X.shape[1]
    s = np.ones(len(problem)) if problem.s is None else problem.s
    order = np.argsort(group, kind="stable")
    pieces = []
    for c, rows in enumerate(np.split(order, np.searchsorted(group[order], np.arange(1, len(Q))))):
        block = np.column_stack([problem.factor[rows], s[rows]])
        pieces.append(Piece(np.append(np.arange(d), d + c), block, s[rows]))
    Q = np.maximum(Q, Q.T)
    return low_rank_bound(pieces, la.block_diag(np.eye(d), Q), k)


def sampled_estimate(problem: KMeans, k: int, deadline: float) -> float | None:
    """The mean of the bound on samples, scaled to all points: on average not above the best cost, and no proof."""
    rng = np.random.default_rng(0)
    n = len(problem)
    size = max(_SAMPLE, min(4 * k, 2000))
    if size > n or k > size // 4:
        return None
    w = np.ones(n) if problem.weights is None else problem.weights
    found = []
    for _ in range(_SAMPLES):
        if time.perf_counter() > deadline:
            break
        rows = rng.choice(n, size, replace=True, p=w / w.sum())
        part = KMeans(problem.X[rows])
        run = RelaxationRun(Problem(part.A, None, float(k)), 1e-3, time_limit=max(deadline - time.perf_counter(), 1e-3))
        if run.solve().status is Status.STOPPED:
            break
        found.append(part.lower(run.bound, k) * float(w.sum()) / size)
    return float(np.mean(found)) if found else None
