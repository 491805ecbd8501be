"""Table IV: the lowest error and the time of CVX-SSC, LD-SSC1 and LD-SSC2, and of ours, at the fixed parameter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldssc.experiments import paper_numbers as paper
from ldssc.experiments import verdicts
from ldssc.experiments.clustering import bundle_task
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import errors, own_distance, reading_a, record_of
from ldssc.experiments.settings import (
    EXACT_BUNDLE,
    LARGE,
    LD1_BUNDLE,
    LD2_BUNDLE,
    MIDDLE,
    TABLE_II,
    TABLE_II_QUICK,
    TABLE_IV,
    TABLE_IV_FULL,
    TABLE_IV_QUICK,
    Bundle,
    ErrorRates,
    Timings,
    fixed_parameter,
    solved,
)

COLUMNS = (
    *("dataset", "n", "method", "seconds", "paper seconds", "status", "distance", "iterations", "error"),
    *("lowest", "paper lowest", "verdict", "n_parameters"),
)


def timings(request: Request) -> tuple[Timings, ErrorRates]:
    """The limits of the run, and the grid for CVX-SSC's lowest error."""
    if request.quick:
        return TABLE_IV_QUICK, TABLE_II_QUICK
    return (TABLE_IV_FULL if request.full else TABLE_IV), TABLE_II


def conic_bundle(chosen: Timings) -> Bundle:
    """CVX-SSC."""
    return solved("conic", chosen.conic_tol, chosen.conic_limit)


def bundles(name: str, request: Request, chosen: Timings) -> list[Bundle]:
    """What is timed at the fixed parameter of one set: the paper's rows, then ours."""
    n = paper.SHAPES[name][0]
    found = [conic_bundle(chosen)] if n <= chosen.conic_up_to else []
    if n <= MIDDLE or not request.quick:
        found.append(LD1_BUNDLE)
    found.append(LD2_BUNDLE)
    if n <= LARGE or request.full:
        found.append(solved("ld-ssc1", chosen.tol, chosen.limit))
    return [*found, solved("ld-ssc2", chosen.tol, chosen.limit), EXACT_BUNDLE]


def conic_tasks(name: str, request: Request, chosen: Timings, grid: ErrorRates) -> list[Task]:
    """CVX-SSC at every parameter of A, where the paper has it."""
    if paper.SHAPES[name][0] > chosen.conic_up_to:
        return []
    bundle, reading = conic_bundle(chosen), reading_a(name)
    return [bundle_task(name, request.data, reading, value, bundle, grid.n_init) for value in grid.grid(name)]


def plan(request: Request) -> Plan:
    """All of `bundles` at the fixed parameter, and CVX-SSC over the grid; the presets are the cells of Tables II and III."""
    chosen, grid = timings(request)
    there, missing = available(chosen.sets, request.data)
    every = [task for name in there for task in conic_tasks(name, request, chosen, grid)]
    for name in there:
        for bundle in bundles(name, request, chosen):
            every.append(bundle_task(name, request.data, reading_a(name), fixed_parameter(name), bundle, grid.n_init))

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows = [_row(found, name, bundle, chosen, grid) for name in there for bundle in bundles(name, request, chosen)]
        counted = {"lowest error": verdicts.counts(row["verdict"] for row in rows)}
        page = Page("table4", "Table IV: time, and the lowest error of CVX-SSC", _body(rows, chosen), counted)
        return [write_csv(request.out / "table4.csv", rows, COLUMNS)], page

    return Plan(every, finish, missing)


def _row(found: Found, name: str, bundle: Bundle, chosen: Timings, grid: ErrorRates) -> dict[str, Any]:
    (method,), reading = bundle.methods, reading_a(name)
    row: dict[str, Any] = {"dataset": name, "n": paper.SHAPES[name][0], "method": method.name, "verdict": ""}
    row["paper seconds"] = paper.SECONDS.get(method.name.removesuffix(" converged"), _NONE).get(name)
    record = record_of(found, name, reading, fixed_parameter(name), method.name, bundle)
    if record is not None:
        row |= {key: record[key] for key in ("seconds", "status")} | {"error": record["errors"]["True"]}
        row |= {"distance": own_distance(record, method.name), "iterations": record["inner"] or record["iterations"]}
    if bundle == conic_bundle(chosen):
        rates = errors(found, name, reading, grid.grid(name), method.name, bundle=bundle).rates
        lowest, printed = min(rates, default=None), paper.CVX_LOWEST.get(name)
        row |= {"lowest": lowest, "paper lowest": printed, "n_parameters": len(rates)}
        row["verdict"] = verdicts.verdict(lowest, printed, row["n"])
    return row


def _body(rows: list[dict[str, Any]], chosen: Timings) -> str:
    timed: dict[str, dict[str, Any]] = {}
    for row in rows:
        timed.setdefault(row["dataset"], {"dataset": row["dataset"]})[row["method"]] = _seconds(row)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    speed = [_speed(name, rows) for name in timed]
    exact = EXACT_BUNDLE.methods[0].options["tol"]
    return (
        "Everything at the fixed parameter (the median distance, or d = 2; the paper's is not stated). `LD-SSC1` and "
        "`LD-SSC2` run the paper's iteration counts; `converged` runs until a distance of "
        f"{chosen.tol:g} is proven, or {chosen.limit:g} s have passed; `LD-SSC exact` is our solver `auto` to {exact:g}. "
        f"`CVX-SSC` is CVXPY with SCS, asked for {chosen.conic_tol:g}; where it could not prove that, the table says so. "
        "The paper's times are of another machine, and its stopping rule is not stated: the ratios say more than the "
        "seconds.\n\n"
        "## Seconds: ours / paper's\n\n" + markdown(list(timed.values()), ("dataset", *methods)) + "\n"
        "## How many times longer, on this machine and in the paper\n\n"
        + markdown(speed, ("dataset", *_RATIOS, *(f"{ratio}, paper" for ratio in _RATIOS if "exact" not in ratio)))
        + "\n## All numbers\n\n"
        + markdown(rows, COLUMNS)
    )


_NONE: Mapping[str, float] = {}
_RATIOS = {
    "CVX-SSC / LD-SSC2": ("CVX-SSC", "LD-SSC2"),
    "LD-SSC1 / LD-SSC2": ("LD-SSC1", "LD-SSC2"),
    "LD-SSC2 converged / exact": ("LD-SSC2 converged", "LD-SSC exact"),
    "LD-SSC1 converged / exact": ("LD-SSC1 converged", "LD-SSC exact"),
}


def _speed(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"dataset": name}
    seconds = {row["method"]: row.get("seconds") for row in rows if row["dataset"] == name}
    for title, (slow, fast) in _RATIOS.items():
        ours = seconds.get(slow), seconds.get(fast)
        if ours[0] and ours[1]:
            found[title] = ours[0] / ours[1]
        if slow in paper.SECONDS and fast in paper.SECONDS and name in paper.SECONDS[slow]:
            found[f"{title}, paper"] = paper.SECONDS[slow][name] / paper.SECONDS[fast][name]
    return found


def _seconds(row: dict[str, Any]) -> str:
    if row.get("seconds") is None:
        return ""
    stopped = "" if row["status"] in ("SOLVED", "MAX_ITER") else f" ({row['status']})"
    printed = "" if row["paper seconds"] is None else f" / {row['paper seconds']:g}"
    return f"{row['seconds']:.2f}{stopped}{printed}"
