"""What a warm start saves in a sweep over ten kernel widths: eigendecompositions from nothing, and from the width before.

python benchmarks/warm_start.py
"""

from __future__ import annotations

import sys

import numpy as np

from ldssc import Result, gaussian_affinity, median_distance, project
from ldssc.datasets import Dataset, iris, two_moons

#: multiples of the median distance
WIDTHS = np.linspace(0.7, 1.3, 10)
TOLERANCES = (1e-2, 1e-3)


def sweep(data: Dataset, solver: str, tol: float, *, warm: bool) -> list[Result]:
    """One answer a width; with `warm`, each from the one before."""
    results: list[Result] = []
    for width in WIDTHS * median_distance(data.X):
        start = results[-1] if warm and results else None
        results.append(project(gaussian_affinity(data.X, width), solver=solver, tol=tol, start=start, max_iter=2000))
    return results


def work(results: list[Result]) -> str:
    """Eigendecompositions of all, and how many answers were proven."""
    return f"{sum(r.n_eig for r in results):6d} ({sum(r.solved for r in results):2d})"


if __name__ == "__main__":
    print(f"{'data':10s} {'solver':12s} {'tol':>6s} {'cold (proven)':>14s} {'warm (proven)':>14s} {'saved':>6s}")
    for data in (iris(), two_moons(150, random_state=0)):
        for solver in sys.argv[1:] or ("auto", "splitting", "accelerated"):
            for tol in TOLERANCES:
                cold, warm = (sweep(data, solver, tol, warm=warm) for warm in (False, True))
                saved = 1 - sum(r.n_eig for r in warm) / sum(r.n_eig for r in cold)
                row = f"{data.name:10s} {solver:12s} {tol:6.0e} {work(cold):>14s} {work(warm):>14s} {saved:6.0%}"
                print(row, flush=True)
