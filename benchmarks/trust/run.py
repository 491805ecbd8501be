"""Does the tightness of (22) foretell whether labels are right? All sets, one command, goes on where it stopped.

python benchmarks/trust/run.py [--data ../shared/data] [--out benchmarks/trust/results]
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import measure
import report

HERE = Path(__file__).resolve()
NULLS = [(kind, d, k) for kind in ("Gaussian", "uniform", "heavy tails") for d in (2, 10) for k in (2, 3, 4, 6, 8)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parents[2].parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    options = parser.parse_args()
    sets = measure.data_sets(options.data)
    if not sets:
        print(f"no data sets in {options.data}: nothing measured")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "rows.jsonl"
    rows = _read(path)
    done = {_key(row) for row in rows}
    work: list[Any] = [(("set", p.stem), lambda p=p: measure.measure(p)) for p in sets]
    work += [(("null", *cell), lambda cell=cell: measure.measure_null(*cell)) for cell in NULLS]
    with path.open("a") as stream:
        for key, job in work:
            if key in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's, about graphs in pieces
                row = job()
            rows.append(row)
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            print(*key, flush=True)
    report.write(rows, options.out)
    return 0


def _read(path: Path) -> list[dict[str, Any]]:
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:  # the last line of a run that was killed while writing
            continue
    return rows


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return ("null", row["null"], row["d"], row["k"]) if "null" in row else ("set", row["set"])


if __name__ == "__main__":
    sys.exit(main())
