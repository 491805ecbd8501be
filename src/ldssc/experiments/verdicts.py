"""MATCH, BETTER or WORSE: one rule for every error rate, fixed before anything was computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

MATCH, BETTER, WORSE, ABSENT = "MATCH", "BETTER", "WORSE", ""
LEAST = 0.005
PRINTED = 5e-5  # half of the last printed digit


def tolerance(n: int) -> float:
    """One sample, or half a per cent, whichever is more."""
    return max(1 / n, LEAST)


def verdict(ours: float | None, paper: float | None, n: int) -> str:
    """MATCH within `tolerance` of the printed number, else BETTER or WORSE; "" where one of the two does not exist."""
    if ours is None or paper is None:
        return ABSENT
    if abs(ours - paper) <= tolerance(n) + PRINTED:
        return MATCH
    return BETTER if ours < paper else WORSE


def counts(found: Iterable[str]) -> dict[str, int]:
    """How often each verdict was given; what was not given is not counted."""
    counted = Counter(found)
    return {word: counted[word] for word in (MATCH, BETTER, WORSE)}
