"""How fast is the relaxation (22), and what does a conic solver need for the same problem?

python benchmarks/relaxation/run.py [--sizes 300 1000] [--scs 60 100 150] [--out benchmarks/relaxation/results]

Seconds are CPU seconds of one process; a unit is one scipy.linalg.eigh(A, driver="evd") of a random symmetric matrix of the
same size.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la
from sklearn.datasets import load_digits, make_blobs, make_moons

import ldssc

Array = np.ndarray[Any, np.dtype[np.float64]]
GOALS = {300: 0.3, 1000: 5.0, 3000: 60.0}
_SCS_SECONDS = 120.0


def gram(X: Array) -> Array:
    X = X - X.mean(axis=0)
    A = X @ X.T
    return (A + A.T) / 2


def minus_fermat(X: Array) -> Array:
    P = ldssc.fermat_distances(X / X.std(axis=0).clip(1e-9))
    return -P / P.mean()


def problems(n: int) -> Iterator[tuple[str, Array, int, Array | None]]:
    """Name, A, k and weights: k-means of clusters, of digits and of none; Fermat distances; a normalised cut."""
    rng = np.random.default_rng(0)
    yield (
        "k-means, five blobs that overlap",
        gram(make_blobs(n, 5, centers=5, cluster_std=3, random_state=1)[0]),
        5,
        None,
    )
    digits = load_digits().data
    while len(digits) < n:
        digits = np.vstack([digits, digits + rng.normal(size=digits.shape)])
    digits = digits[rng.permutation(len(digits))[:n]]
    yield "k-means, digits", gram(digits), 10, None
    cloud = rng.normal(size=(n, 2))
    yield "k-means, one Gaussian", gram(cloud), 5, None
    if n <= 1000:
        yield "Fermat distances, moons", minus_fermat(make_moons(n, noise=0.08, random_state=0)[0]), 2, None
        yield "Fermat distances, one Gaussian", minus_fermat(cloud), 5, None
    B = ldssc.knn_affinity(digits, 10)
    degrees = B.sum(axis=1)
    yield "normalised cut, digits", B / np.outer(degrees, degrees), 10, degrees


def unit(n: int) -> float:
    A = np.random.default_rng(1).normal(size=(n, n))
    A = A + A.T
    seconds = []
    for _ in range(5 if n <= 1000 else 1):
        start = time.process_time()
        la.eigh(A, driver="evd")
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def ours(A: Array, k: int, weights: Array | None, tol: float = 1e-4) -> dict[str, Any]:
    start = time.process_time()
    result = ldssc.relax(A, k, weights=weights, tol=tol)
    seconds = time.process_time() - start
    proof = result.certificate
    return {
        "seconds": seconds,
        "iterations": result.n_iter,
        "status": result.status.name,
        "gap": proof.relative_gap,
        "violation": proof.violation,
        "feasible gap": (proof.bound - proof.feasible_value) / abs(proof.value),
        "tightness": result.tightness,
        "bound": proof.bound,
    }


def scs(A: Array, k: int, weights: Array | None) -> dict[str, Any]:
    """The same through CVXPY with SCS to 1e-4; what its own matrix violates."""
    import cvxpy as cp

    n = len(A)
    s = np.ones(n) if weights is None else np.sqrt(weights)
    scale = float(np.abs(A).max())
    G = cp.Variable((n, n), PSD=True)
    weighted = A / scale * np.outer(s, s)
    problem = cp.Problem(cp.Maximize(cp.trace(weighted @ G)), [G >= 0, G @ s == s, cp.trace(G) == k])
    start = time.process_time()
    problem.solve(solver="SCS", eps=1e-4, time_limit_secs=_SCS_SECONDS)
    seconds = time.process_time() - start
    H = (G.value + G.value.T) / 2
    return {
        "seconds": seconds,
        "iterations": problem.solver_stats.num_iters,
        "status": problem.status,
        "value": scale * float(np.vdot(weighted, H)),
        "violation": float(la.norm(np.minimum(H, 0)) / la.norm(H)),
        "rows": float(np.abs(H @ s - s).max()),
        "indefiniteness": max(0.0, -float(la.eigvalsh(H)[0])),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000])
    parser.add_argument("--scs", type=int, nargs="*", default=[60, 100, 150])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "results")
    options = parser.parse_args()
    ldssc.relax(np.eye(10), 2)  # imports are not measured
    rows: list[dict[str, Any]] = []
    for n in options.sizes:
        one = unit(n)
        for name, A, k, weights in problems(n):
            rows.append({"solver": "relax", "n": n, "k": k, "problem": name, "unit": one, **ours(A, k, weights, 1e-3)})
            _say(rows[-1])
    for n in options.scs:
        one = unit(n)
        solvers: dict[str, Callable[..., dict[str, Any]]] = {"relax": ours, "SCS": scs}
        for name, A, k, weights in problems(n):
            for solver, solve in solvers.items():
                rows.append({"solver": solver, "n": n, "k": k, "problem": name, "unit": one, **solve(A, k, weights)})
                _say(rows[-1])
    _write(rows, options.out)
    return 0


def _say(row: dict[str, Any]) -> None:
    print(row["solver"], row["n"], row["problem"], f"{row['seconds']:.2f} s", row["status"], flush=True)


def _write(rows: list[dict[str, Any]], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (out / "rows.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows({key: f"{v:.6g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows)
    lines = [
        "# The relaxation (22): seconds of one core",
        "",
        "`relax` at its default tolerance, 1e-3 for the gap of value and bound and for the negative entries; beside SCS",
        "(through CVXPY, eps 1e-4) at 1e-4 too. A unit is one eigendecomposition of the same size. The feasible gap is that",
        "of a matrix near G without any violation.",
        "",
        "| solver | n | k | problem | s | units | iterations | gap | violation | feasible gap | tightness | goal, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [row["solver"], row["n"], row["k"], row["problem"], f"{row['seconds']:.2f}"]
        cells += [f"{row['seconds'] / row['unit']:.0f}", row["iterations"]]
        cells += [f"{row[key]:.1e}" if key in row else "–" for key in ("gap", "violation", "feasible gap")]
        cells += [f"{row['tightness']:.3f}" if "tightness" in row else "–", GOALS.get(row["n"], "–")]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    (out / "summary.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
