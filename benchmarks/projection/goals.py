"""The goals: which cells each of them needs, and what it asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase

from problems import COIL_NAME, NAMES, has_coil20
from rival_torchdr import is_installed

ALLOWANCE = 20  # a problem counts as proven within so many times the median goal
FEW = ("moons/gauss1", "blobs/gauss0.4", "digits/sqdist", "blobs/zerodiag")
SCS_FASTER, LD_SSC2_FASTER = 20, 50
MEMORY = {"auto": 8.0, "ld-ssc1": 5.0}  # arrays of n² doubles
MEMORY_FROM = 1000  # below this size the resident set says little about n² doubles
CLARABEL_N = 60
MARK = "CELL "  # begins the line that a cell prints


@dataclass(frozen=True)
class Cell:
    """What to measure; `cap` in units, infinite where only `tol` ends the run."""

    goal: str
    problem: str
    solver: str
    n: int
    tol: float
    cap: float
    seed: int = 0
    threads: int = 1

    @property
    def clock(self) -> int:
        """Which clock counts, 0 wall, 1 CPU: on one thread the CPU, which other work on the machine disturbs least."""
        return int(self.threads == 1)


@dataclass(frozen=True)
class Median:
    """A goal on the median units over the problems, all of them proven within `ALLOWANCE` times that."""

    n: int
    tol: float
    units: float


#: goals that are medians over the 24 problems
MEDIANS = {
    "n220": Median(220, 1e-6, 100),
    "n700": Median(700, 1e-4, 60),
    "n1000": Median(1000, 1e-2, 10),
    "n1500": Median(1500, 1e-3, 30),
}
#: tolerance -> seconds
COIL_SECONDS = {1e-3: 15.0, 1e-4: 60.0}
COIL_CAP = 1000.0
LARGE_SECONDS, LARGE_BYTES, LARGE_CAP = 300.0, 2 * 2**30, 40.0
GOALS = (*MEDIANS, "coil20", "n5000", "memory", "rivals")


@dataclass(frozen=True)
class Choice:
    """What the command line changes."""

    problems: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    cap: float | None = None
    seeds: tuple[int, ...] = (0,)


def cells(goal: str, choice: Choice) -> list[Cell]:
    """The cells of a goal, in the order in which they are measured."""
    if goal == "rivals":
        return rivals(choice)
    if goal == "coil20":
        templates = [(COIL_NAME, 1440, tol, COIL_CAP, 1) for tol in COIL_SECONDS if has_coil20()]
    elif goal == "n5000":
        templates = [(name, 5000, 1e-2, LARGE_CAP, 2) for name in chosen(FEW, choice)]
    elif goal == "memory":
        templates = [(name, MEMORY_FROM, 1e-2, 30.0, 1) for name in chosen(FEW, choice)]
    else:
        wanted = MEDIANS[goal]
        cap = ALLOWANCE * wanted.units
        templates = [(name, wanted.n, wanted.tol, cap, 1) for name in chosen(NAMES, choice)]
    solvers = choice.solvers or (tuple(MEMORY) if goal == "memory" else ("auto",))
    return [
        Cell(goal, name, solver, n, tol, cap if choice.cap is None else choice.cap, seed, threads)
        for solver in solvers
        for seed in (choice.seeds if goal != "coil20" else (0,))
        for name, n, tol, cap, threads in templates
    ]


def rivals(choice: Choice) -> list[Cell]:
    """Ours to 1e-6 and the others to 1e-4, with room to get there; Clarabel where it can, at n = 60."""
    plan = [
        ("auto", 220, 1e-6, 2000.0),
        ("ld-ssc1", 220, 1e-4, 3000.0),
        ("ld-ssc2", 220, 1e-4, 3000.0),
        ("conic", 220, 1e-4, math.inf),  # SCS: stops by itself
        ("auto", CLARABEL_N, 1e-6, 20_000.0),
        ("conic", CLARABEL_N, 1e-4, math.inf),  # Clarabel
    ]
    races = not choice.solvers or set(choice.solvers) != {"torchdr"}
    wanted = [row for row in plan if races and (not choice.solvers or row[0] in (*choice.solvers, "auto"))]
    found = [
        Cell("rivals", name, solver, n, tol, cap if choice.cap is None else choice.cap, seed)
        for solver, n, tol, cap in wanted
        for seed in choice.seeds
        for name in chosen(NAMES, choice)
    ]
    if is_installed() and (not choice.solvers or "torchdr" in choice.solvers):
        found += [
            Cell("rivals", name, "torchdr", 1000, 1e-5, math.inf, seed)
            for seed in choice.seeds
            for name in chosen(NAMES, choice)
            if name.endswith("/sqdist")
        ]
    return found


def chosen(names: tuple[str, ...], choice: Choice) -> tuple[str, ...]:
    """Those that match a pattern of the command line; all of the 24 may be asked for, whatever the goal has by itself."""
    if not choice.problems:
        return names
    return tuple(name for name in NAMES if any(fnmatchcase(name, pattern) for pattern in choice.problems))


def skipped(goal: str) -> str:
    """What a goal leaves out for want of something, in one line; empty where nothing is."""
    if goal == "coil20" and not has_coil20():
        return "COIL-20 is skipped: ../shared/data/coil20.npz is not there."
    if goal == "rivals" and not is_installed():
        return "TorchDR is skipped: torch and torchdr are not both installed."
    return ""
