"""Read the exact cases. `F + F_low` (likewise u, Q, Z) carries about 32 digits; F alone is F* rounded to float64."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class ExactCase:
    """K, the solution F of (1), multipliers as in (2), rank(Z), the residuals in 100 digits (make_cases.RESIDUALS)."""

    name: str
    K: Array
    F: Array
    F_low: Array
    u: Array
    Q: Array
    Z: Array
    u_low: Array
    Q_low: Array
    Z_low: Array
    rank: int
    residuals: Array

    @property
    def kind(self) -> str:
        """The class of the case: the part of its name before the slash."""
        return self.name.partition("/")[0]


def load_cases() -> list[ExactCase]:
    with np.load(Path(__file__).with_name("cases.npz"), allow_pickle=False) as stored:
        names = [field.name for field in fields(ExactCase)]
        prefixes = sorted({key[: len("case_000_")] for key in stored.files})
        return [
            ExactCase(**{name: value if (value := stored[p + name]).ndim else value.item() for name in names})
            for p in prefixes
        ]
