"""ldssc demo: the main job on three small data sets, a table and a picture."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

import ldssc
from ldssc import SemidefiniteSpectralClustering, files, plots
from ldssc.cli import console
from ldssc.datasets import Dataset, iris, two_moons, wine
from ldssc.exceptions import MissingExtraError, require
from ldssc.solvers import Result

TOL, TIME_LIMIT = 2e-2, 2.0
#: Short name, name in `normalize`, solver.
METHODS = (
    ("NO", "none", None),
    ("RC", "ratio-cut", None),
    ("NC", "normalized-cut", None),
    ("Sinkhorn", "sinkhorn", None),
    ("FSC", "frobenius", None),
    ("LD-SSC1", "semidefinite", "ld-ssc1"),
    ("LD-SSC2", "semidefinite", "ld-ssc2"),
    ("LD-SSC", "semidefinite", "auto"),
)
PROVEN = tuple(short for short, _, solver in METHODS if solver)


@dataclass(frozen=True)
class Case:
    """A data set, and what is drawn of it."""

    data: Dataset
    drawn: str
    columns: slice | None  # of the features; none: eigenvectors

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.data.y.max()) + 1


@dataclass(frozen=True)
class Answer:
    """What one method made of one case."""

    model: SemidefiniteSpectralClustering
    error: float
    seconds: float


def demo(
    out: Annotated[
        Path | None, typer.Option(help="The picture; its suffix is its format.", show_default="./ldssc-demo.png")
    ] = None,
) -> int:
    """Cluster iris, wine and two moons with every normalisation; print error rates and proofs, and draw a picture."""
    picture = _picture(out)
    console.say(f"ldssc {ldssc.__version__}: three data sets, six normalisations of one Gaussian affinity each")
    cases = _cases()
    for case in cases:
        console.say(f"  {_described(case)}")
    with console.working() as say_where, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the proofs are printed below, reached or not
        answers = [{method[0]: _solve(case, method, say_where) for method in METHODS} for case in cases]
    console.show(_table(cases, answers))
    _say_proofs(cases, answers)
    if picture is not None:
        figure = plots.demo_figure([_panel(case, found) for case, found in zip(cases, answers, strict=True)])
        kind = picture.suffix.lower().lstrip(".")
        files.write_atomically(picture, lambda stream: figure.savefig(stream, format=kind, dpi=150))
        console.say(f"\nthe picture is in {picture if out else f'./{picture}'}")
    return 0


def _picture(out: Path | None) -> Path | None:
    """Where the picture goes, asked before the work; none where Matplotlib is missing and no picture was asked for."""
    try:
        require("matplotlib", "plot")
    except MissingExtraError as error:
        if out is not None:
            raise
        console.warn(f"there will be no picture: {error}")
        return None
    return files.require_writable(out or Path("ldssc-demo.png"), suffixes=plots.picture_formats())


def _cases() -> list[Case]:
    return [
        Case(iris(), "petal length and width", slice(2, 4)),
        Case(wine(), "second and third eigenvector of F", None),
        Case(two_moons(150, random_state=0), "the two features", slice(0, 2)),
    ]


def _described(case: Case) -> str:
    n, d = case.data.X.shape
    return f"{case.data.name}: {n} points in {case.k} classes, {d} features as they are; width δ = the median distance"


def _solve(case: Case, method: tuple[str, str, str | None], say_where: console.SayWhere) -> Answer:
    short, normalization, solver = method
    say_where(f"{case.data.name}, {short}")
    start = time.perf_counter()
    model = SemidefiniteSpectralClustering(
        case.k,
        normalization=normalization,
        solver=solver or "auto",
        tol=TOL,
        solver_params={"time_limit": TIME_LIMIT} if solver else None,
        random_state=0,
    ).fit(case.data.X)
    seconds = time.perf_counter() - start
    return Answer(model, ldssc.error_rate(case.data.y, model.labels_), seconds)


def _table(cases: list[Case], answers: list[dict[str, Answer]]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="error rate and seconds", title_justify="left", title_style="")
    table.add_column("")
    table.add_column("normalisation")
    for case in cases:
        table.add_column(case.data.name, justify="right")
    for short, normalization, _ in METHODS:
        best = [min(found.values(), key=lambda a: a.error).error for found in answers]
        cells = [
            f"{found[short].error:.3f}{'*' if found[short].error == lowest else ' '} {found[short].seconds:5.2f} s"
            for found, lowest in zip(answers, best, strict=True)
        ]
        table.add_row(short, normalization, *cells)
    table.add_section()
    alone = [1 - np.bincount(case.data.y).max() / len(case.data.y) for case in cases]
    table.add_row("", "(one cluster)", *(f"{error:.3f}          " for error in alone))
    return table


def _say_proofs(cases: list[Case], answers: list[dict[str, Answer]]) -> None:
    console.say("* lowest of the column")
    console.say(f"\nWhat is proven (asked for: within {TOL:.0%} of the exact matrix; {TIME_LIMIT:g} s allowed)")
    for case, found in zip(cases, answers, strict=True):
        for short in PROVEN:
            result = _result(found[short])
            console.say(
                f"  {case.data.name}, {short}: within {result.certificate.distance:.2%}; {result.status.sentence} "
                f"({result.n_iter} iterations, {result.n_eig} eigendecompositions)"
            )
    worst = [_result(found[short]).certificate for found in answers for short in PROVEN]
    below = max(max(proof.negativity, proof.indefiniteness) for proof in worst)
    console.say(
        f"  All of these F have rows that sum to one within {max(proof.row_sum for proof in worst):.0e}, and "
        + (f"no entry or eigenvalue below {-below:.0e}" if below else "no negative entry or eigenvalue")
    )


def _result(answer: Answer) -> Result:
    assert answer.model.result_ is not None
    return answer.model.result_


def _panel(case: Case, found: dict[str, Answer]) -> plots.Panel:
    """The picture shows the F of the algorithm that has proven more."""
    best = min((found[short] for short in PROVEN), key=lambda answer: _result(answer).certificate.distance).model
    points = best.embedding_[:, 1:3] if case.columns is None else case.data.X[:, case.columns]
    return plots.Panel(
        name=case.data.name,
        K=best.affinity_matrix_,
        F=best.normalized_affinity_,
        points=points,
        points_title=case.drawn,
        within=points[:, 0],
        labels=best.labels_,
        truth=case.data.y,
        rates={short: answer.error for short, answer in found.items()},
        strong=PROVEN,
    )
