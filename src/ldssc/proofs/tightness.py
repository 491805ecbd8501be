"""One number that says whether a partition of this data into so many groups is real: `trust`.

It is the tightness (23) of the relaxation (22) for A = −P, P the Fermat distances of power 2 of the standardised data: one
where the best G is a partition, small where it is a blur of many. Equal points are merged and weighted (19). What makes it
lie is guarded against: isolated points and tiny groups make any G tight, so they are left out, and said.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError
from ldssc.fermat import fermat_distances
from ldssc.labels import as_random_state
from ldssc.metrics import error_rate, label_codes
from ldssc.proofs.relaxation import relax
from ldssc.proofs.rounding import Codes, round_factor
from ldssc.proofs.verdict import Trust
from ldssc.solvers.records import Status
from ldssc.validation import Matrix, Vector, as_matrix, check_count

#: Points, above which samples are looked at.
WHOLE = 1000
_SAMPLE, _SAMPLES = 500, 5
_TINY = 0.1  # of the mean size: a smaller group is no group, nor is a single point
_LOSS = 0.05  # of the points, at most, are left out
_ROUNDS = 5
_TOL, _MAX_ITER = 1e-3, 600


def trust(
    data: Any,
    labels_or_k: Any,
    *,
    standardize: bool = True,
    null: int = 0,
    random_state: Any = 0,
    callback: Callable[[str], object] | None = None,
) -> Trust:
    """Say how real a partition of the data into k groups is: the tightness (23) of (22) on Fermat distances.

    Parameters
    ----------
    data : the points, one row each.
    labels_or_k : the number of groups, or labels, of which the number counts, and how far they agree with the partition that
        the relaxation finds; points labelled −1 are left out.
    standardize : divide each column by its standard deviation first.
    null : how many data sets without clusters to draw and solve for comparison: Gaussians of the same covariance and uniform
        boxes of the same extent, in turn, with as many points.
    random_state : seed of the samples (above 1,000 points) and of the null.
    callback : called with a few words before each step.

    Returns
    -------
    Trust : `value`, and a `sentence`.
    """
    start = time.perf_counter()
    X = as_matrix(data, "data")
    if X.size == 0:
        raise InputError(f"data is empty (shape {X.shape}); at least one row and one column are needed")
    null = check_count(null, "null", low=0)
    if not isinstance(standardize, bool | np.bool_):
        raise InputError(f"standardize must be True or False, and is {standardize!r}")
    rng = as_random_state(random_state)
    say = callback or (lambda _: None)
    X, codes, k, notes = _who(X, labels_or_k)
    X = _prepared(X, standardize)
    distinct = len(np.unique(X, axis=0))
    if distinct < k:
        raise InputError(
            f"there are {distinct} distinct points, which cannot make {k} clusters; ask for at most {distinct}"
        )
    looks = []
    for number, rows in enumerate(_samples(len(X), rng)):
        say(f"solving the relaxation ({number + 1})")
        looks.append(_look(X[rows], k, None if codes is None else codes[rows]))
    levels = []
    for number in range(null):
        say(f"solving data without clusters ({number + 1} of {null})")
        levels.append(_look(_without_clusters(X, min(len(X), _n_rows(len(X))), number, rng), k, None).value)
    return _summary(looks, k, len(X), codes is not None, levels, notes, time.perf_counter() - start)


class _Look(NamedTuple):
    value: float
    labels: Codes
    reliable: bool
    agreement: float | None


def _who(X: Matrix, labels_or_k: Any) -> tuple[Matrix, Codes | None, int, list[str]]:
    """The points that take part, their labels if given, and k."""
    if isinstance(labels_or_k, Integral):
        k = check_count(labels_or_k, "labels_or_k", low=2, high=len(X), high_name="the number of points")
        return X, None, k, []
    given = list(labels_or_k) if isinstance(labels_or_k, Iterator) else labels_or_k
    codes = label_codes(given, "labels_or_k")
    if len(codes) != len(X):
        raise InputError(f"there are {len(codes)} labels and {len(X)} rows of data; pass one label for each row")
    kept = np.array([not (label == -1 or label == "-1") for label in given])
    notes = [f"{int((~kept).sum())} points labelled −1 take no part."] if not kept.all() else []
    codes = np.unique(codes[kept], return_inverse=True)[1].ravel().astype(np.int64)
    k = len(np.unique(codes))
    if k < 2:
        raise InputError(
            f"the labels make {k} group{'' if k == 1 else 's'}, and one group is always a partition; pass two or more"
        )
    return X[kept], codes, k, notes


def _prepared(X: Matrix, standardize: bool) -> Matrix:
    """Centred; columns divided by their standard deviations, constant ones left out."""
    scale = np.abs(X).max(axis=0)
    X = X / np.where(scale > 0, scale, 1.0)
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    varies = spread > 1e-12
    if not varies.any():
        raise InputError(f"all {len(X)} points are equal: there is nothing to divide")
    divide = spread[varies] if standardize else scale.max() / scale[varies]
    return np.asarray(X[:, varies] / divide)


def _n_rows(n: int) -> int:
    return n if n <= WHOLE else _SAMPLE


def _samples(n: int, rng: np.random.RandomState) -> list[npt.NDArray[np.int64]]:
    if n <= WHOLE:
        return [np.arange(n)]
    return [np.sort(rng.choice(n, _SAMPLE, replace=False)).astype(np.int64) for _ in range(_SAMPLES)]


def _look(X: Matrix, k: int, codes: Codes | None) -> _Look:
    """The tightness of one set of points, without its isolated ones."""
    points, place, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    place, mass = place.ravel(), counts.astype(np.float64)
    kept = np.ones(len(points), dtype=bool)
    for _ in range(_ROUNDS):
        value, found = _solve(points[kept], mass[kept], k)
        sizes = np.bincount(found, mass[kept], minlength=k)
        tiny = np.isin(found, np.flatnonzero(sizes < max(_TINY * mass[kept].sum() / k, 1.5)))
        gone = float(mass[~kept].sum() + mass[kept][tiny].sum())
        if not tiny.any() or gone > _LOSS * mass.sum() or kept.sum() - tiny.sum() <= k:
            break
        kept[np.flatnonzero(kept)[tiny]] = False
    labels = np.full(len(points), -1, dtype=np.int64)
    labels[kept] = found
    labels = labels[place]
    both = labels >= 0
    agreement = None if codes is None else 1 - error_rate(codes[both], labels[both])
    return _Look(value, labels, not tiny.any(), agreement)


def _solve(points: Matrix, mass: Vector, k: int) -> tuple[float, Codes]:
    P = fermat_distances(points)
    mean = float((mass @ P @ mass) / mass.sum() ** 2)
    weights = None if (mass == 1).all() else mass
    answer = relax(-P / mean, k, weights=weights, tol=_TOL, max_iter=_MAX_ITER)
    if answer.status is Status.STOPPED:  # Ctrl-C ends one relaxation, and here is meant for all of them
        raise KeyboardInterrupt
    s = np.sqrt(mass)
    found = (
        answer.labels
        if answer.labels is not None
        else round_factor(answer.factor, s / math.sqrt(float(np.mean(mass))), k)
    )
    if found is None:  # all rows of G are alike
        found = np.zeros(len(points), dtype=np.int64)
    return answer.tightness, found


def _without_clusters(X: Matrix, n: int, number: int, rng: np.random.RandomState) -> Matrix:
    """As many points from one Gaussian of the same covariance, or from a box along its axes, in turn."""
    _, sizes, axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    wide = sizes > 1e-9 * sizes[0]
    spread = sizes[wide] / math.sqrt(len(X))
    shape = (n, len(spread))
    drawn = rng.standard_normal(shape) if number % 2 == 0 else rng.uniform(-math.sqrt(3), math.sqrt(3), shape)
    return np.asarray((drawn * spread) @ axes[wide])


def _summary(
    looks: list[_Look], k: int, n: int, given: bool, levels: list[float], notes: list[str], seconds: float
) -> Trust:
    values = [look.value for look in looks]
    whole = looks[0].labels if len(looks) == 1 else None
    left_out = int(np.sum([(look.labels < 0).sum() for look in looks]))
    seen = sum(len(look.labels) for look in looks)
    said = list(notes)
    if left_out:
        of = "points are" if len(looks) == 1 else f"of {seen} sampled points were"
        said.append(f"{left_out} isolated {of} left out.")
    reliable = sum(look.reliable for look in looks) > len(looks) / 2
    agreements = [look.agreement for look in looks if look.agreement is not None]
    return Trust(
        value=float(np.mean(values)),
        n_clusters=k,
        n_points=n,
        n_left_out=left_out,
        spread=(min(values), max(values)) if len(looks) > 1 else None,
        null=(min(levels), max(levels)) if levels else None,
        agreement=float(np.mean(agreements)) if given else None,
        reliable=reliable,
        seconds=seconds,
        labels=whole,
        notes=tuple(said),
    )
