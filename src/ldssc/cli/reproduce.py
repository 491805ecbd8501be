"""ldssc reproduce table2 --data FOLDER --out FOLDER"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ldssc.cli import console
from ldssc.experiments import EXPERIMENTS, Request
from ldssc.experiments import reproduce as run


def reproduce(
    experiments: Annotated[list[str], typer.Argument(help=f"all, or any of {', '.join(EXPERIMENTS)}.")],
    data: Annotated[Path, typer.Option(help="The folder of the data sets (ldssc data fetch all --to FOLDER).")],
    out: Annotated[Path, typer.Option(help="The folder for tables, figures, pages and what is kept between runs.")],
    quick: Annotated[bool, typer.Option("--quick", help="A small grid: minutes.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Everything, LD-SSC1 on 1,400 points included: a night.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    pages: Annotated[Path | None, typer.Option(help="The folder for the pages; none: OUT/pages.")] = None,
) -> int:
    """Run the paper's experiments again, and write our numbers beside the paper's.

    Every cell is stored as it is computed: run the same command again after an interruption. Exit code 1: some cells
    could not be computed; 2: nothing could.
    """
    os.environ.setdefault("MPLBACKEND", "agg")
    terminal = console.err()
    try:
        done = run(
            experiments,
            Request(data, out, quick=quick, full=full),
            jobs=jobs,
            pages=pages,
            progress=lambda line: terminal.print(line, soft_wrap=True),
        )
    except KeyboardInterrupt:
        console.complain(f"interrupted; what was computed is kept in {out / 'cells'}: run the same command again")
        return 1
    for page in done.pages:
        for protocol, counted in page.verdicts.items():
            words = ", ".join(f"{count} {word}" for word, count in counted.items())
            console.say(f"{page.title}, {protocol}: {words}" if protocol else f"{page.title}: {words}")
    for path in done.files:
        console.say(str(path))
    sys.stdout.flush()
    for sentence in done.missing:
        console.warn(sentence)
    if done.missing:
        console.complain(f"{len(done.missing)} parts are missing, named above")
    return 1 if done.missing else 0
