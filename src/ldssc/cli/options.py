"""Options that more than one command takes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ldssc.exceptions import InputError
from ldssc.solvers import SOLVERS

Solver = Annotated[str, typer.Option(help=f"Solver of the semidefinite normalisation: {', '.join(SOLVERS)}.")]
MaxIter = Annotated[int | None, typer.Option(help="Iterations allowed; none: until tol, a stall or the time limit.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds allowed.")]
Paper = Annotated[bool, typer.Option("--paper", help="ld-ssc1 or ld-ssc2 with the paper's iteration counts.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a text file starts with names; found out if not said."),
]


def solver_params(normalization: str, callback: Any, **given: Any) -> dict[str, Any]:
    """What `project` takes; the other normalisations take nothing of it, and saying so beats ignoring it."""
    chosen = {name: value for name, value in given.items() if value is not None and value is not False}
    if normalization == "semidefinite":
        return {"callback": callback, **chosen}
    if chosen:
        names = ", ".join("--" + name.replace("_", "-") for name in chosen)
        raise InputError(f"{names} belongs to --normalization semidefinite, and it is {normalization!r}; leave it out")
    return {}
