"""ldssc certify labels.csv data.csv"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import ldssc
from ldssc import files
from ldssc.cli import console, options
from ldssc.label_files import read_labels
from ldssc.proofs import OBJECTIVES, LabelProof
from ldssc.validation import check_choice


def certify(
    labels: Annotated[
        Path, typer.Argument(help="One label a row, from any tool: a column of a text table, .npy or .npz.")
    ],
    data: Annotated[
        Path, typer.Argument(help="The points, one a row; with --objective kernel or normalized-cut, a square matrix.")
    ],
    objective: Annotated[
        str, typer.Option(help=f"What the labels should minimise: {', '.join(OBJECTIVES)}.")
    ] = "kmeans",
    label_column: Annotated[
        str | None, typer.Option(help="Column of the labels, by name or place; it may be one of the data file's own.")
    ] = None,
    tol: Annotated[float, typer.Option(help="Share of the cost to which the bound is driven.")] = 1e-3,
    time_limit: options.TimeLimit = None,
    as_json: Annotated[bool, typer.Option("--json", help="All numbers as JSON, and nothing else.")] = False,
    better: Annotated[Path | None, typer.Option(help="Write a better partition here (.csv), where one is met.")] = None,
    header: options.Header = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave out a column of the data, by name or place.")
    ] = None,
) -> int:
    """Prove how far labels are from the best possible ones: no partition costs less than the bound.

    Labels -1 are noise and left out.
    """
    check_choice(objective, "objective", OBJECTIVES)
    if better is not None:
        files.require_writable(better, suffixes=(".csv", ".txt"), spare=[labels, data])
    left_out = list(ignore or [])
    if label_column is not None and labels.exists() and data.exists() and labels.samefile(data):
        left_out.append(label_column)
    if objective == "kmeans":
        matrix = files.read_table(data, header=header, ignore=left_out).X
    else:
        matrix = files.read_matrix(data, header=header)
    given = read_labels(labels, column=label_column, n_rows=matrix.shape[0])
    proof = ldssc.certify_labels(given, matrix, objective, tol=tol, time_limit=time_limit)
    if better is not None and proof.better_labels is not None:
        files.write_labels(better, proof.better_labels)
    if as_json:
        console.say(json.dumps(proof.as_dict(), ensure_ascii=False, allow_nan=False))
    else:
        _report(proof, better)
    return 0


def _report(proof: LabelProof, better: Path | None) -> None:
    console.say(proof.sentence)
    points = f"{proof.n_points} points in {proof.n_clusters} clusters"
    console.say(f"{proof.objective}, {points}: cost {proof.cost:.10g}, bound {proof.bound:.10g}, gap {proof.gap:.3g}")
    tightness = "" if proof.tightness is None else f"; tightness {proof.tightness:.3f}"
    console.say(f"bound from {proof.method}{tightness}; {proof.seconds:.2f} s")
    if better is not None and proof.better_labels is not None:
        console.say(f"the better labels are in {better}")
    elif better is not None:
        console.warn(f"no better partition was met, and {better} is not written")
