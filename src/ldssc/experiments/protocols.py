"""How an error rate comes out of cells: A, stated in advance; B, a search for the most favourable reading.

A: one reading a set, the same for every method (settings.py). B: for each set, method and statistic the reading, grid,
row normalisation and number of iterations with the lowest value; every method gets the same candidates. It is a search on
the labels, and says nothing about what a user would get: it says what the paper's freedom can do. As its counterpart it
gives the value nearest to the printed one: where even that is no MATCH, no reading searched reproduces the number.

The candidates of B: every Reading of `readings`, every grid of settings.GRIDS whose parameters were computed, the rows of
the embedding normalised or not. "FSC" may be exact or a hundred projections, LD-SSC1 and LD-SSC2 their presets or the
solution itself; LD-SSC1's preset is computed in the reading of A alone, for it costs a thousand eigendecompositions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.clustering import GROUP, bundle_name, bundle_task
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, Request
from ldssc.experiments.settings import (
    BUNDLES,
    EXACT_BUNDLE,
    EXACT_ROW,
    FEATURES,
    FSC_100,
    GRIDS,
    LARGE,
    LD1_BUNDLE,
    LD2_BUNDLE,
    MIDDLE,
    RIVALS_BUNDLE,
    SMALL,
    Bundle,
    ErrorRates,
    Reading,
    fixed_parameter,
    is_polynomial,
    kernel,
)

#: Which computed methods may stand for a row in B.
STAND_FOR = {
    "FSC": ("FSC", FSC_100.name),
    "LD-SSC1": ("LD-SSC1", EXACT_ROW),
    "LD-SSC2": ("LD-SSC2", EXACT_ROW),
}
_BUNDLE_OF = {method.name: bundle for bundle in BUNDLES for method in bundle.methods}


def reading_a(name: str) -> Reading:
    """The reading of protocol A."""
    return Reading("standardised", unit_rows=True) if name in ("orl", "yale") else Reading()


def readings(name: str, settings: ErrorRates) -> list[Reading]:
    """The readings of protocol B; that of A is the first."""
    n = paper.SHAPES[name][0]
    if not settings.search or (settings.quick and n > MIDDLE):
        return [reading_a(name)]
    few = settings.quick or n > MIDDLE
    scales = ["largest one", "mean row sum 5"] if few else ["largest one", "mean row sum 1", "mean row sum 5"]
    lengths = [True, False] if name in paper.REDUCED_TO_FIVE else [False]
    if is_polynomial(name) and not few:
        scales.append("literal")
    if few:
        lengths = [reading_a(name).unit_rows]
    found = [Reading(f, u, s) for f in (FEATURES[:2] if few else FEATURES) for u in lengths for s in scales]
    return [reading_a(name), *(reading for reading in found if reading != reading_a(name))]


def parameters(name: str, reading: Reading, settings: ErrorRates) -> tuple[float, ...]:
    """The kernel parameters that are computed in a reading."""
    n, grid, more = paper.SHAPES[name][0], settings.grid(name), GRIDS[kernel(name)]
    if settings.quick or not settings.search:
        return grid
    if n > LARGE and reading != reading_a(name):
        return more["around the median"]
    if n > MIDDLE:
        return grid
    return tuple(sorted(set(grid).union(*more.values())))


def grids(name: str, settings: ErrorRates) -> dict[str, tuple[float, ...]]:
    """The grids among which B chooses."""
    return {"as A": settings.grid(name)} if settings.quick else {**GRIDS[kernel(name)], "as A": settings.grid(name)}


def tasks(name: str, settings: ErrorRates, request: Request) -> list[Task]:
    """All cells that both protocols need of one set."""
    found = []
    for reading in readings(name, settings):
        for parameter in parameters(name, reading, settings):
            for bundle in _bundles(name, reading, parameter, settings):
                found.append(bundle_task(name, request.data, reading, parameter, bundle, settings.n_init))
    return found


def _bundles(name: str, reading: Reading, parameter: float, settings: ErrorRates) -> Iterator[Bundle]:
    n, in_a = paper.SHAPES[name][0], reading == reading_a(name) and parameter in settings.grid(name)
    yield from (RIVALS_BUNDLE, EXACT_BUNDLE)
    if in_a or n <= MIDDLE:
        yield LD2_BUNDLE
    all_of_a, fixed_of_a = (SMALL, MIDDLE) if settings.quick else (LARGE, math.inf)
    if in_a and (settings.full or n <= all_of_a or (n <= fixed_of_a and parameter == fixed_parameter(name))):
        yield LD1_BUNDLE


class Value(NamedTuple):
    """A statistic of one method: its value, how many parameters it is over, the largest proven distance, what was chosen."""

    value: float
    n_parameters: int
    distance: float | None
    choice: str = ""


class Errors(NamedTuple):
    """The errors of one method along a grid, and the largest distance to the solution."""

    rates: list[float]
    distance: float | None


def record_of(
    found: Found, name: str, reading: Reading, parameter: float, method: str, bundle: Bundle | None = None
) -> dict[str, Any] | None:
    """What a cell says of a method; None where it is not there, or the method refused K."""
    cell = found.get(f"{GROUP}/{bundle_name(name, reading, parameter, bundle or _BUNDLE_OF[method])}")
    record: dict[str, Any] | None = None if cell is None else cell.record["methods"].get(method)
    return None if record is None or "refused" in record else record


def own_distance(record: dict[str, Any], method: str) -> float | None:
    """How far the matrix that was clustered is from the solution at most, relative to the norm of the proven one."""
    if "distance" not in record:
        return None
    unrepaired = record["iterate_off"] if method in ("LD-SSC1", "LD-SSC2") else 0.0
    return float(record["distance"] + unrepaired)


def errors(
    found: Found,
    name: str,
    reading: Reading,
    grid: Sequence[float],
    method: str,
    rows: bool = True,
    bundle: Bundle | None = None,
) -> Errors:
    """What was computed along the grid; the distance is that of the matrix that was clustered."""
    rates, distances = [], []
    for parameter in grid:
        record = record_of(found, name, reading, parameter, method, bundle)
        if record is None:
            continue
        rates.append(record["errors"][str(rows)])
        if (distance := own_distance(record, method)) is not None:
            distances.append(distance)
    return Errors(rates, max(distances, default=None))


def protocol_a(found: Found, name: str, method: str, statistic: str, settings: ErrorRates) -> Value | None:
    """The statistic over what was computed of A's grid."""
    reading = reading_a(name)
    rates, distance = errors(found, name, reading, settings.grid(name), method)
    return Value(_statistic(rates, statistic), len(rates), distance, str(reading)) if rates else None


def protocol_b(
    found: Found, name: str, method: str, statistic: str, settings: ErrorRates, near: float | None = None
) -> Value | None:
    """The lowest value over all candidates, or the one nearest to `near`; ties go to the first, which is A's."""
    best: Value | None = None
    for value in _candidates(found, name, method, statistic, settings):
        if best is None or _goal(value, near) < _goal(best, near) - 1e-12:
            best = value
    return best


def _goal(value: Value, near: float | None) -> float:
    return value.value if near is None else abs(value.value - near)


def _candidates(found: Found, name: str, method: str, statistic: str, settings: ErrorRates) -> Iterator[Value]:
    for reading in readings(name, settings):
        for title, grid in grids(name, settings).items():
            for source in STAND_FOR.get(method, (method,)):
                for rows in (True, False):
                    rates, distance = errors(found, name, reading, grid, source, rows)
                    if len(rates) == len(grid):
                        words = f"{reading}; grid {title}; rows {'' if rows else 'not '}normalised; {source}"
                        yield Value(_statistic(rates, statistic), len(rates), distance, words)


def alternatives(found: Found, name: str, method: str, settings: ErrorRates) -> dict[str, float]:
    """The mean error over A's grid where one choice of A is changed and the others are not: what that choice is worth."""
    base, rates = reading_a(name), {}
    for reading in readings(name, settings):
        changed = [key for key, value in vars(reading).items() if value != vars(base)[key]]
        if len(changed) <= 1:
            title = "A" if not changed else _choice(changed[0], vars(reading)[changed[0]])
            rates[title] = errors(found, name, reading, settings.grid(name), method).rates
    rates["rows not normalised"] = errors(found, name, base, settings.grid(name), method, rows=False).rates
    return {title: sum(own) / len(own) for title, own in rates.items() if len(own) == len(settings.grid(name))}


def _choice(key: str, value: object) -> str:
    if key == "unit_rows":
        return "PCA scores of length one" if value else "PCA scores as they are"
    return f"K: {value}" if key == "scale" else f"{value} features"


def _statistic(rates: list[float], statistic: str) -> float:
    return min(rates) if statistic == "lowest" else sum(rates) / len(rates)
