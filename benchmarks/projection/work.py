"""How much work `auto` does on small problems: eigendecompositions, and products in units of n³. For CI, without a clock.

`work.json` holds the counts that are the standard; tests/test_work.py fails where `auto` needs more than 1.5 times as many of
either. A change that saves work should lower the standard:

    python benchmarks/projection/work.py            # counted now beside recorded
    python benchmarks/projection/work.py --record   # rewrite work.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from problems import problem

import ldssc

RECORD = Path(__file__).with_name("work.json")
ALLOWED = 1.5


class Task(NamedTuple):
    """A problem and the tolerance to prove."""

    problem: str
    n: int
    tol: float

    def __str__(self) -> str:
        return f"{self.problem}, n = {self.n}, tol = {self.tol:g}"


class Work(NamedTuple):
    """Eigendecompositions, and products in units of n³."""

    eigendecompositions: int
    products: float

    def exceeds(self, standard: Work) -> bool:
        """Whether either count is beyond what is allowed; a tenth of a product more is nothing."""
        return any(now > ALLOWED * then + 0.1 for now, then in zip(self, standard, strict=True))


TASKS = (
    Task("cancer/gauss0.4", 100, 1e-6),  # the free exit (9)
    Task("blobs/gauss1", 100, 1e-4),
    Task("cancer/gauss1", 100, 1e-4),
    Task("moons/sqdist", 80, 1e-3),
    Task("circles/gauss0.4", 80, 1e-3),
    Task("blobs/zerodiag", 60, 1e-2),
)


def count(task: Task) -> Work:
    """What `auto` needs; an error where it does not prove the tolerance at all."""
    result = ldssc.project(problem(task.problem, task.n, seed=0), tol=task.tol, time_limit=60)
    if not result.solved:
        raise RuntimeError(f"{task}: {result.status.sentence}, {result.certificate.distance:.1e} is proven")
    return Work(result.n_eig, round(result.n_products, 1))


def recorded() -> dict[str, Work]:
    """The standard, by task."""
    return {name: Work(*found) for name, found in json.loads(RECORD.read_text()).items()}


def main() -> None:
    """Count, and compare or record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="make what is counted now the standard")
    arguments = parser.parse_args()
    counts = {str(task): count(task) for task in TASKS}
    before = recorded() if RECORD.exists() else {}
    for name, work in counts.items():
        then = tuple(before.get(name, ("–", "–")))
        print(f"{name:40s} {work[0]:5d} ({then[0]}) eigendecompositions, {work[1]:6.1f} ({then[1]}) products")
    if arguments.record:
        RECORD.write_text(json.dumps(counts, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
