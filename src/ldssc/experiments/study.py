"""What the candidate explanations share: the cells of protocol A, and paired comparisons of errors on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.clustering import bundle_task
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Request
from ldssc.experiments.protocols import reading_a, record_of
from ldssc.experiments.settings import EXACT_ROW, Bundle, Candidates, ErrorRates, Method, Reading
from ldssc.experiments.statistics import paired_bootstrap, sign_test

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Study:
    """What all candidates share: the request, the limits, the grid of A, the sets that are there."""

    request: Request
    limits: Candidates
    grid: ErrorRates
    sets: Sequence[str]

    def cells(self, up_to: int) -> Iterator[tuple[str, float]]:
        """Set and parameter of every cell of A, for sets of up to so many samples."""
        for name in self.sets:
            if paper.SHAPES[name][0] <= up_to:
                for parameter in self.grid.grid(name):
                    yield name, parameter

    def task(self, name: str, parameter: float, bundle: Bundle, reading: Reading | None = None) -> Task:
        return bundle_task(name, self.request.data, reading or reading_a(name), parameter, bundle, self.grid.n_init)


class Candidate(NamedTuple):
    """A possible explanation: its cells, and rows and words from them."""

    name: str
    title: str
    tasks: Callable[[Study], list[Task]]
    answer: Callable[[Study, Found], tuple[Rows, str]]


def error_of(
    found: Found, name: str, parameter: float, method: str, bundle: Bundle | None = None, reading: Reading | None = None
) -> float | None:
    """The error of one cell under A, or under another reading."""
    record = record_of(found, name, reading or reading_a(name), parameter, method, bundle)
    return None if record is None else float(record["errors"]["True"])


def compared(
    study: Study, found: Found, variant: Method, bundle: Bundle, up_to: int, reference: str = EXACT_ROW
) -> Rows:
    """A row for every cell that has both errors."""
    rows = []
    for name, parameter in study.cells(up_to):
        pair = error_of(found, name, parameter, variant.name, bundle), error_of(found, name, parameter, reference)
        if None not in pair:
            values = (name, parameter, variant.name, pair[0], reference, pair[1])
            keys = ("dataset", "parameter", "variant", "error", "reference", "reference error")
            rows.append(dict(zip(keys, values, strict=True)))
    return rows


def verdict_of(rows: Rows) -> str:
    """Sign test and bootstrap of variant against reference."""
    if not rows:
        return "no cells"
    a, b = [row["error"] for row in rows], [row["reference error"] for row in rows]
    return f"{sign_test(a, b)}; difference {paired_bootstrap(a, b, [row['dataset'] for row in rows])}"
