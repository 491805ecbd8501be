"""Options that more than one command takes."""

from __future__ import annotations

from typing import Annotated

import typer

from ldssc.solvers import SOLVERS

Solver = Annotated[str, typer.Option(help=f"Solver of the semidefinite normalisation: {', '.join(SOLVERS)}.")]
MaxIter = Annotated[int | None, typer.Option(help="Iterations allowed; none: until tol, a stall or the time limit.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds allowed.")]
Paper = Annotated[bool, typer.Option("--paper", help="ld-ssc1 or ld-ssc2 with the paper's iteration counts.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a text file starts with names; found out if not said."),
]
