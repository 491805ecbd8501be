"""The paper's figure 6: time against size, LD-SSC1 and LD-SSC2 beside a general conic solver.

Toy data of two Gaussian classes with different means and covariances, Gaussian affinity of median width. Every method
gets the same K and one BLAS thread, and is judged by the distance proven for the matrix that it returns; the unit is
one eigendecomposition of a random symmetric matrix of the same size, in the same run. A method that takes longer than
the limit at one size is not asked at the next.

    python benchmarks/paper/run.py [--sizes 50 100 200] [--limit 60] [--out benchmarks/paper/results]
"""

from __future__ import annotations

import argparse
import csv
import platform
import subprocess
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg as la
from threadpoolctl import threadpool_limits

import ldssc
from ldssc.datasets import two_gaussians
from ldssc.solvers.conic import LARGEST_FOR_CLARABEL

SIZES = (50, 100, 200, 300, 500, 700, 1000)
TOL = 1e-2
#: label -> arguments of `project`
METHODS: dict[str, dict[str, Any]] = {
    "LD-SSC1, paper's counts": {"solver": "ld-ssc1", "paper": True},
    "LD-SSC2, paper's counts": {"solver": "ld-ssc2", "paper": True},
    "LD-SSC1, to 1e-2": {"solver": "ld-ssc1"},
    "LD-SSC2, to 1e-2": {"solver": "ld-ssc2"},
    "auto, to 1e-2": {"solver": "auto"},
    f"CVXPY (Clarabel to n = {LARGEST_FOR_CLARABEL}, SCS above)": {"solver": "conic"},
}
MARKS = ("s-", "o-", "s--", "o--", "D-", "^:")


@dataclass(frozen=True)
class Row:
    """One cell of the table."""

    method: str
    n: int
    seconds: float
    units: float
    n_eig: int
    distance: float
    status: str


def unit(n: int, rng: np.random.Generator) -> float:
    """Seconds for one eigendecomposition of a random symmetric matrix: the median of three."""
    A = rng.standard_normal((n, n))
    A = A + A.T
    times = []
    for _ in range(3):
        start = time.perf_counter()
        la.eigh(A, driver="evd")
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measure(method: str, K: np.ndarray, limit: float, seconds_per_unit: float) -> Row:
    """Run one method and take down what it took and what it proved."""
    try:
        result = ldssc.project(K, tol=TOL, time_limit=limit, **METHODS[method])
    except ldssc.InputError as refused:
        return Row(method, len(K), float("nan"), float("nan"), 0, float("nan"), f"refused: {refused}")
    return Row(
        method,
        len(K),
        result.seconds,
        result.seconds / seconds_per_unit,
        result.n_eig,
        result.certificate.distance,
        result.status.name,
    )


def run(sizes: tuple[int, ...], limit: float, seed: int) -> list[Row]:
    """All cells, smallest size first."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    alive = dict.fromkeys(METHODS, True)
    for n in sizes:
        K = ldssc.gaussian_affinity(two_gaussians(n, random_state=seed).X)
        seconds_per_unit = unit(n, rng)
        for method in METHODS:
            if not alive[method]:
                continue
            row = measure(method, K, limit, seconds_per_unit)
            rows.append(row)
            alive[method] = row.seconds < limit
            print(
                f"n = {n:5d}  {method:45s} {row.seconds:8.2f} s {row.units:9.0f} units  "
                f"{row.distance:.1e}  {row.status}"
            )
    return rows


def write(rows: list[Row], out: Path, seed: int, limit: float) -> None:
    """Table as CSV and Markdown, figure as PNG and SVG."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "figure6.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    (out / "figure6.md").write_text(_markdown(rows, seed, limit))
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for method, mark in zip(METHODS, MARKS, strict=True):
        mine = [row for row in rows if row.method == method]
        axes.loglog([row.n for row in mine], [row.seconds for row in mine], mark, label=method, markersize=5)
    axes.set(
        xlabel="points", ylabel="seconds, one thread", title="Two Gaussian classes, Gaussian affinity of median width"
    )
    axes.legend(fontsize=8)
    axes.grid(True, which="both", alpha=0.3)
    for suffix in ("png", "svg"):
        figure.savefig(out / f"figure6.{suffix}", dpi=150)


def _markdown(rows: list[Row], seed: int, limit: float) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "cvxpy", "scs", "clarabel"))
    lines = [
        "# Figure 6: seconds against size",
        "",
        f"Commit {commit or 'unknown'}, seed {seed}, one thread, {platform.machine()}, "
        f"Python {platform.python_version()}, "
        f"{packages}. Limit {limit:g} s a cell; a method past it is not asked at larger sizes. A unit is one "
        "eigendecomposition of a random symmetric matrix of that size. Distances are proven for the matrix returned.",
        "",
        "| method | n | seconds | units | eigendecompositions | proven distance | status |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {r.method} | {r.n} | {r.seconds:.2f} | {r.units:.0f} | {r.n_eig} | {r.distance:.1e} | {r.status} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    with threadpool_limits(limits=1):
        rows = run(tuple(arguments.sizes), arguments.limit, arguments.seed)
    write(rows, arguments.out, arguments.seed, arguments.limit)


if __name__ == "__main__":
    main()
