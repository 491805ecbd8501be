"""The goals against the figures: MET or NOT MET.

Units on one thread are judged by the CPU's clock, which other work on the machine disturbs least; wall units stand
beside them, and are the same on an idle machine. Goals in seconds are judged by the wall's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import Any, NamedTuple

from goals import (
    ALLOWANCE,
    CLARABEL_N,
    COIL_SECONDS,
    LARGE_BYTES,
    LARGE_SECONDS,
    LD_SSC2_FASTER,
    MEDIANS,
    MEMORY,
    MEMORY_FROM,
    SCS_FASTER,
)
from problems import KINDS, NAMES

Row = dict[str, Any]


class Verdict(NamedTuple):
    """One goal, judged; `met` is None where the cells do not suffice to judge it."""

    what: str
    measured: str
    goal: str
    met: bool | None

    @property
    def word(self) -> str:
        """The judgement in capitals."""
        return {True: "MET", False: "NOT MET", None: "not judged"}[self.met]


def verdicts(goal: str, rows: list[Row]) -> list[Verdict]:
    """All judgements that a goal's rows allow; those on `auto`, except for memory and rivals."""
    if not rows:
        return []
    if goal == "rivals":
        return [*faster(rows), audited(goal, rows)]
    auto = [row for row in rows if row["cell"]["solver"] == "auto"]
    if goal in MEDIANS:
        found = medians(goal, auto)
    elif goal == "coil20":
        found = [seconds_to(row, COIL_SECONDS[row["cell"]["tol"]], "COIL-20") for row in auto]
    elif goal == "n5000":
        found = [verdict for row in auto for verdict in large(row)]
    else:
        found = []
    return [*found, *memory(rows), audited(goal, rows)]


def audited(goal: str, rows: list[Row]) -> Verdict:
    """How many of the claims the auditor confirmed."""
    claims = [row["found"] for row in rows if "audited" in row["found"]]
    good = sum(found["status"] != "FALSE CLAIM" for found in claims)
    what = f"{goal}: claims that the auditor confirms"
    return Verdict(what, f"{good} of {len(claims)}", "all", good == len(claims) if claims else None)


def medians(goal: str, rows: list[Row]) -> list[Verdict]:
    """Median units, and how many problems are proven within the allowance."""
    wanted = MEDIANS[goal]
    limit = ALLOWANCE * wanted.units
    what = f"n = {wanted.n}, proven {wanted.tol:g}"
    whole = {row["cell"]["problem"] for row in rows} == set(NAMES)
    cpu, wall = (median(units(row, clock) for row in rows) for clock in ("units_cpu", "units"))
    proven = sum(units(row) <= limit for row in rows)
    middle = median(row["found"].get("distance", math.inf) for row in rows)
    caps = {row["cell"]["cap"] for row in rows}
    cut = f" (cut at {min(caps):g})" if min(caps) < limit else ""
    decided = whole and (math.isfinite(cpu) or min(caps) >= wanted.units)
    all_met = True if proven == len(rows) else (None if cut else False)
    return [
        Verdict(
            f"{what}: median units of {len(rows)} problems",
            f"{number(cpu)} (wall {number(wall)}); median distance {middle:.1e}",
            f"{wanted.units:g}",
            cpu <= wanted.units if decided else None,
        ),
        Verdict(
            f"{what}: problems within {limit:g} units",
            f"{proven} of {len(rows)}{cut}",
            "all",
            all_met if whole else None,
        ),
    ]


def by_kind(rows: list[Row]) -> list[tuple[str, str, str]]:
    """For each kind of affinity: proven, and median units."""
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups[row["cell"]["problem"].split("/")[1]].append(units(row))
    return [
        (KINDS[kind], f"{sum(map(math.isfinite, found))} of {len(found)}", number(median(found)))
        for kind, found in groups.items()
    ]


def seconds_to(row: Row, limit: float, what: str) -> Verdict:
    """Seconds to a proof."""
    found = row["found"]
    seconds = found["seconds"] if found.get("proven") else math.inf
    measured = f"{number(seconds)} s" if math.isfinite(seconds) else _short_of(row)
    cut = found["status"] == "CAP" and found["seconds"] < limit
    return Verdict(
        f"{what}, proven {row['cell']['tol']:g}: seconds", measured, f"{limit:g} s", None if cut else seconds <= limit
    )


def large(row: Row) -> list[Verdict]:
    """n = 5,000: seconds, and bytes of the whole process."""
    what = f"n = {row['cell']['n']}, {row['cell']['problem']}"
    found = [seconds_to(row, LARGE_SECONDS, what)]
    if (peak := row["found"].get("peak_bytes")) is not None:
        met = peak <= LARGE_BYTES
        found.append(
            Verdict(f"{what}: the whole process", f"{peak / 2**30:.2f} GiB", f"{LARGE_BYTES / 2**30:g} GiB", met)
        )
    return found


def memory(rows: list[Row]) -> list[Verdict]:
    """The largest peak of each solver that has a goal for it."""
    peaks: dict[tuple[str, int], float] = {}
    for row in rows:
        key = row["cell"]["solver"], row["cell"]["n"]
        if key[0] in MEMORY and key[1] >= MEMORY_FROM and "peak" in row["found"]:
            peaks[key] = max(peaks.get(key, 0.0), row["found"]["peak"])
    found = []
    for (solver, n), peak in peaks.items():
        what = f"n = {n}: peak memory of {solver}, K not counted"
        found.append(Verdict(what, f"{peak:.1f} n²", f"{MEMORY[solver]:g} n²", peak <= MEMORY[solver]))
    return found


class Race(NamedTuple):
    """Units of a rival to its tolerance, or to the best distance that it proved, and ours to the same distance."""

    problem: str
    rival: str
    distance: float
    theirs: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times faster we are; 0 where we did not get there."""
        return self.theirs / self.ours


def races(rows: list[Row]) -> list[Race]:
    """Every rival on every problem that `auto` was measured on at the same size."""
    auto = {_instance(row): row for row in rows if row["cell"]["solver"] == "auto"}
    found = []
    for row in rows:
        cell = row["cell"]
        ours = auto.get(_instance(row))
        if cell["solver"] in ("auto", "torchdr") or ours is None or "distance" not in row["found"]:
            continue
        distance = max(row["found"]["distance"], cell["tol"])
        theirs = row["found"]["units_cpu"] if cell["solver"] == "conic" else reach(row, distance)
        found.append(Race(cell["problem"], rival_name(cell), distance, theirs, reach(ours, distance)))
    return found


def faster(rows: list[Row]) -> list[Verdict]:
    """Median ratios against the goals."""
    wanted = {"SCS": SCS_FASTER, "ld-ssc2": LD_SSC2_FASTER}
    groups: dict[str, list[float]] = defaultdict(list)
    for race in races(rows):
        groups[race.rival].append(race.ratio)
    found = []
    for rival, ratios in groups.items():
        goal = wanted.get(rival.split(",")[0])
        met = None if goal is None or len(ratios) < len(NAMES) else median(ratios) >= goal
        what = f"{rival}: median times faster at equal proven accuracy, {len(ratios)} problems"
        found.append(Verdict(what, f"{median(ratios):.1f}", f"{goal:g}" if goal else "–", met))
    return found


def rival_name(cell: Row) -> str:
    """SCS and Clarabel are both "conic", by size."""
    name = ("Clarabel" if cell["n"] <= CLARABEL_N else "SCS") if cell["solver"] == "conic" else cell["solver"]
    return f"{name}, n = {cell['n']}"


def reach(row: Row, distance: float) -> float:
    """Units until a distance was proven, by the history."""
    times = [time for time, _, proven in row["found"].get("history", []) if proven <= distance * (1 + 1e-6)]
    return min(times, default=math.inf)


def units(row: Row, clock: str = "units_cpu") -> float:
    """What a cell on one thread took, infinite where it did not prove its tolerance."""
    found = row["found"]
    return float(found[clock]) if found.get("proven") else math.inf


def number(value: float) -> str:
    """Two or three digits; a dash for what was not reached."""
    if math.isinf(value):
        return "–"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _instance(row: Row) -> tuple[str, int, int]:
    return row["cell"]["problem"], row["cell"]["n"], row["cell"]["seed"]


def _short_of(row: Row) -> str:
    found = row["found"]
    if "distance" not in found:
        return str(found["status"])
    return f"{found['distance']:.1e} after {number(found['seconds'])} s"
