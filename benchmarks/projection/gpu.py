"""The large goal on a GPU: `accelerated` on a PyTorch tensor, on CUDA where there is one, measured with its proof.

    python benchmarks/projection/gpu.py                           # n = 10,000 to a proven 1e-2, on CUDA
    python benchmarks/projection/gpu.py --device cpu --n 400      # that the script works, without a GPU

The first run of each problem is not counted: CUDA and its libraries are loaded in it, on a small matrix. Without CUDA, and
without --device cpu, it says so and exits with 2.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from audit import audit
from goals import FEW
from problems import NAMES, problem

import ldssc

N, TOL, GOAL_SECONDS = 10_000, 1e-2, 20.0
PROBLEMS = ("blobs/sqdist", "moons/sqdist", "blobs/gauss0.4", "moons/gauss0.4", "blobs/gauss1", *FEW)
AUDIT_BELOW = 3000  # rows, up to which the independent audit, on the CPU, is worth its time
NOTHING_THERE = 2


class Device:
    """Where tensors live, with a clock that waits for them and their peak memory."""

    def __init__(self, torch: Any, name: str) -> None:
        self.torch, self.name = torch, name

    def wait(self) -> None:
        """Until everything that was asked for is done."""
        if self.name == "cuda":
            self.torch.cuda.synchronize()

    def forget_peak(self) -> None:
        """Begin to measure memory."""
        if self.name == "cuda":
            self.torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int | None:
        """Bytes, where the device tells."""
        return int(self.torch.cuda.max_memory_allocated()) if self.name == "cuda" else None

    def describe(self) -> str:
        """The device in words."""
        return str(self.torch.cuda.get_device_name()) if self.name == "cuda" else "CPU"


def measure(device: Device, name: str, n: int, tol: float, limit: float) -> dict[str, Any]:
    """One problem: seconds to the tolerance, and on the way there."""
    K = problem(name, n)
    tensor = device.torch.tensor(K, device=device.name)
    device.wait()
    device.forget_peak()
    start = time.perf_counter()
    way: list[tuple[float, int, float]] = []

    def watch(record: ldssc.Record) -> None:
        device.wait()
        way.append((time.perf_counter() - start, record.iteration, record.distance))

    result = ldssc.project(tensor, solver="accelerated", tol=tol, time_limit=limit, callback=watch)
    device.wait()
    found = {
        "problem": name,
        "n": n,
        "status": result.status.name,
        "distance": result.certificate.distance,
        "seconds": time.perf_counter() - start,
        "iterations": result.n_iter,
        "peak_bytes": device.peak(),
        "history": way,
    }
    if n <= AUDIT_BELOW:
        arrays = (part.cpu().numpy() for part in (result.F, result.u, result.Q, result.Z))
        F, u, Q, Z = arrays
        found["confirmed"] = audit(F, K, u, Q, Z).confirms(result.certificate.distance)
    return found


def main() -> int:
    """Measure, print a line a problem, and write them all where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--tol", type=float, default=TOL)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--problems", nargs="+", choices=NAMES, default=list(dict.fromkeys(PROBLEMS)))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each problem")
    parser.add_argument("--out", type=Path, help="file for the results, as JSON")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: nothing to measure with.", file=sys.stderr)
        return NOTHING_THERE
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch finds no CUDA device. `--device cpu --n 400` shows that the script works.", file=sys.stderr)
        return NOTHING_THERE
    device = Device(torch, arguments.device)
    print(f"{device.describe()}, PyTorch {torch.__version__}, n = {arguments.n}, tol = {arguments.tol:g}")
    measure(device, "blobs/gauss1", 300, 1e-1, 60.0)
    rows = []
    for name in arguments.problems:
        row = measure(device, name, arguments.n, arguments.tol, arguments.limit)
        rows.append(row)
        memory = "" if row["peak_bytes"] is None else f", {row['peak_bytes'] / 2**30:.1f} GiB"
        audited = "" if "confirmed" not in row else ", audited" if row["confirmed"] else ", NOT CONFIRMED"
        print(
            f"{name:16s} {row['status']:10s} {row['distance']:.1e} in {row['seconds']:.2f} s, "
            f"{row['iterations']} iterations{memory}{audited}",
            flush=True,
        )
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"device": device.describe(), "torch": torch.__version__, "rows": rows}))
    if arguments.n >= N and arguments.device == "cuda":
        reached = sum(row["status"] == "SOLVED" and row["seconds"] < GOAL_SECONDS for row in rows)
        print(f"{reached} of {len(rows)} proven to {arguments.tol:g} in less than {GOAL_SECONDS:g} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
