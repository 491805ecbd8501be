"""Figure 6: seconds against n, on two Gaussian classes and on Yale; the paper's algorithms, general solvers, ours."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import ldssc
from ldssc import affinity, plots
from ldssc.datasets import two_gaussians
from ldssc.exceptions import InputError
from ldssc.experiments.cells import Cell
from ldssc.experiments.clustering import affinity_matrix, compile_loops
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import reading_a
from ldssc.experiments.settings import (
    FIGURE_VI,
    FIGURE_VI_FULL,
    FIGURE_VI_QUICK,
    SEED,
    Growth,
    fixed_parameter,
)
from ldssc.solvers import project
from ldssc.solvers.conic import LARGEST_FOR_CLARABEL
from ldssc.validation import Matrix

CLARABEL = "CVX-SSC (Clarabel)"
SCS = "CVX-SSC (SCS)"
#: Arguments of `project`; the two conic solvers share a name, and take it by size.
METHODS: dict[str, dict[str, Any]] = {
    "LD-SSC1": {"solver": "ld-ssc1", "paper": True},
    "LD-SSC2": {"solver": "ld-ssc2", "paper": True},
    "LD-SSC1 converged": {"solver": "ld-ssc1"},
    "LD-SSC2 converged": {"solver": "ld-ssc2"},
    CLARABEL: {"solver": "conic"},
    SCS: {"solver": "conic"},
    "ours (auto)": {"solver": "auto"},
}
COLUMNS = ("data", "method", "n", "seconds", "distance", "status")


def plan(request: Request) -> Plan:
    """A cell a curve: a method that passes the limit at one size is not asked at the next."""
    chosen = FIGURE_VI_QUICK if request.quick else FIGURE_VI_FULL if request.full else FIGURE_VI
    there, missing = available(["yale"], request.data)
    kinds = {"toy": chosen.toy} | ({"yale": chosen.yale} if there else {})
    tasks = [_task(kind, sizes, method, chosen, request.data) for kind, sizes in kinds.items() for method in METHODS]

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows = [row for task in tasks if task.key in found for row in found[task.key].record["rows"]]
        files = [write_csv(request.out / "figure6.csv", rows, COLUMNS)]
        files += plots.write_figure(plots.growth_figure(rows, list(METHODS)), request.out, "figure6")
        body = (
            "![seconds against n](figure6.png)\n\n`LD-SSC1` and `LD-SSC2` run the paper's iteration counts; `converged` and "
            f"the others until a distance of {chosen.tol:g} is proven. A method that takes longer than {chosen.limit:g} s is "
            f"not asked at larger sizes; Clarabel is asked up to n = {LARGEST_FOR_CLARABEL}, where its memory allows. "
            "`exponent`: the slope of log seconds over log n from a hundred points on; the paper's claim is O(t·n³) for "
            "LD-SSC1 and LD-SSC2, and O(n^6.5) for interior point.\n\n"
            + markdown(_exponents(rows), ("data", "method", "exponent", "largest n"))
            + "\n"
            + markdown(rows, COLUMNS)
        )
        return files, Page("figure6", "Figure 6: time against size", body)

    return Plan(tasks, finish, missing)


def _task(kind: str, sizes: tuple[int, ...], method: str, chosen: Growth, data: Path) -> Task:
    settings = {"sizes": sizes, "growth": vars(chosen), "method": METHODS[method], "version": ldssc.__version__}
    word = method.replace(" ", "-").replace("(", "").replace(")", "")
    arguments = (kind, sizes, method, chosen, data)
    return Task(
        "growth", f"{kind}_{word}_{chosen.limit:g}s", settings, growth_cell, arguments, 300 * (max(sizes) / 1000) ** 2
    )


def growth_cell(kind: str, sizes: tuple[int, ...], method: str, chosen: Growth, data: Path) -> Cell:
    """One curve."""
    compile_loops()
    rows: list[dict[str, Any]] = []
    for n in sizes:
        if (method == CLARABEL and n > LARGEST_FOR_CLARABEL) or (method == SCS and n <= LARGEST_FOR_CLARABEL):
            continue
        row: dict[str, Any] = {"data": kind, "method": method, "n": n}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                options = {"tol": chosen.tol, "time_limit": chosen.limit, **METHODS[method]}
                result = project(problem(kind, n, data), **options)
        except InputError as error:
            rows.append({**row, "status": f"refused: {str(error).split(';')[0]}"})
            break
        rows.append(
            {**row, "seconds": result.seconds, "distance": result.certificate.distance, "status": result.status.name}
        )
        if result.seconds >= chosen.limit:
            break
    return Cell({"rows": rows}, np.zeros(0))


def problem(kind: str, n: int, data: Path) -> Matrix:
    """K of the first n images of Yale at the fixed parameter, or of n points in two Gaussian classes."""
    if kind == "yale":
        return np.ascontiguousarray(affinity_matrix("yale", data, reading_a("yale"), fixed_parameter("yale"))[:n, :n])
    return affinity.gaussian_affinity(two_gaussians(n, random_state=SEED).X)


def _exponents(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for kind, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        own = [r for r in rows if (r["data"], r["method"]) == (kind, method) and r.get("seconds")]
        timed = [row for row in own if row["status"] != "TIME_LIMIT" and row["n"] >= 100]
        exponent = None
        if len(timed) > 2:
            x, y = np.log([row["n"] for row in timed]), np.log([row["seconds"] for row in timed])
            exponent = float(np.polyfit(x, y, 1)[0])
        largest = max((row["n"] for row in own), default=None)
        found.append({"data": kind, "method": method, "exponent": exponent, "largest n": largest})
    return found
