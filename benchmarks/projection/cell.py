"""One cell of the table, measured in its own process: `python cell.py '{"solver": "auto", ...}'` prints one line of JSON.

The process builds K, solves a tiny problem so that nothing is loaded or compiled on the clock, times the unit, solves,
takes down the peak of its memory, times the unit again, and lets the auditor judge the answer. The history is kept by
the benchmark's own clock.
"""

from __future__ import annotations

import ctypes
import json
import math
import resource
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la
from audit import CONFIRMED, audit
from goals import MARK, Cell
from problems import points, problem

import ldssc

PATIENCE = 4  # the cap is looked at after every proof; the time limit, in wall seconds, is so many times the cap
GRACE_SECONDS = 120  # for the audit and the units, before a solver that is deaf to its time limit is killed
LONGEST_SECONDS = 600  # where there is no cap


class Clock:
    """Wall and CPU seconds since the start."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """(wall, CPU)."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


class Unit:
    """One `eigh(A, driver="evd")` of a random symmetric matrix: the median over all repetitions, before and after."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._times: list[tuple[float, float]] = []

    def _matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Drawn anew each time: kept, it would count as memory of the solver."""
        A = np.random.default_rng(0).standard_normal((self._n, self._n))
        A += A.T.copy()
        return A

    def measure(self) -> tuple[float, float]:
        """Repeat, for at least a third of a second where it is quick; the median (wall, CPU) so far."""
        n, A = self._n, self._matrix()
        if n <= 1000:
            la.eigh(A, driver="evd")
        least = 1 if n > 2000 else 3
        start, repetitions = time.perf_counter(), 0
        while repetitions < least or (repetitions < 25 and time.perf_counter() - start < 0.3):
            clock = Clock()
            la.eigh(A, driver="evd")
            self._times.append(clock.read())
            repetitions += 1
        wall, cpu = np.median(np.array(self._times), axis=0)
        return float(wall), float(cpu)


def peak_memory(reset: bool = False) -> int:
    """Bytes of the largest resident set, since the last reset where the system can reset it."""
    if reset:
        try:
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
        except (OSError, AttributeError):  # not Linux: the peak is that of the whole process
            pass
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def measure(cell: Cell) -> dict[str, Any]:
    """All figures of one cell."""
    K = problem(cell.problem, cell.n, cell.seed)
    n = len(K)
    warm_up = Clock()
    ldssc.project(problem("blobs/gauss1", 24, 1), solver=cell.solver, tol=1e-3, max_iter=50)
    if cell.solver not in ("conic", "ld-ssc1", "ld-ssc2"):  # ours compile their loops from a hundred rows on
        ldssc.project(problem("blobs/gauss1", 120, 1), solver=cell.solver, tol=1e-5, max_iter=50)
    warm_up_seconds = warm_up.read()[0]
    unit = Unit(n)
    before = unit.measure()
    longest = PATIENCE * cell.cap * before[0] if math.isfinite(cell.cap) else LONGEST_SECONDS
    signal.alarm(math.ceil(2 * longest + GRACE_SECONDS + 20 * before[0]))
    held = peak_memory(reset=True)
    clock = Clock()
    history: list[tuple[float, int, float]] = []

    def watch(record: ldssc.Record) -> bool:
        history.append((clock.read()[cell.clock], record.n_eig, record.distance))
        return history[-1][0] > cell.cap * before[cell.clock]

    try:
        result = ldssc.project(K, solver=cell.solver, tol=cell.tol, time_limit=longest, callback=watch)
    except ldssc.InputError as refused:
        return {"status": "REFUSED", "note": str(refused)}
    wall, cpu = clock.read()
    peak = peak_memory()
    unit_wall, unit_cpu = after = unit.measure()
    found = audit(result.F, K, result.u, result.Q, result.Z)
    claimed = result.certificate.distance
    confirmed = found.confirms(claimed)
    return {
        "status": _status(result) if confirmed else "FALSE CLAIM",
        "proven": bool(confirmed and claimed <= cell.tol),
        "distance": claimed,
        "audited": found.distance,
        "audit": asdict(found),
        "n_eig": result.n_eig,
        "n_iter": result.n_iter,
        "seconds": wall,
        "cpu_seconds": cpu,
        "unit": unit_wall,
        "unit_cpu": unit_cpu,
        "units": wall / unit_wall,
        "units_cpu": cpu / unit_cpu,
        "peak_bytes": peak,
        "peak": (peak - held) / (8 * n * n),
        "warm_up_seconds": warm_up_seconds,
        "history": [[seconds / after[cell.clock], n_eig, distance] for seconds, n_eig, distance in history],
        "note": "" if confirmed else f"the auditor does not confirm the claim within {CONFIRMED:g} times",
    }


def _status(result: ldssc.Result) -> str:
    return "CAP" if result.status in (ldssc.Status.STOPPED, ldssc.Status.TIME_LIMIT) else result.status.name


def measure_torchdr(cell: Cell) -> dict[str, Any]:
    """TorchDR's quadratic affinity beside Π_D, no semidefinite part: the same points, the same matrix to project."""
    from rival_torchdr import quadratic_affinity

    from ldssc.projections import project_doubly_stochastic

    X = points(cell.problem.split("/")[0], cell.n, cell.seed)
    A, theirs = quadratic_affinity(X, cell.tol)
    unit_wall, unit_cpu = Unit(cell.n).measure()
    F = project_doubly_stochastic(A)[0]
    rows = {}
    for name, function in (("ours", lambda: project_doubly_stochastic(A)[0]), ("torchdr", theirs)):
        function()
        clock = Clock()
        P = function()
        wall, cpu = clock.read()
        rows[name] = {
            "seconds": wall,
            "units": wall / unit_wall,
            "units_cpu": cpu / unit_cpu,
            "row_sum": float(np.abs(P.sum(axis=1) - 1).max()),
            "distance": float(np.linalg.norm(P - F) / np.linalg.norm(F)),
        }
    return {"status": "MEASURED", "unit": unit_wall, "unit_cpu": unit_cpu, **rows["torchdr"], "ours": rows["ours"]}


def main() -> None:
    """Measure the cell of the first argument."""
    cell = Cell(**json.loads(sys.argv[1]))
    found = measure_torchdr(cell) if cell.solver == "torchdr" else measure(cell)
    print(MARK + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
