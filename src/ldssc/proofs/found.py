"""What a search for a bound comes home with."""

from __future__ import annotations

from typing import NamedTuple

from ldssc.proofs.rounding import Codes


class Found(NamedTuple):
    """A lower bound on all costs, where it comes from, and what was met on the way."""

    bound: float
    method: str
    tightness: float | None = None
    labels: Codes | None = None
    estimate: float | None = None
