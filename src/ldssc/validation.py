"""Bad input gets one clear sentence: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ldssc.exceptions import InputError
from ldssc.memory import require_memory

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]

#: Beyond this size the entries of F, at most one, are lost in the rounding of K.
LARGEST_ENTRY = 1e12
#: Largest ratio of two weights.
WIDEST = 1e10
#: Relative asymmetry that counts as rounding and is averaged away.
ASYMMETRY = 1e-8


def as_matrix(value: Any, name: str) -> Matrix:
    """A dense float64 copy-or-view of any real two-dimensional array, sparse ones included."""
    if sparse.issparse(value):
        if value.ndim != 2:
            raise InputError(f"{name} must have two dimensions, and has {value.ndim} (shape {value.shape})")
        require_memory(8.0 * value.shape[0] * value.shape[1], f"{name} as a dense array", "use fewer rows")
        value = value.toarray()
    if np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries; fill or remove them first")
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise InputError(f"{name} is not a table of numbers: {error}") from error
    if array.dtype.kind == "c":
        raise InputError(f"{name} is complex (dtype {array.dtype}); pass its real part or its modulus")
    if array.dtype.kind in "mM":
        raise InputError(
            f"{name} holds dates or times (dtype {array.dtype}), not numbers; turn them into numbers first"
        )
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} holds values that are not numbers (dtype {array.dtype}): {error}") from error
    if array.ndim != 2:
        raise InputError(f"{name} must have two dimensions, and has {array.ndim} (shape {array.shape})")
    dense: Matrix = array.astype(np.float64, copy=False)
    check_finite(dense, name)
    return dense


def check_finite(array: npt.NDArray[np.float64], name: str) -> None:
    """Name the first entry that is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        first = np.argwhere(bad)[0]
        place = ", ".join(str(int(i)) for i in first)
        raise InputError(
            f"{name} has {int(bad.sum())} entries that are NaN or infinite, the first at [{place}] "
            f"({array[tuple(first)]}); remove or fill them first"
        )


def check_square(matrix: Matrix, name: str) -> Matrix:
    """Square and not empty."""
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(f"{name} must be square, and has shape ({rows}, {columns})")
    if rows == 0:
        raise InputError(f"{name} is empty (0 x 0); at least one row is needed")
    return matrix


def symmetrise(matrix: Matrix, name: str) -> Matrix:
    """The symmetric part of a matrix that is symmetric up to rounding; others are refused. Always a new array."""
    scale = float(np.abs(matrix).max())
    difference = np.abs(matrix - matrix.T)
    worst = float(difference.max())
    if worst > ASYMMETRY * scale:
        i, j = np.unravel_index(int(difference.argmax()), matrix.shape)
        raise InputError(
            f"{name} is not symmetric: the largest |{name} - {name}^T| is {worst:.3g}, at [{i}, {j}]; "
            f"pass ({name} + {name}.T) / 2 if that is what you mean"
        )
    mean: Matrix = matrix / 2 + matrix.T / 2
    return mean


def check_affinity(value: Any, name: str = "K", *, nonnegative_for: str | None = None) -> Matrix:
    """A finite symmetric float64 matrix of usable size, as a new array; rounding-level asymmetry is repaired."""
    K = symmetrise(check_square(as_matrix(value, name), name), name)
    largest = float(np.abs(K).max())
    if largest > LARGEST_ENTRY:
        raise InputError(
            f"{name} has entries as large as {largest:.3g}; beyond {LARGEST_ENTRY:.0e} rounding hides the answer, "
            f"whose entries are at most 1: divide {name} by its largest entry first"
        )
    if nonnegative_for is not None and K.min() < 0:
        i, j = np.unravel_index(int(K.argmin()), K.shape)
        raise InputError(
            f"{name} has negative entries, the lowest {K[i, j]:.3g} at [{i}, {j}]; {nonnegative_for} needs "
            f"affinities >= 0: subtract the minimum, or use normalization='frobenius' or 'semidefinite', which take "
            f"any sign"
        )
    return K


def check_choice(value: Any, name: str, valid: Collection[str]) -> str:
    """One of the valid names, or a sentence that lists them."""
    if not isinstance(value, str) or value not in valid:
        raise InputError(f"{name}={value!r} is not known; valid names: {', '.join(sorted(valid))}")
    return value


def check_positive(value: Any, name: str, *, zero: bool = False) -> float:
    """A finite number above zero (or not below it)."""
    ok = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not ok or float(value) < 0 or (float(value) == 0 and not zero):
        raise InputError(f"{name} must be a number {'>= 0' if zero else '> 0'}, and is {value!r}")
    return float(value)


def check_count(value: Any, name: str, *, low: int = 1, high: int | None = None, high_name: str = "") -> int:
    """A whole number between low and high."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be a whole number, and is {value!r}")
    count = int(value)
    if count < low:
        raise InputError(f"{name} must be at least {low}, and is {value}")
    if high is not None and count > high:
        limit = f"{high_name}={high}" if high_name.isidentifier() else f"{high_name or 'the largest possible'}, {high}"
        raise InputError(f"{name}={value} is more than {limit}")
    return count


def check_weights(value: Any, n: int) -> Vector:
    """One positive finite weight a row."""
    try:
        given = np.asarray(value)
        weights = given.astype(np.float64, casting="same_kind" if given.dtype.kind in "fiub" else "safe")
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be real numbers, one a row: {error}") from error
    if weights.shape != (n,):
        raise InputError(f"weights must hold one number a row, {n} in all, and has shape {weights.shape}")
    check_finite(weights, "weights")
    if weights.min() <= 0:
        i = int(weights.argmin())
        raise InputError(
            f"weights must be positive, and weights[{i}] is {weights[i]:g}; leave out rows that count nothing"
        )
    if weights.max() / WIDEST > weights.min():
        raise InputError(
            f"weights run from {weights.min():.3g} to {weights.max():.3g}; beyond a ratio of {WIDEST:.0e} the light rows are "
            f"lost in rounding: leave them out"
        )
    return weights


def check_limits(
    tol: Any, max_iter: Any, time_limit: Any, callback: Any, checkpoint_interval: Any
) -> tuple[float, float, float]:
    """The tolerance, and the numbers of iterations and of seconds that are allowed: infinite where they are None."""
    tol = check_positive(tol, "tol")
    if max_iter is not None:
        check_count(max_iter, "max_iter")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function of a record, or None, and is {callback!r}")
    check_positive(checkpoint_interval, "checkpoint_interval", zero=True)
    return tol, np.inf if max_iter is None else max_iter, np.inf if time_limit is None else time_limit
