"""How far two labelings are apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from ldssc.exceptions import InputError
from ldssc.memory import require_memory


def error_rate(labels_true: Iterable[Hashable], labels_pred: Iterable[Hashable]) -> float:
    """1 - accuracy under the best one-to-one map from predicted to true labels (the paper's error rate).

    Labels may be of any hashable kind and the two numbers of clusters may differ: a cluster that has no partner
    counts as wrong throughout.
    """
    true, pred = label_codes(labels_true, "labels_true"), label_codes(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise InputError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}; pass one label for each point in both"
        )
    size = (int(true.max()) + 1, int(pred.max()) + 1)
    require_memory(
        16.0 * size[0] * size[1], f"comparing {size[0]} classes with {size[1]} clusters", "pass class labels"
    )
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, (true, pred), 1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float((len(true) - counts[rows, columns].sum()) / len(true))


def label_codes(labels: Any, name: str) -> npt.NDArray[np.int64]:
    """0, 1, ... in order of first appearance."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputError(f"{name} must be a list of labels, and is {labels!r}")
    shape = getattr(labels, "shape", (0,))
    if len(shape) != 1:
        raise InputError(f"{name} must have one dimension, and has shape {shape}")
    seen: dict[Hashable, int] = {}
    codes = []
    for i, label in enumerate(labels):
        try:
            missing = bool(label != label)
            code = seen.setdefault(label, len(seen))
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}[{i}] is {label!r}, which cannot be a label; use numbers or strings") from error
        if missing:
            raise InputError(f"{name}[{i}] is missing (NaN); drop the points without a label first")
        codes.append(code)
    if not codes:
        raise InputError(f"{name} is empty; at least one label is needed")
    return np.array(codes, dtype=np.int64)
