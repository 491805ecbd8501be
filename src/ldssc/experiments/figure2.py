"""Figure 2: sample images of ORL, Yale, COIL-20 and Alphadigits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldssc import datasets, plots
from ldssc.experiments.clustering import load_set
from ldssc.experiments.planning import Found, Page, Plan, Request, available, write_csv

SETS = ("orl", "yale", "coil20", "alphadigits")
EACH = 8


def plan(request: Request) -> Plan:
    """No cells: the images are shown. One image of each of the first eight classes."""
    there, missing = available(SETS, request.data)

    def finish(_: Found) -> tuple[list[Path], Page]:
        shown, rows = [], []
        for name in there:
            loaded = load_set(name, request.data)
            picked = [int(np.flatnonzero(loaded.y == c)[0]) for c in range(EACH)]
            shown.append((loaded.name, [loaded.X[i].reshape(loaded.image_shape or (1, -1)) for i in picked]))
            rows += [{"dataset": name, "class": c, "sample": i} for c, i in enumerate(picked)]
        files = [write_csv(request.out / "figure2.csv", rows, ("dataset", "class", "sample"))]
        files += plots.write_figure(plots.samples_figure(shown), request.out, "figure2")
        terms = "\n".join(f"- {datasets.entry(name).title}: {datasets.entry(name).terms}" for name in there)
        body = (
            "One image of each of the first eight classes, in `figure2.png` of the output folder; the pictures of faces are "
            f"not part of this page.\n\n{terms}\n"
        )
        return files, Page("figure2", "Figure 2: sample images", body)

    return Plan([], finish, missing)
