"""From which size on a second BLAS thread pays: seconds an iteration takes with one thread and with two.

python benchmarks/threads.py
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as la
from threadpoolctl import threadpool_limits


def seconds(n: int, threads: int) -> float:
    """An eigendecomposition and two products, the mix of one iteration; the best of three rounds."""
    A = np.random.default_rng(0).standard_normal((n, n))
    A = A + A.T
    best = np.inf
    with threadpool_limits(limits=threads):
        for _ in range(3):
            start = time.perf_counter()
            for _ in range(max(1, 200 // n)):
                w, U = la.eigh(A, driver="evd")
                (U * w) @ U.T @ A
            best = min(best, (time.perf_counter() - start) / max(1, 200 // n))
    return float(best)


if __name__ == "__main__":
    print("    n   one thread  two threads  ratio")
    for n in (50, 100, 200, 300, 400, 500, 700, 1000, 1500):
        one, two = seconds(n, 1), seconds(n, 2)
        print(f"{n:5d} {one:11.4f} {two:12.4f} {one / two:6.2f}")
