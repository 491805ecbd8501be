"""ldssc project K.npy -o F.npy"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

import ldssc
from ldssc import files
from ldssc.cli import console, options


def project(
    affinity: Annotated[Path, typer.Argument(metavar="K", help="Symmetric matrix: .npy, .npz, .mtx or a text table.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where F goes: .npy, .npz, .csv or .mtx; its certificate goes to .json."),
    ],
    solver: options.Solver = "auto",
    tol: Annotated[float, typer.Option(help="Proven relative distance to the exact F at which to stop.")] = 1e-6,
    max_iter: options.MaxIter = None,
    time_limit: options.TimeLimit = None,
    paper: options.Paper = False,
    multipliers: Annotated[
        Path | None, typer.Option(help="Write u, Q and Z as .npz too: all that it takes to check the certificate.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Write the best so far here as the run goes (.npz); go on from it where it exists."),
    ] = None,
    header: options.Header = None,
) -> int:
    """Find the doubly stochastic, positive semidefinite matrix F nearest to K, and prove how near the answer is.

    Ctrl-C ends the run early; the best F so far is written. With --checkpoint so does SIGTERM, and the same command goes on.
    """
    certificate = files.certificate_path(output)
    files.require_writable(output, suffixes=files.WRITABLE, spare=[affinity])
    files.require_writable(certificate, spare=[affinity])
    if multipliers is not None:
        files.require_writable(multipliers, suffixes=(".npz",), spare=[affinity, output])
    if checkpoint is not None:
        spare = [affinity, output, certificate, *([] if multipliers is None else [multipliers])]
        files.require_writable(checkpoint, suffixes=(".npz",), spare=spare)
    K = files.read_matrix(affinity, header=header)
    files.require_writable(output, n_bytes=8.0 * math.prod(K.shape) * (1 if multipliers is None else 3))
    with console.progress(tol) as callback:
        result = ldssc.project(
            K,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            callback=callback,
            paper=paper,
            checkpoint=checkpoint,
        )
    files.write_matrix(output, result.F)
    files.write_certificate(output, result)
    if multipliers is not None:
        files.write_multipliers(multipliers, result)
    console.report_proof(result)
    console.say(f"F ({len(result.F)} x {len(result.F)}) is in {output}, its certificate in {certificate}")
    if not result.solved:
        console.warn(f"F is written, and is not proven to tol {tol:.3g}: raise --tol, --max-iter or --time-limit")
    return 0 if result.solved else 1
