"""ldssc segment photo.jpg -k 4 -o segments.png --overlay overlay.png"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from ldssc import files, images
from ldssc.cli import console, options
from ldssc.exceptions import InputError, require
from ldssc.images.drawing import palette
from ldssc.images.reading import PICTURES, write_image, write_labels
from ldssc.images.segment import GRID, RADIUS, TOL, Segmentation
from ldssc.normalization import NORMALIZATIONS


def segment(
    image: Annotated[Path, typer.Argument(help="A picture of any kind that Pillow reads, or an array as .npy.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where the labels go: .png, .tif or .bmp (coloured, the values are the labels), .npy.",
        ),
    ],
    n_segments: Annotated[int, typer.Option("--n-segments", "-k", help="Number of segments.")] = 4,
    overlay: Annotated[
        Path | None, typer.Option(help="Write the picture with its segments outlined too: .png, .tif or .bmp.")
    ] = None,
    grid: Annotated[
        str, typer.Option(help="Work on so many cells squared, in the picture's proportions, or on ROWSxCOLUMNS.")
    ] = str(GRID),
    radius: Annotated[float, typer.Option(help="Reach of an affinity, in cells of the grid.")] = RADIUS,
    sigma: Annotated[
        float | None, typer.Option(help="Width of the affinity, in units of the contrast; none: by the normalisation.")
    ] = None,
    normalization: Annotated[str, typer.Option(help=f"One of {', '.join(NORMALIZATIONS)}.")] = "semidefinite",
    solver: options.Solver = "auto",
    tol: Annotated[float, typer.Option(help="Proven relative distance to the exact F at which to stop.")] = TOL,
    max_iter: options.MaxIter = None,
    time_limit: options.TimeLimit = None,
    paper: options.Paper = False,
    n_init: Annotated[int, typer.Option(min=1, help="Random starts of the label assignment.")] = 10,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of the label assignment.")] = 0,
) -> int:
    """Cut a picture into segments along its edges, and write one label a pixel.

    Ctrl-C ends the projection early; labels are made from the best matrix so far.
    """
    _ask_outputs(image, output, overlay)
    shape = _parsed(grid)
    with console.progress(tol) as callback:
        params = options.solver_params(normalization, callback, max_iter=max_iter, time_limit=time_limit, paper=paper)
        pixels = images.read_image(image)
        found = images.segmentation(
            pixels,
            n_segments,
            grid=shape,
            radius=radius,
            sigma=sigma,
            normalization=normalization,
            solver=solver,
            tol=tol,
            solver_params=params,
            n_init=n_init,
            random_state=random_state,
        )
    write_labels(output, found.labels, palette(n_segments))
    if overlay is not None:
        write_image(overlay, images.overlay(pixels, found.labels))
    _report(found, image, output, overlay)
    return 0 if found.result is None or found.result.solved else 1


def _ask_outputs(image: Path, output: Path, overlay: Path | None) -> None:
    """Everything that can go wrong with the outputs, before the work."""
    files.require_writable(output, suffixes=(*PICTURES, ".npy"), spare=[image])
    if overlay is not None:
        files.require_writable(overlay, suffixes=tuple(PICTURES), spare=[image, output])
    if overlay is not None or output.suffix.lower() != ".npy":
        require("PIL", "images")


def _parsed(grid: str) -> Any:
    """40 -> 40; 30x40 -> (30, 40)."""
    try:
        numbers = tuple(int(part) for part in grid.lower().split("x"))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2):
        raise InputError(f"--grid must be a number, as 40, or rows and columns, as 30x40, and is {grid!r}")
    return numbers[0] if len(numbers) == 1 else numbers


def _report(found: Segmentation, image: Path, output: Path, overlay: Path | None) -> None:
    (height, width), (rows, columns) = found.labels.shape, found.affinity.shape
    shown = Table(title=None)
    for name in ("segment", "pixels", "share"):
        shown.add_column(name, justify="right")
    for label, size in enumerate(np.bincount(found.labels.ravel(), minlength=int(found.grid_labels.max()) + 1)):
        shown.add_row(str(label), str(size), f"{100 * size / found.labels.size:.1f} %")
    stray = images.stray_regions(found.grid_labels)
    console.say(f"{image}: {width} x {height} pixels, worked on {columns} x {rows}")
    console.say(
        f"affinity: intervening contours, σ = {found.affinity.sigma:.3g}; normalisation: {found.model.normalization}"
    )
    console.show(shown)
    console.say(f"{stray.n_regions} connected regions, {stray.n_stray} of them smaller than 1 % of the picture")
    if found.result is not None:
        console.report_proof(found.result)
    console.say(f"labels are in {output}" + ("" if overlay is None else f", the overlay in {overlay}"))
