"""Arrays of other libraries than NumPy: recognised, checked, and kept on their device."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array, is_torch_array
from scipy import sparse

from ldssc.blocks import row_blocks
from ldssc.exceptions import InputError
from ldssc.projections.namespace import beside, namespace
from ldssc.validation import ASYMMETRY, LARGEST_ENTRY, Matrix

SINGLE, DOUBLE = "float32", "float64"


def is_foreign(value: Any) -> bool:
    """Whether this is an array of the array API that is not NumPy's."""
    return not isinstance(value, np.ndarray | np.generic) and not sparse.issparse(value) and is_array_api_obj(value)


def precision(dtype: Any) -> str:
    """float32 or float64, however it was named: a string, a NumPy type, or another library's."""
    if dtype is None:
        return DOUBLE
    if isinstance(dtype, type) and issubclass(dtype, np.generic):
        dtype = np.dtype(dtype)
    name = dtype if isinstance(dtype, str) else str(dtype).rpartition(".")[2]
    if name in (SINGLE, DOUBLE):
        return name
    raise InputError(f"dtype must be float32 or float64, and is {dtype!r}")


def check_foreign(value: Any, name: str = "K") -> Matrix:
    """A finite symmetric float64 matrix on the device of the given one, as a new array; see `validation.check_affinity`."""
    if is_jax_array(value):
        raise InputError(f"{name} is a JAX array, which cannot be written to; pass np.asarray({name})")
    if is_torch_array(value):
        value = value.detach()
    xp = namespace(value)
    if value.ndim != 2 or value.shape[0] != value.shape[1]:
        raise InputError(f"{name} must be square, and has shape {tuple(value.shape)}")
    if value.shape[0] == 0:
        raise InputError(f"{name} is empty (0 x 0); at least one row is needed")
    if not xp.isdtype(value.dtype, ("real floating", "integral", "bool")):
        raise InputError(f"{name} must hold real numbers, and is of type {value.dtype}")
    try:
        K = xp.astype(value, xp.float64, copy=True)
    except (TypeError, RuntimeError) as error:
        raise InputError(f"{name} is on a device without float64 ({value.device}); move it to the CPU first") from error
    if not bool(xp.all(xp.isfinite(K))):
        raise InputError(f"{name} has entries that are NaN or infinite; remove or fill them first")
    largest = worst = 0.0
    for rows in row_blocks(K):
        largest = max(largest, float(xp.max(xp.abs(K[rows, :]))))
        worst = max(worst, float(xp.max(xp.abs(K[rows, :] - K[:, rows].T))))
    if worst > ASYMMETRY * largest:
        raise InputError(
            f"{name} is not symmetric: the largest |{name} - {name}^T| is {worst:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is what you mean"
        )
    if largest > LARGEST_ENTRY:
        raise InputError(
            f"{name} has entries as large as {largest:.3g}; beyond {LARGEST_ENTRY:.0e} rounding hides the answer, "
            f"whose entries are at most 1: divide {name} by its largest entry first"
        )
    mean: Matrix = (K + K.T) / 2
    return mean


def like(value: Any, A: Matrix) -> Matrix:
    """An array of any library as a new float64 array of A's kind, on its device."""
    xp = namespace(A)
    if is_foreign(value) and namespace(value) is xp:
        return xp.astype(value, A.dtype, copy=True)  # type: ignore[no-any-return]
    return xp.asarray(np.array(value, dtype=np.float64), **beside(A))  # type: ignore[no-any-return]
