"""What is proven about labels, and how far to trust a partition: in numbers and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np
import numpy.typing as npt

#: From this value on the study found the partition right within a tenth; below the second, hardly ever (benchmarks/trust).
BELIEVE, DOUBT = 0.95, 0.90


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


@dataclass(frozen=True, eq=False)
class Trust:
    """How far to believe in a partition into `n_clusters` groups, from 0 to 1, and why.

    `value` is a tightness, or the mean of several samples' with its `spread`; `null` is the range of the same number on data
    without clusters, if it was asked for. `labels` is the partition that it speaks of (−1: left out), None where samples were
    taken; `agreement` the share of the points on which the labels that were given are the same. `reliable` is false where
    tiny groups remain: then the number says nothing.
    """

    value: float
    n_clusters: int
    n_points: int
    n_left_out: int
    spread: tuple[float, float] | None
    null: tuple[float, float] | None
    agreement: float | None
    reliable: bool
    seconds: float
    labels: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    @property
    def believable(self) -> bool:
        """Whether the number is high enough, above the null's where there is one, and not an artefact."""
        return self.reliable and self.value >= max(DOUBT if self.null else BELIEVE, self.null[1] if self.null else 0.0)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        said = [f"{self.value:.2f}"]
        if self.spread is not None:
            said[0] += f" ({self.spread[0]:.2f} to {self.spread[1]:.2f} on samples)"
        if self.null is not None:
            said.append(f"data without clusters of this kind give {self.null[0]:.2f} to {self.null[1]:.2f}")
        what = f"{'; '.join(said)}: {_belief(self)}."
        if self.agreement is not None:
            share = f"{100 * self.agreement:.3g} %"
            what += f" The partition that this speaks of agrees with the labels on {share} of the points."
        return " ".join([what, *self.notes])

    def __str__(self) -> str:
        return self.sentence


def _belief(trust: Trust) -> str:
    if not trust.reliable:
        return "this says nothing, for the groups are isolated points"
    if trust.believable:
        return "believe it"
    low = DOUBT if trust.null is None else max(DOUBT, trust.null[1])
    return (
        f"not proven, look closer: the clusters of {trust.n_clusters} overlap"
        if trust.value >= low
        else (f"do not believe in {trust.n_clusters} clusters")
    )
