"""Tables II and III: both are the same table for other sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ldssc.experiments import paper_numbers as paper
from ldssc.experiments import verdicts
from ldssc.experiments.clustering import load_set, majority_error
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.protocols import Value, alternatives, protocol_a, protocol_b, readings, tasks
from ldssc.experiments.settings import EXACT_ROW, ROWS, ErrorRates

COLUMNS = ("dataset", "method", "statistic", "protocol", "ours", "paper", "verdict", "n_parameters", "distance")
MAJORITY = "majority class"


def plan(request: Request, settings: ErrorRates) -> Plan:
    """The cells of the table, and its rows from them."""
    there, missing = available(settings.sets, request.data)
    every = [task for name in there for task in tasks(name, settings, request)]

    def finish(found: Found) -> tuple[list[Path], Page]:
        rows = [row for name in there for row in set_rows(found, name, settings, request.data)]
        name = f"table{settings.number}"
        files = [
            write_csv(request.out / f"{name}.csv", rows, COLUMNS),
            write_csv(
                request.out / f"{name}-readings.csv", rows, (*COLUMNS[:5], "choice", "nearest", "nearest_verdict")
            ),
        ]
        changed = {method: _changed(found, there, method, settings) for method in ("FSC", EXACT_ROW)}
        return files, _page(name, rows, there, settings, changed)

    return Plan(every, finish, missing)


def set_rows(found: Found, name: str, settings: ErrorRates, data: Path) -> list[dict[str, Any]]:
    """All rows of one set."""
    y = load_set(name, data).y
    first: dict[str, Any] = {"dataset": name, "method": MAJORITY, "statistic": "lowest", "ours": majority_error(y)}
    rows = [first]
    for statistic, printed in paper.STATISTICS.items():
        for method in ROWS:
            # the exact solution is what both LD-SSC rows approximate: it is held against the first of them
            number = printed["LD-SSC1" if method == EXACT_ROW else method].get(name)
            for protocol in ("A", "B"):
                value = _value(found, name, method, statistic, protocol, settings)
                rows.append(_row(name, method, statistic, protocol, value, number, len(y)))
                if protocol == "B":
                    near = protocol_b(found, name, method, statistic, settings, near=number)
                    rows[-1]["nearest"] = None if near is None else near.value
                    rows[-1]["nearest_verdict"] = verdicts.verdict(rows[-1]["nearest"], number, len(y))
    return rows


def _value(found: Found, name: str, method: str, statistic: str, protocol: str, settings: ErrorRates) -> Value | None:
    if protocol == "A":
        return protocol_a(found, name, method, statistic, settings)
    return protocol_b(found, name, method, statistic, settings) if len(readings(name, settings)) > 1 else None


def _row(
    name: str, method: str, statistic: str, protocol: str, value: Value | None, number: float | None, n: int
) -> dict[str, Any]:
    ours = None if value is None else value.value
    return {
        "dataset": name,
        "method": method,
        "statistic": statistic,
        "protocol": protocol,
        "ours": ours,
        "paper": number,
        "verdict": verdicts.verdict(ours, number, n),
        "n_parameters": 0 if value is None else value.n_parameters,
        "distance": None if value is None else value.distance,
        "choice": "" if value is None else value.choice,
    }


def _changed(found: Found, there: list[str], method: str, settings: ErrorRates) -> list[dict[str, Any]]:
    worth = {name: alternatives(found, name, method, settings) for name in there}
    titles = dict.fromkeys(title for own in worth.values() for title in own)
    return [{"choice": title, **{name: own.get(title) for name, own in worth.items()}} for title in titles]


def _page(
    name: str,
    rows: list[dict[str, Any]],
    there: list[str],
    settings: ErrorRates,
    changed: dict[str, list[dict[str, Any]]],
) -> Page:
    counted = {
        protocol: verdicts.counts(
            row["verdict"] for row in rows if row.get("protocol") == protocol and row["method"] != EXACT_ROW
        )
        for protocol in ("A", "B")
    }
    reached = sum(row.get("nearest_verdict") == verdicts.MATCH for row in rows if row["method"] != EXACT_ROW)
    of = sum(bool(row.get("nearest_verdict")) for row in rows if row["method"] != EXACT_ROW)
    body = [
        f"Some reading that B searched comes within the tolerance of {reached} of {of} printed numbers. "
        f"Grid of A: {_grid(settings.widths)} times the median distance, or d = {_grid(settings.degrees)}. "
        "`LD-SSC exact` is the solution itself within the distance given; `LD-SSC1` and `LD-SSC2` are the paper's "
        "algorithms with the paper's iteration counts, their matrix unrepaired. An asterisk marks a misprint: no whole "
        "number of samples; (1 of 8): computed at one of eight parameters. Which reading B took is in "
        f"`{name}-readings.csv`. Empty: not computed in this run.\n"
    ]
    for statistic in paper.STATISTICS:
        for protocol in ("A", "B"):
            body += [f"## {statistic.capitalize()} error, protocol {protocol}: ours / paper, verdict\n"]
            body += [_wide(rows, there, statistic, protocol, settings)]
    body += ["## What one choice of A is worth: mean error where it alone is changed\n"]
    for method, other in changed.items():
        body += [f"`{method}`:\n", markdown(other, ("choice", *there))]
    return Page(name, f"Table {'I' * settings.number}: error rates", "\n".join(body), counted)


def _grid(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _wide(rows: list[dict[str, Any]], there: list[str], statistic: str, protocol: str, settings: ErrorRates) -> str:
    at = {(row["dataset"], row["method"]): row for row in rows if _is(row, statistic, protocol)}
    majority = {row["dataset"]: f"{row['ours']:.4f}" for row in rows if row["method"] == MAJORITY}
    shown: list[dict[str, Any]] = [{"method": MAJORITY, **majority}]
    for method in ROWS:
        shown.append({"method": method, **{name: _words(at[name, method], settings) for name in there}})
    return markdown(shown, ("method", *there))


def _is(row: dict[str, Any], statistic: str, protocol: str) -> bool:
    return bool(row["statistic"] == statistic and row.get("protocol") == protocol)


def _words(row: dict[str, Any], settings: ErrorRates) -> str:
    misprint = "*" if (row["method"], row["dataset"]) in paper.MISPRINTS and row["statistic"] == "lowest" else ""
    if row["ours"] is None:
        return ""
    of = len(settings.grid(row["dataset"]))
    part = f" ({row['n_parameters']} of {of})" if row["protocol"] == "A" and row["n_parameters"] < of else ""
    return f"{row['ours']:.4f}{part} / {row['paper']:.4f}{misprint} {row['verdict']}"
