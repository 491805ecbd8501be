"""Table V: memory of the parameters of L-BFGS-B, by the formula that gives the paper's digits, and of our whole runs.

The formulas, 16n² + 16n bytes for LD-SSC1 and 40n² + 24n for LD-SSC2, are read off the printed numbers. What is measured:
the peak of all arrays of `project` over two rounds (LD-SSC1), two iterations (LD-SSC2), and for the solvers `auto` and
`accelerated` over their first iterations; K itself is not counted.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ldssc
from ldssc.datasets import two_gaussians
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.cells import Cell
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, markdown, write_csv
from ldssc.experiments.settings import SEED, TABLE_V
from ldssc.experiments.verdicts import MATCH
from ldssc.solvers import ld_ssc1, ld_ssc2, project

FORMULAS: dict[str, Callable[[int], int]] = {"LD-SSC1": ld_ssc1.paper_bytes, "LD-SSC2": ld_ssc2.paper_bytes}
DIFFERS = "DIFFERS"
MEASURED: dict[str, dict[str, Any]] = {
    "LD-SSC1": {"solver": "ld-ssc1", "max_iter": 2},
    "LD-SSC2": {"solver": "ld-ssc2", "max_iter": 2},
    "auto": {"solver": "auto", "max_iter": 5},
    "accelerated": {"solver": "accelerated", "max_iter": 5},
}
MIB = 2.0**20
COLUMNS = ("dataset", "n", "method", "formula", "paper", "verdict", "peak of a run")


def plan(request: Request) -> Plan:
    """One cell a size: the peaks; the formula needs none."""
    sizes = {name: paper.SHAPES[name][0] for name in TABLE_V}
    limit = 400 if request.quick else 10**9
    tasks = {n: _task(n) for n in sizes.values() if n <= limit}

    def finish(found: Found) -> tuple[list[Path], Page]:
        peaks = {n: found[task.key].record for n, task in tasks.items() if task.key in found}
        rows = [row for name, n in sizes.items() for row in _rows(name, n, peaks.get(n, {}))]
        counted = {word: sum(row["verdict"] == word for row in rows) for word in (MATCH, DIFFERS)}
        body = (
            "In MiB. `formula`: 16n² + 16n bytes for LD-SSC1, 40n² + 24n for LD-SSC2; MATCH where it gives the printed "
            "digits. `peak of a run`: all arrays of our `project` at once over its first iterations and their proof, K not "
            "counted, so what a user needs, and not the same thing.\n\n" + markdown(rows, COLUMNS)
        )
        page = Page("table5", "Table V: memory", body, {"": counted})
        return [write_csv(request.out / "table5.csv", rows, COLUMNS)], page

    return Plan(list(tasks.values()), finish)


def printed(value: float, like: str) -> str:
    """A number to as many decimals as the paper gives."""
    return f"{value:.{len(like.split('.')[1])}f}"


def _rows(name: str, n: int, peaks: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for method in MEASURED:
        row: dict[str, Any] = {
            "dataset": name,
            "n": n,
            "method": method,
            "peak of a run": peaks.get(method),
            "verdict": "",
        }
        if method in FORMULAS:
            number = paper.MEMORY[method][name]
            formula = printed(FORMULAS[method](n) / MIB, number)
            row |= {"formula": formula, "paper": number, "verdict": MATCH if formula == number else DIFFERS}
        rows.append(row)
    return rows


def _task(n: int) -> Task:
    return Task(
        "memory", f"n{n}", {"runs": MEASURED, "version": ldssc.__version__}, peak_cell, (n,), 60 * (n / 1000) ** 3
    )


def peak_cell(n: int) -> Cell:
    """The peaks at one size, on two Gaussian classes: memory hangs on n alone."""
    K = ldssc.gaussian_affinity(two_gaussians(n, random_state=SEED).X)
    project(K[:9, :9])  # what is imported at first use is no array of the run
    peaks = {}
    for method, options in MEASURED.items():
        tracemalloc.start()
        try:
            project(K, tol=1e-9, **options)
            peaks[method] = tracemalloc.get_traced_memory()[1] / MIB
        finally:
            tracemalloc.stop()
    return Cell(peaks, np.zeros(0))
