"""Figure 3: error against the kernel parameter, a panel a set; the cells are those of Tables II and III."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ldssc import plots
from ldssc.experiments.clustering import load_set, majority_error
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import errors, reading_a, tasks
from ldssc.experiments.settings import (
    EXACT_ROW,
    ROWS,
    TABLE_II,
    TABLE_II_QUICK,
    TABLE_III,
    TABLE_III_QUICK,
    ErrorRates,
    is_polynomial,
)

COLUMNS = ("dataset", "parameter", "value", "method", "error")


def settings_of(request: Request) -> list[ErrorRates]:
    """Those of Tables II and III, without the search."""
    both = (TABLE_II_QUICK, TABLE_III_QUICK) if request.quick else (TABLE_II, TABLE_III)
    return [replace(settings, search=False, full=request.full) for settings in both]


def plan(request: Request) -> Plan:
    """Protocol A's cells."""
    both = settings_of(request)
    there, missing = available([name for settings in both for name in settings.sets], request.data)
    of = {name: next(s for s in both if name in s.sets) for name in there}
    every: list[Task] = [task for name in there for task in tasks(name, of[name], request)]

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows = [row for name in there for row in _rows(found, name, of[name])]
        files = [write_csv(request.out / "figure3.csv", rows, COLUMNS)]
        files += plots.write_figure(plots.error_curves(_panels(rows, there, request.data)), request.out, "figure3")
        return files, Page("figure3", "Figure 3: error against the kernel parameter", _body(rows, there))

    return Plan(every, finish, missing)


def _rows(found: Found, name: str, settings: ErrorRates) -> list[dict[str, Any]]:
    rows = []
    for method in ROWS:
        for value in settings.grid(name):
            rates = errors(found, name, reading_a(name), (value,), method).rates
            if rates:
                parameter = "d" if is_polynomial(name) else "δ / median distance"
                rows.append(dict(zip(COLUMNS, (name, parameter, float(value), method, rates[0]), strict=True)))
    return rows


def _panels(rows: list[dict[str, Any]], there: list[str], data: Path) -> list[plots.ErrorPanel]:
    panels = []
    for name in there:
        own = [row for row in rows if row["dataset"] == name]
        curves = {
            method: [(row["value"], row["error"]) for row in own if row["method"] == method]
            for method in ROWS
            if any(row["method"] == method for row in own)
        }
        loaded = load_set(name, data)
        label = "d" if is_polynomial(name) else "δ / median distance"
        panels.append(plots.ErrorPanel(loaded.name, label, curves, majority_error(loaded.y)))
    return panels


def _body(rows: list[dict[str, Any]], there: list[str]) -> str:
    spread = []
    for name in there:
        row: dict[str, Any] = {"dataset": name}
        for method in ROWS:
            rates = [r["error"] for r in rows if (r["dataset"], r["method"]) == (name, method)]
            if len(rates) > 1:
                row[method] = max(rates) - min(rates)
        spread.append(row)
    return (
        f"![error against the kernel parameter](figure3.png)\n\nThe dashed line is the error of one class. `{EXACT_ROW}` is "
        "the solution itself; the other LD-SSC curves are the paper's algorithms after the paper's iterations. How far "
        "each method's error moves over the grid (largest less smallest):\n\n" + markdown(spread, ("dataset", *ROWS))
    )
