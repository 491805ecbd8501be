"""ldssc cluster data.csv -k 3 -o labels.csv"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from ldssc import SemidefiniteSpectralClustering, files
from ldssc.affinity import AFFINITIES
from ldssc.cli import console, options
from ldssc.exceptions import InputError
from ldssc.labels import LABELLERS
from ldssc.normalization import NORMALIZATIONS
from ldssc.tables import Table as Samples


def cluster(
    data: Annotated[
        Path, typer.Argument(help="One row a sample: a text table (.csv, .tsv, .txt), .npy, .npz or .mtx.")
    ],
    n_clusters: Annotated[int, typer.Option("--n-clusters", "-k", help="Number of clusters.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the labels go, as .csv.")],
    affinity: Annotated[str, typer.Option(help=f"One of {', '.join(sorted(AFFINITIES))}.")] = "rbf",
    gamma: Annotated[float | None, typer.Option(help="Kernel coefficient; none: 1 / median distance² for rbf.")] = None,
    n_neighbors: Annotated[int, typer.Option(min=1, help="Neighbours in the graph affinities.")] = 10,
    degree: Annotated[float, typer.Option(help="Degree of the polynomial kernel.")] = 3,
    coef0: Annotated[float, typer.Option(help="Constant of the polynomial kernel.")] = 1,
    kernel_param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="More of the affinity, as weights=binary; repeatable."),
    ] = None,
    pca: Annotated[int | None, typer.Option(help="Reduce the data to so many principal components first.")] = None,
    normalization: Annotated[str, typer.Option(help=f"One of {', '.join(NORMALIZATIONS)}.")] = "semidefinite",
    solver: options.Solver = "auto",
    tol: Annotated[float, typer.Option(help="Proven relative distance to the exact F at which to stop.")] = 1e-2,
    max_iter: options.MaxIter = None,
    time_limit: options.TimeLimit = None,
    paper: options.Paper = False,
    n_components: Annotated[int | None, typer.Option(help="Eigenvectors used; none: one a cluster.")] = None,
    assign_labels: Annotated[str, typer.Option(help=f"One of {', '.join(LABELLERS)}.")] = "discretize",
    n_init: Annotated[int, typer.Option(min=1, help="Random starts of the label assignment.")] = 10,
    row_normalize: Annotated[
        bool | None,
        typer.Option("--row-normalize/--no-row-normalize", help="Scale the embedding's rows to length one."),
    ] = None,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of the label assignment.")] = 0,
    header: options.Header = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave out a column, by name or place; repeatable.")
    ] = None,
) -> int:
    """Cluster the rows of a table, and write one label a row.

    Ctrl-C ends the projection early; labels are made from the best matrix so far.
    """
    files.require_writable(output, suffixes=(".csv", ".txt"), spare=[data])
    with console.progress(tol) as callback:
        model = SemidefiniteSpectralClustering(
            n_clusters,
            affinity=affinity,
            gamma=gamma,
            n_neighbors=n_neighbors,
            degree=degree,
            coef0=coef0,
            kernel_params=_parsed(kernel_param or []),
            pca=pca,
            normalization=normalization,
            solver=solver,
            tol=tol,
            solver_params=options.solver_params(
                normalization, callback, max_iter=max_iter, time_limit=time_limit, paper=paper
            ),
            n_components=n_components,
            assign_labels=assign_labels,
            n_init=n_init,
            row_normalize=row_normalize,
            random_state=random_state,
        )
        table = files.read_table(data, header=header, ignore=ignore or [])
        model.fit(table.X)
    files.write_labels(output, model.labels_)
    _report(model, table, data, output)
    return 0 if model.result_ is None or model.result_.solved else 1


def _report(model: SemidefiniteSpectralClustering, table: Samples, data: Path, output: Path) -> None:
    sizes = np.bincount(model.labels_)
    shown = Table(title=None, title_justify="left")
    for name in ("cluster", "rows", "share"):
        shown.add_column(name, justify="right")
    for label, size in enumerate(sizes):
        shown.add_row(str(label), str(size), f"{100 * size / sizes.sum():.1f} %")
    named = ", the first line holds names" if table.header else ""
    console.say(f"{data}: {table.X.shape[0]} rows, {table.X.shape[1]} columns{named}")
    console.say(f"affinity: {model.affinity_description_}; normalisation: {model.normalization}")
    console.show(shown)
    if model.result_ is not None:
        console.report_proof(model.result_)
    console.say(f"labels are in {output}")


def _parsed(params: list[str]) -> dict[str, Any]:
    """weights=binary, self_loops=false, delta=2.5 -> a dictionary."""
    found: dict[str, Any] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals or not name:
            raise InputError(f"--kernel-param {param!r} must look like name=value, for example weights=binary")
        found[name] = {"true": True, "false": False}.get(text.lower(), _number_or_text(text))
    return found


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
