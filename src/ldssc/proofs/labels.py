"""How far labels are from the best possible ones, proven: `certify_labels`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.metrics import label_codes
from ldssc.problem import Problem
from ldssc.proofs.answers import Relaxation
from ldssc.proofs.bounds import is_semidefinite
from ldssc.proofs.cheap import rank_one_bound, thin_bound
from ldssc.proofs.found import Found
from ldssc.proofs.large import large_bound
from ldssc.proofs.loop import RelaxationRun, require_relaxation
from ldssc.proofs.objectives import Cut, Kernel, KMeans, Objective, check_cut
from ldssc.proofs.rounding import Codes, improve
from ldssc.proofs.verdict import LabelProof
from ldssc.threads import threads_for
from ldssc.validation import Vector, as_matrix, check_affinity, check_choice, check_positive, check_weights

OBJECTIVES = ("kmeans", "kernel", "normalized-cut")
#: A gap this small, relative to the cost, counts as rounding.
OPTIMAL = 1e-8
#: Rows, up to which k-means is bounded by (22) on the points themselves.
DENSE_ROWS = 2000
_LEAST_TOL, _LARGEST_TOL = 1e-6, 1e-2
_SETTLED = 0.1  # of tol: a bound that rises by less between two proofs will do
_BETTER = 1e-9
_ROUNDING = 1e-13  # of the size of what a cost is the difference of


def certify_labels(
    labels: Any,
    data: Any,
    objective: str = "kmeans",
    *,
    sample_weight: Any = None,
    tol: float = 1e-3,
    time_limit: float | None = None,
    noise_label: Any = -1,
) -> LabelProof:
    """Prove a lower bound on the cost of *every* partition into as many groups, and compare the labels with it (24).

    Parameters
    ----------
    labels : one a point, numbers or strings, from any tool.
    data : the points, one row each ("kmeans"); a kernel matrix ("kernel"); affinities >= 0 ("normalized-cut").
    objective : "kmeans", the within-cluster sum of squares; "kernel", the same in the kernel's feature space, Σ Kᵢᵢ − Σ_r
        (sum of K over group r)/(its size); "normalized-cut", Σ_r cut(r)/degree(r).
    sample_weight : how often each point counts; in a cut, what its row and its column are multiplied by.
    tol : when the bound is known to be within this share of the cost of the best that the relaxation can prove, stop. The gap
        of the labels may stay larger: it is what it is.
    time_limit : seconds; the bound at that time is returned, and holds.
    noise_label : points with this label are left out, and the sentence says so; None: no label means noise.

    Returns
    -------
    LabelProof : `cost`, `bound`, `gap`, `optimal`, `tightness`, `better_labels`, and `sentence`.
    """
    start = time.perf_counter()
    check_choice(objective, "objective", OBJECTIVES)
    tol = check_positive(tol, "tol")
    limit = math.inf if time_limit is None else check_positive(time_limit, "time_limit")
    points = _points(labels, data, objective, sample_weight, noise_label)
    with threads_for(len(points.codes)):
        problem, unit, notes = _pose(objective, points)
        found = _bound(problem, points.codes, tol, start + limit)
    return _proof(problem, points, found, notes, unit, time.perf_counter() - start)


class _Points(NamedTuple):
    """What takes part: data, codes 0 to k − 1 and weights without noise; where it stood; how many labels there were."""

    data: npt.NDArray[np.float64]
    codes: Codes
    weights: Vector | None
    kept: npt.NDArray[np.bool_]


def _points(labels: Any, data: Any, objective: str, sample_weight: Any, noise_label: Any) -> _Points:
    labels = list(labels) if isinstance(labels, Iterator) else labels
    codes = label_codes(labels, "labels")
    n = len(codes)
    matrix = as_matrix(data, "data")
    if len(matrix) != n:
        raise InputError(f"there are {n} labels and {len(matrix)} rows of data; pass one label for each row")
    if objective != "kmeans" and matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"objective={objective!r} needs a square matrix of affinities, and data has shape {matrix.shape}; for points in "
            f"rows use objective='kmeans', or pass a kernel matrix"
        )
    if matrix.shape[1] == 0:
        raise InputError(f"data has no columns (shape {matrix.shape}); at least one is needed")
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    kept = np.ones(n, dtype=bool)
    if noise_label is not None:
        kept = np.array([not _equals(label, noise_label) for label in labels])
        if not kept.any():
            raise InputError(
                f"all {n} labels are {noise_label!r}, which means noise, and nothing is left; noise_label=None keeps them"
            )
    if not kept.all():
        matrix = matrix[kept] if objective == "kmeans" else matrix[np.ix_(kept, kept)]
        weights = None if weights is None else weights[kept]
        codes = np.unique(codes[kept], return_inverse=True)[1].ravel().astype(np.int64)
    return _Points(matrix, codes, weights, kept)


def _equals(label: Any, noise_label: Any) -> bool:
    return bool(label == noise_label) or (isinstance(label, str) and label == str(noise_label))


def _pose(objective: str, points: _Points) -> tuple[Objective, float, list[str]]:
    """The objective, in what unit it counts, and what there is to say about the input."""
    notes = []
    if missing := int((~points.kept).sum()):
        notes.append(
            f"{missing} point{'' if missing == 1 else 's'} labelled as noise {'is' if missing == 1 else 'are'} left out."
        )
    k = int(points.codes.max()) + 1
    if objective == "kmeans":
        distinct = len(np.unique(points.data, axis=0)) if len(points.data) <= 10 * k else k
        if distinct < k:
            notes.append(
                f"There are only {distinct} distinct points for {k} clusters: the best partition costs nothing."
            )
        return *_checked_points(points), notes
    require_relaxation(len(points.codes))
    off = points.data[~np.eye(len(points.data), dtype=bool)]
    if len(off) > 2 and not points.data.diagonal().any() and off.min() > 0:
        notes.append(
            "The matrix is zero on its diagonal and positive elsewhere, as distances are; it should be affinities."
        )
    if objective == "normalized-cut":
        return Cut(check_cut(points.data), points.weights), 1.0, notes
    K = check_affinity(points.data, "the kernel matrix")
    problem = Kernel(K, points.weights)
    margin = is_semidefinite(K)
    if margin is None:
        notes.append(
            "The kernel is indefinite, so the cost is no sum of squares and may be negative; the bound holds all the same."
        )
    else:
        problem.lowest = -margin * float(len(K) if points.weights is None else points.weights.sum())
    return problem, 1.0, notes


def _checked_points(points: _Points) -> tuple[KMeans, float]:
    """Points of a size near one, so that no product over- or underflows, and the unit of their squares: powers of two."""
    X = points.data
    if (largest := float(np.abs(X).max())) > 1e150:
        raise InputError(
            f"data has entries as large as {largest:.3g}, whose squares overflow; divide by the largest entry"
        )
    if 0 < (spread := float((X.max(axis=0) - X.min(axis=0)).max())) < 1e-150:
        raise InputError(
            f"data varies by {spread:.3g} at most, and the squares of that vanish; multiply by a large constant"
        )
    unit = float(2.0 ** np.frexp(max(spread, 1e-12 * largest, 1e-300))[1])
    return KMeans(X / unit, points.weights), unit * unit


def _bound(problem: Objective, codes: Codes, tol: float, deadline: float) -> Found:
    n, k = len(problem), int(codes.max()) + 1
    cost = problem.cost(codes)
    if k in (1, n):
        return Found(cost, f"there is one partition into {k} group{'' if k == 1 else 's'}", 1.0)
    if cost == 0 and not isinstance(problem, Kernel):
        return Found(0.0, "no cost is below zero", 1.0)
    if isinstance(problem, KMeans):
        quick = thin_bound(problem, codes)
        if cost - quick <= OPTIMAL * abs(cost):
            return Found(quick, "a multiplier (25) made from the labels themselves", 1.0)
        if n > DENSE_ROWS:
            return large_bound(problem, codes, quick, tol, deadline)
    else:
        quick = rank_one_bound(problem, codes) if time.perf_counter() < deadline else -math.inf
        if cost - quick <= OPTIMAL * abs(cost):
            return Found(quick, "a multiplier (25) made from the labels themselves", 1.0)
    return relaxation_bound(problem, codes, tol, deadline, quick)


def relaxation_bound(problem: Objective, codes: Codes, tol: float, deadline: float, quick: float = -math.inf) -> Found:
    """The bound of (22), solved until it settles; and the best partition that rounding has met."""
    require_relaxation(len(problem))
    n, k = len(problem), int(codes.max()) + 1
    weight = np.ones(n) if problem.s is None else problem.s
    unit = float(np.sqrt(np.mean(weight**2)))
    s = None if problem.s is None else weight / unit
    best, value = improve(lambda S: problem.A @ S, codes, weight / unit)
    cost = abs(problem.cost(best))
    reach = tol * cost / max(abs(value), float(np.finfo(np.float64).tiny))
    run = RelaxationRun(
        Problem(problem.A, s, float(k), unit),
        min(max(reach, _LEAST_TOL), _LARGEST_TOL),
        time_limit=max(deadline - time.perf_counter(), 1e-3),
        rounding=True,
        best_labels=best,
        best_value=value,
    )
    seen = [-math.inf]

    def enough(upper: float, _: float) -> bool:
        seen.append(max(seen[-1], problem.lower(upper, k)))
        return len(seen) > 3 and seen[-1] - seen[-2] <= _SETTLED * tol * cost

    run.enough = enough
    answer = run.solve()
    bound = problem.lower(run.bound, k)
    if bound < quick:
        return Found(quick, "a multiplier (25) made from the labels themselves", answer.tightness, run.best_labels)
    return Found(bound, _method(answer), answer.tightness, run.best_labels)


def _method(answer: Relaxation) -> str:
    return f"the semidefinite relaxation (22), {answer.n_iter} iterations, and the bound (24)"


def _proof(
    problem: Objective, points: _Points, found: Found, notes: list[str], unit: float, seconds: float
) -> LabelProof:
    k = int(points.codes.max()) + 1
    cost = problem.cost(points.codes)
    better, better_cost = None, None
    if found.labels is not None and (other := problem.cost(found.labels)) < cost - _BETTER * abs(cost):
        better = np.full(len(points.kept), -1, dtype=np.int64)
        better[points.kept], better_cost = found.labels, other
    bound = min(found.bound, cost if better_cost is None else better_cost)
    optimal = better is None and cost - bound <= OPTIMAL * abs(cost) + _ROUNDING * problem.size(k)
    tightness = 1.0 if optimal and found.tightness is not None else found.tightness
    return LabelProof(
        objective=problem.name,
        n_points=len(points.codes),
        n_noise=int((~points.kept).sum()),
        n_clusters=k,
        cost=unit * cost,
        bound=unit * bound,
        optimal=optimal,
        tightness=tightness,
        method=found.method,
        seconds=seconds,
        better_labels=better,
        better_cost=None if better_cost is None else unit * better_cost,
        estimate=None if found.estimate is None else unit * found.estimate,
        notes=tuple(notes),
    )
