"""Any of the tables and figures, by name, in one run that shares what they have in common."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ldssc.exceptions import InputError
from ldssc.experiments import report
from ldssc.experiments.cells import only_run
from ldssc.experiments.computing import Progress, compute
from ldssc.experiments.planning import Page, Plan, Request
from ldssc.validation import check_choice, check_count

#: Each is a module of this package with a function `plan`.
EXPERIMENTS = (
    *("table1", "table2", "table3", "table4", "table5", "table6"),
    *("figure2", "figure3", "figure4", "figure5", "figure6", "figure7", "science"),
)


class Outcome(NamedTuple):
    """What was written, and a sentence for everything that could not be computed."""

    files: list[Path]
    pages: list[Page]
    missing: list[str]


def reproduce(
    names: Sequence[str],
    request: Request,
    *,
    jobs: int = 1,
    pages: Path | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Compute the cells that are not there yet, and write tables, figures and pages (to OUT/pages unless said).

    Every cell is stored as it is computed: an interrupted run goes on where it was. A set that is missing or wrong is
    left out of everything, and named.
    """
    names = EXPERIMENTS if list(names) == ["all"] else [check_choice(name, "experiment", EXPERIMENTS) for name in names]
    check_count(jobs, "jobs")
    if request.quick and request.full:
        raise InputError("quick and full are both asked for; choose one")
    if not request.data.is_dir():
        raise InputError(
            f"there is no folder {request.data}; get the data with: ldssc data fetch all --to {request.data}"
        )
    start, failed, told = time.monotonic(), dict[str, str](), 0

    def say(line: str) -> None:
        nonlocal told
        told += 1
        if progress is not None:
            progress(line)

    with only_run(request.out):
        plans = [_plan(name, request) for name in names]
        tasks = [task for plan in plans for task in plan.tasks]
        found = compute(tasks, request.out, jobs=jobs, progress=say, failed=failed)
        finished = [plan.finish(found) for plan in plans]
        missing = list(dict.fromkeys(sentence for plan in plans for sentence in plan.missing))
        missing += [f"{key}: {sentence}" for key, sentence in failed.items()]
        made = report.Made(request, jobs, time.monotonic() - start, told, len(found) + len(failed) - told)
        files = [path for paths, _ in finished for path in paths]
        written = [page for _, page in finished]
        files += report.write_pages(pages or request.out / "pages", written, made, missing)
    return Outcome(files, written, missing)


def _plan(name: str, request: Request) -> Plan:
    plan: Plan = importlib.import_module(f"ldssc.experiments.{name}").plan(request)
    return plan
