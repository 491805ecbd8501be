"""What is proven about labels, in numbers and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class LabelProof:
    """How far labels are from the best possible ones.

    No partition of these points into `n_clusters` groups costs less than `bound`: that is proven, whatever the solver did,
    with rounding counted. `better_labels` is a partition that costs less than the labels, where one was met, with its
    `better_cost`; noise keeps its label. `tightness` is (23), None where no relaxation was solved on these very points.
    `estimate`, of large data only, is no proof: what the bound is on average on samples, scaled to all points.
    `method` says where the bound comes from.
    """

    objective: str
    n_points: int
    n_noise: int
    n_clusters: int
    cost: float
    bound: float
    optimal: bool
    tightness: float | None
    method: str
    seconds: float
    better_labels: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    better_cost: float | None = None
    estimate: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """(cost − bound)/cost; zero for optimal labels, infinite where the cost is not positive and the bound is lower."""
        return _gap(self.cost, self.bound, self.optimal)

    @property
    def better_gap(self) -> float | None:
        """The same of the better partition."""
        return None if self.better_cost is None else _gap(self.better_cost, self.bound, False)

    @property
    def sentence(self) -> str:
        """The proof in words."""
        said = [_verdict(self), *self.notes]
        if self.better_cost is not None:
            said.append(f"A better partition was met (better_labels): it costs {self.better_cost:.6g}.")
        if self.estimate is not None:
            said.append(f"On samples the bound is about {self.estimate:.6g}: an estimate, not a proof.")
        return " ".join(said)

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """All numbers and words, for JSON; infinity becomes None."""
        finite = self.gap if np.isfinite(self.gap) else None
        return {
            "objective": self.objective,
            "n_points": self.n_points,
            "n_noise": self.n_noise,
            "n_clusters": self.n_clusters,
            "cost": self.cost,
            "bound": self.bound,
            "gap": finite,
            "optimal": self.optimal,
            "tightness": self.tightness,
            "better_cost": self.better_cost,
            "better_labels": None if self.better_labels is None else self.better_labels.tolist(),
            "estimate": self.estimate,
            "method": self.method,
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
            "sentence": self.sentence,
        }


def _gap(cost: float, bound: float, optimal: bool) -> float:
    if optimal or cost <= bound:
        return 0.0
    return (cost - bound) / cost if cost > 0 else float("inf")


def _verdict(proof: LabelProof) -> str:
    k = f"{proof.n_clusters} cluster{'' if proof.n_clusters == 1 else 's'}"
    if proof.optimal:
        return f"These labels cost {proof.cost:.6g}; no partition into {k} costs less: proven optimal."
    what = (
        f"These labels cost {proof.cost:.6g}; no partition into {k} costs less than {_digits(proof.bound, proof.cost)}"
    )
    return (
        f"{what}: proven within {_rounded(100 * proof.gap, 2, ROUND_CEILING):.2g} %."
        if np.isfinite(proof.gap)
        else f"{what}."
    )


def _digits(bound: float, cost: float) -> str:
    """Six digits, or as many as show the gap; rounded down, for a bound is a bound."""
    for digits in range(6, 18):
        short = _rounded(bound, digits, ROUND_FLOOR)
        if bound - short <= 0.1 * (cost - bound):
            break
    return f"{short:.{digits}g}"


def _rounded(value: float, digits: int, direction: str) -> float:
    return float(Context(prec=digits, rounding=direction).create_decimal_from_float(value))
