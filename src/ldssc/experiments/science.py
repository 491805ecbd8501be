"""What explains the paper's gain of LD-SSC over FSC? The candidates one by one, and which claims of the paper hold.

The solution of (1) is unique, so CVX-SSC and LD-SSC must agree wherever both have converged and the labels are well posed.
The cells are those of protocol A, one K each; paired tests are over cells, intervals over data sets, since the cells of one
set are no independent evidence.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ldssc.experiments import candidates, claims
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, write_csv
from ldssc.experiments.protocols import tasks
from ldssc.experiments.settings import (
    SCIENCE,
    SCIENCE_QUICK,
    TABLE_II,
    TABLE_II_QUICK,
    TABLE_III,
    TABLE_III_QUICK,
    Candidates,
    ErrorRates,
)
from ldssc.experiments.study import Study

COLUMNS = ("candidate", "dataset", "parameter", "variant", "error", "reference", "reference error", "note")


def extent(request: Request) -> tuple[Candidates, ErrorRates]:
    """The candidates, and one grid for all twelve sets."""
    first, second = (TABLE_II_QUICK, TABLE_III_QUICK) if request.quick else (TABLE_II, TABLE_III)
    grid = replace(first, sets=first.sets + second.sets, search=False, full=request.full)
    return (SCIENCE_QUICK if request.quick else SCIENCE), grid


def plan(request: Request) -> Plan:
    """Protocol A's cells, and those of each candidate."""
    chosen, grid = extent(request)
    there, missing = available(grid.sets, request.data)
    study = Study(request, chosen, grid, there)
    every: list[Task] = [task for name in there for task in tasks(name, grid, request)]
    for candidate in candidates.CANDIDATES:
        every += candidate.tasks(study)
    every += claims.tasks(study)

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows: list[dict[str, Any]] = []
        body = ["## What explains the gain of LD-SSC over FSC?\n"]
        for i, candidate in enumerate(candidates.CANDIDATES):
            own, words = candidate.answer(study, found)
            rows += [{"candidate": candidate.name, **row} for row in own]
            body.append(f"### {i + 1}. {candidate.title}\n\n{words}")
        body.append("## Which claims of the paper hold?\n\n" + claims.page(study, found))
        files = [write_csv(request.out / "science.csv", rows, COLUMNS)]
        return files, Page("science", "What explains the paper's numbers", "\n".join(body))

    return Plan(every, finish, missing)
