"""Rows as CSV, Markdown and a figure."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from judge import Verdict, by_kind, number, races, verdicts
from store import commit

Row = dict[str, Any]
FIGURE = ("blobs/gauss1", "moons/sqdist", "roll/gauss1", "blobs/zerodiag")
COLOURS = {"auto": "C0", "ld-ssc1": "C1", "ld-ssc2": "C2", "conic": "C3"}
LABELS = {"conic": "SCS through CVXPY", "ld-ssc1": "LD-SSC1", "ld-ssc2": "LD-SSC2"}
_CELL = ("goal", "problem", "solver", "n", "seed", "tol", "cap", "threads")
_FOUND = (
    *("status", "proven", "distance", "audited", "units", "units_cpu", "seconds", "cpu_seconds", "unit", "unit_cpu"),
    *("n_eig", "n_iter", "peak", "peak_bytes", "warm_up_seconds"),
)
_AUDIT = ("row_sum", "negativity", "indefiniteness", "asymmetry", "q_negativity", "z_indefiniteness")


def write(goal: str, rows: list[Row], here: dict[str, str], out: Path) -> list[Verdict]:
    """The table of one goal, as CSV and as Markdown; the verdicts."""
    found = verdicts(goal, rows)
    if rows:
        _write_csv(rows, out / f"{goal}.csv")
        projections = [row for row in rows if row["cell"]["solver"] == "torchdr"]
        rest = [row for row in rows if row not in projections]
        lines = [f"# {goal}", "", _heading(rows, here), "", *_judgements(found), "", *_table(rest)]
        if goal == "rivals":
            lines += ["", *_races(rows), "", *_torchdr(projections)]
        elif len(rows) > 3:
            auto = [row for row in rows if row["cell"]["solver"] == "auto"]
            lines += ["", *_grid(("affinity", "proven", "median units"), by_kind(auto))]
        (out / f"{goal}.md").write_text("\n".join(lines) + "\n")
    return found


def summary(rows: dict[str, list[Row]], here: dict[str, str], out: Path) -> None:
    """All verdicts on one page."""
    found = [verdict for goal, of_goal in rows.items() for verdict in verdicts(goal, of_goal)]
    everything = [row for of_goal in rows.values() for row in of_goal]
    if everything:
        heading = _heading(everything, here)
        (out / "summary.md").write_text("\n".join(["# The goals", "", heading, "", *_judgements(found)]) + "\n")


def _heading(rows: list[Row], here: dict[str, str]) -> str:
    cells = [row["cell"] for row in rows]
    seeds, threads = ({cell[key] for cell in cells} for key in ("seed", "threads"))
    loads = [row["load"] for row in rows]
    return (
        f"Commit {commit()}, library {here['code']}, seed {_list(seeds)}, threads {_list(threads)}, {here['processor']}, "
        f"Python {here['python']}, {here['packages']}, {here['blas']}. Load of the machine while measuring: "
        f"{min(loads):.1f} to {max(loads):.1f}. A unit is one eigendecomposition of a random symmetric matrix of the "
        f"same size, timed in the cell's own process; a dash was not proven within the cap."
    )


def _judgements(found: list[Verdict]) -> list[str]:
    return _grid(("goal", "measured", "wanted", ""), [(v.what, v.measured, v.goal, v.word) for v in found])


def _table(rows: list[Row]) -> list[str]:
    head = ("problem", "seed", "solver", "n", "tol", "cap", "status", "proven distance", "audited")
    head += ("CPU units", "wall units", "seconds", "eigs", "peak / n²")
    lines = []
    for row in rows:
        cell, found = row["cell"], row["found"]
        first = (cell["problem"], cell["seed"], cell["solver"], cell["n"])
        first += (f"{cell['tol']:g}", f"{cell['cap']:g}", found["status"])
        peak = f"{found['peak']:.1f}" if "peak" in found and cell["n"] >= 700 else ""
        figures = [_short(found.get(key), form) for key, form in _FORMS.items()]
        lines.append((*first, *figures, peak))
    return _grid(head, lines)


_FORMS = {"distance": ".1e", "audited": ".1e", "units_cpu": ".0f", "units": ".0f", "seconds": ".2f", "n_eig": "d"}


def _races(rows: list[Row]) -> list[str]:
    head = ("problem", "rival", "proven", "its units", "units of auto to the same", "times faster")
    return _grid(
        head,
        [
            (
                race.problem,
                race.rival,
                f"{race.distance:.1e}",
                number(race.theirs),
                number(race.ours),
                number(race.ratio),
            )
            for race in races(rows)
        ],
    )


def _torchdr(rows: list[Row]) -> list[str]:
    head = ("Π_D alone, without F ⪰ 0", "n", "our units", "our rows off", "TorchDR's units", "its rows off")
    head += ("its distance from ours", "times faster")
    lines = []
    for row in rows:
        ours, theirs = row["found"].get("ours"), row["found"]
        if ours is not None:
            figures = (number(ours["units_cpu"]), f"{ours['row_sum']:.0e}", number(theirs["units_cpu"]))
            ratio = number(theirs["units_cpu"] / ours["units_cpu"])
            figures += (f"{theirs['row_sum']:.0e}", f"{theirs['distance']:.1e}", ratio)
            lines.append((row["cell"]["problem"], row["cell"]["n"], *figures))
    return _grid(head, lines) if lines else []


def _grid(head: tuple[str, ...], lines: list[tuple[Any, ...]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(map(str, line))} |" for line in lines),
    ]


def _short(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _list(values: set[Any]) -> str:
    return ", ".join(map(str, sorted(values)))


def _write_csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*_CELL, *_FOUND, *_AUDIT, "load", "note"])
        for row in rows:
            cell, found = row["cell"], row["found"]
            writer.writerow(
                [
                    *(cell[key] for key in _CELL),
                    *(_digits(found.get(key, "")) for key in _FOUND),
                    *(_digits(found.get("audit", {}).get(key, "")) for key in _AUDIT),
                    f"{row['load']:.1f}",
                    found.get("note", ""),
                ]
            )


def _digits(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def figure(rows: list[Row], path: Path) -> None:
    """Proven distance against time at n = 220: one panel a problem, one line a solver."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row["cell"]["n"] == 220 and row["found"].get("history")]
    if not {row["cell"]["problem"] for row in rows} >= set(FIGURE):
        return
    seed = min(row["cell"]["seed"] for row in rows)
    drawing, panels = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True, layout="constrained")
    for panel, problem in zip(panels.flat, FIGURE, strict=True):
        mine = {
            row["cell"]["solver"]: row["found"]
            for row in rows
            if (row["cell"]["problem"], row["cell"]["seed"]) == (problem, seed)
        }
        for solver, colour in COLOURS.items():
            if solver not in mine:
                continue
            times, _, distances = zip(*mine[solver]["history"], strict=True)
            if solver == "conic":
                times = (mine[solver]["units_cpu"],)
            panel.loglog(times, distances, "o-", color=colour, markersize=3, label=LABELS.get(solver, solver))
        panel.set_title(problem, fontsize=10)
        panel.grid(True, which="major", alpha=0.3)
    drawing.supxlabel("time, in eigendecompositions of a random matrix of the same size")
    drawing.supylabel("proven distance")
    handles = {label: h for panel in panels.flat for h, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    drawing.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, fontsize=9)
    drawing.savefig(path, dpi=120)
    plt.close(drawing)
