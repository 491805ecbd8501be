"""Table I: the data sets, as the paper counts them and as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.clustering import load_set, majority_error
from ldssc.experiments.planning import Found, Page, Plan, Request, available, markdown, write_csv
from ldssc.experiments.settings import TABLE_I, kernel
from ldssc.experiments.verdicts import MATCH

COLUMNS = (
    *("dataset", "samples", "features", "clusters", "kernel", "PCA", "paper", "verdict"),
    *("class sizes", "distinct", "majority error"),
)
#: Other editions of the same sets.
ALSO = {"yale": "yale_64x64", "orl": "orl_32x32"}
DIFFERS = "DIFFERS"


def plan(request: Request) -> Plan:
    """No cells: the files are counted."""
    there, missing = available(TABLE_I, request.data)
    also = available([other for name, other in ALSO.items() if name in there], request.data)[0]

    def finish(_: Found) -> tuple[list[Path], Page]:
        rows = [_row(name, request.data) for name in there]
        rows += [{**_row(other, request.data), "dataset": f"{other} (not used)"} for other in also]
        counted = {word: sum(row["verdict"] == word for row in rows) for word in (MATCH, DIFFERS)}
        body = (
            "`paper`: samples, features and clusters as printed. Hayes-Roth has four attributes; a fifth column of the "
            "training file is the number of the person, which the test file lacks. Yale is printed at 128 x 128, of which "
            "only crops can be had. `distinct`: points that are not equal to an earlier one. `majority error`: the error "
            "of everything in one class.\n\n" + markdown(rows, COLUMNS)
        )
        return [write_csv(request.out / "table1.csv", rows, COLUMNS)], Page(
            "table1", "Table I: data sets", body, {"": counted}
        )

    return Plan([], finish, missing)


def _row(name: str, data: Path) -> dict[str, Any]:
    found = load_set(name, data)
    counts, shape = np.bincount(found.y), (*found.X.shape, int(found.y.max()) + 1)
    row: dict[str, Any] = dict(zip(("samples", "features", "clusters"), shape, strict=True))
    row |= {
        "dataset": name,
        "class sizes": str(counts[0]) if (counts == counts[0]).all() else ", ".join(map(str, counts)),
        "distinct": len(np.unique(found.X, axis=0)),
        "majority error": majority_error(found.y),
        "verdict": "",
    }
    if name in paper.SHAPES:
        row |= {
            "kernel": kernel(name),
            "PCA": 5 if name in paper.REDUCED_TO_FIVE else "",
            "paper": " x ".join(map(str, paper.SHAPES[name])),
            "verdict": MATCH if paper.SHAPES[name] == shape else DIFFERS,
        }
    return row
