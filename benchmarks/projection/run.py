"""Every goal of the projection in one run, in units of one eigendecomposition, judged by the certificate and by an audit.

Each cell (solver, problem) runs in a fresh process and is stored when it is finished; the same command goes on after a
break. The process measures this checkout of the library, whatever is installed.

    python benchmarks/projection/run.py --goal n220
    python benchmarks/projection/run.py --goal all
    python benchmarks/projection/run.py --goal n1000 --problems 'moons/*' '*/zerodiag' --seed 1 2 --cap 60 --out trial
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import report
from goals import GOALS, MARK, Cell, Choice, cells, skipped
from store import ROOT, Row, Store, environment

HERE = Path(__file__).resolve().parent
SOLVERS = ("auto", "accelerated", "newton", "splitting", "ld-ssc1", "ld-ssc2", "conic", "torchdr")
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS")


def launch(cell: Cell) -> dict[str, Any]:
    """Measure a cell in its own process; whatever becomes of that, there is a row."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    threads = dict.fromkeys(_THREADS, str(cell.threads))
    env = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(HERE / "cell.py"), json.dumps(asdict(cell))]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        answer = next(line for line in reversed(done.stdout.splitlines()) if line.startswith(MARK))
        return dict(json.loads(answer[len(MARK) :]))
    if done.returncode in (-signal.SIGALRM, -signal.SIGKILL):
        return {"status": "KILLED", "note": f"signal {-done.returncode}: out of time or memory"}
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"status": "CRASHED", "note": f"code {done.returncode}: {last}"}


def line(row: Row) -> str:
    """One cell in one line of the terminal."""
    cell, found = row["cell"], row["found"]
    text = f"{cell['goal']:7s} {cell['problem']:18s} {cell['solver']:8s} n = {cell['n']:5d}  {found['status']:10s}"
    if "distance" in found:
        text += f" {found['distance']:8.1e} {found['units_cpu']:8.0f} units ({found['units']:.0f} wall)"
    return f"{text}  {found.get('note', '')}".rstrip()


def measure(goal: str, choice: Choice, here: dict[str, str], out: Path, fresh: bool) -> None:
    """All cells of a goal that are not there yet, then its table."""
    store = Store(out / f"{goal}.jsonl", here, fresh)
    wanted = cells(goal, choice)
    if notice := skipped(goal):
        print(notice)
    elif not wanted:
        print(f"{goal}: no problem matches {' '.join(choice.problems)}")
    for cell in wanted:
        before = store.find(cell)
        if before is None or before["found"]["status"] == "CRASHED":
            row = store.add(cell, launch(cell), os.getloadavg()[0])
            print(line(row), flush=True)
    if wanted:
        store.tidy()
    rows = [row for cell in wanted if (row := store.find(cell)) is not None]
    for verdict in report.write(goal, rows, here, out):
        print(f"  {verdict.what}: {verdict.measured}, wanted {verdict.goal}: {verdict.word}")


def conclude(here: dict[str, str], out: Path) -> None:
    """The summary and the figure, from everything that is stored."""
    rows = {goal: Store(path, here).rows for goal in GOALS if (path := out / f"{goal}.jsonl").exists()}
    report.summary(rows, here, out)
    report.figure([*rows.get("n220", []), *rows.get("rivals", [])], out / "distance-against-time.png")


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goal", choices=[*GOALS, "all"], nargs="+", default=["n220"])
    parser.add_argument("--problems", nargs="+", default=[], help="patterns such as 'blobs/*' or '*/zerodiag'")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=[], help="instead of those of the goal")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--cap", type=float, help="units a cell; by default 20 times the median that is the goal")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    arguments = parser.parse_args()
    choice = Choice(tuple(arguments.problems), tuple(arguments.solvers), arguments.cap, tuple(arguments.seed))
    here = environment()
    for goal in GOALS if "all" in arguments.goal else arguments.goal:
        measure(goal, choice, here, arguments.out, arguments.fresh)
    conclude(here, arguments.out)


if __name__ == "__main__":
    main()
