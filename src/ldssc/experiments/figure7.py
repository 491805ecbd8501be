"""The paper's figure 7: pictures segmented under each normalisation, side by side, with numbers for what the eye sees.

The paper gives: 40 x 40 pixels, four segments, oriented filter pairs, the largest edge on the line between two pixels,
Yu and Shi's discretisation. Left open, and chosen here: filters, radius and σ (`images.segment`), which pictures, and
the iterations of LD-SSC1 and LD-SSC2 (the presets of `project`, unrepaired). σ decides a great deal, and not all rules
want the same: every method is run at both values of `sigmas`, on the same affinities.
"""

from __future__ import annotations

import csv
import hashlib
import io
import time
import warnings
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import ldssc
from ldssc import datasets, images, plots
from ldssc.exceptions import InputError
from ldssc.experiments.cells import Cell, Progress, Task, compute, make_folder
from ldssc.images.grid import Labels, enlarge
from ldssc.writing import PathLike, require_writable, write_atomically

Pixels = npt.NDArray[Any]


@dataclass(frozen=True)
class Method:
    """A row of the paper's tables, as `images.segmentation` runs it; its cost in eigendecompositions, for the time left."""

    name: str
    normalization: str
    cost: int
    options: dict[str, Any] = field(default_factory=dict)


METHODS = (
    Method("NO", "none", 2),
    Method("RC", "ratio-cut", 2),
    Method("NC", "normalized-cut", 2),
    Method("FSC", "frobenius", 3),
    Method("LD-SSC1", "semidefinite", 1200, {"solver": "ld-ssc1", "solver_params": {"paper": True}}),
    Method("LD-SSC2", "semidefinite", 60, {"solver": "ld-ssc2", "solver_params": {"paper": True}}),
    Method("LD-SSC exact", "semidefinite", 90, {"solver": "auto", "tol": 1e-2}),
)


@dataclass(frozen=True)
class Settings:
    """All that the figure depends on."""

    grid: tuple[int, int] = (40, 40)
    n_segments: int = 4
    radius: float = 10.0
    sigmas: tuple[float, ...] = (0.5, 3.0)  # what suits the cuts, what suits the projections (docs/images.md)
    n_init: int = 10
    random_state: int = 0
    faces: tuple[tuple[str, int], ...] = (("orl", 0), ("orl", 130), ("yale_64x64", 0), ("yale_64x64", 60))
    photographs: tuple[str, ...] = ("42049", "241004")
    methods: tuple[Method, ...] = METHODS


FIGURE_VII = Settings()
#: Minutes instead of hours: LD-SSC1 takes a thousand eigendecompositions of the grid's size.
FIGURE_VII_QUICK = replace(
    FIGURE_VII, grid=(20, 20), radius=5.0, faces=(("orl", 0), ("yale_64x64", 0)), photographs=("42049",)
)


class Picture(NamedTuple):
    """A picture, and what humans drew on it, if they did."""

    name: str
    pixels: Pixels
    humans: list[Labels]


class Outcome(NamedTuple):
    """What a run has written, and what it could not find."""

    rows: list[dict[str, Any]]
    files: list[Path]
    missing: list[str]


def run(
    data: PathLike,
    out: PathLike,
    *,
    quick: bool = False,
    settings: Settings | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Compute what is not there yet, draw, and write OUT/figure7.csv and one OUT/figure7-sigma….png and .svg for each σ.

    Every cell (a picture under a method and a σ) is stored in OUT/cells/figure7 as soon as it is computed: a run that was
    killed goes on where it was. Sets and pictures that are not in the folder `data` are left out and named in the outcome.
    """
    chosen = settings or (FIGURE_VII_QUICK if quick else FIGURE_VII)
    make_folder(out)
    pictures, missing = _pictures(Path(data), chosen)
    targets = {
        sigma: [Path(out) / f"figure7-sigma{sigma:g}.{kind}" for kind in ("png", "svg")] for sigma in chosen.sigmas
    }
    table = Path(out) / "figure7.csv"
    for path in [table, *(path for paths in targets.values() for path in paths)]:
        require_writable(path)
    computed = compute(tasks(pictures, chosen), out, jobs=jobs, progress=progress)
    found = {key: computed[f"figure7/{_name(*key)}"] for key in _wanted(pictures, chosen)}
    rows = [cell.record for cell in found.values()]
    write_atomically(table, lambda stream: stream.write(_csv(rows).encode()))
    for sigma, paths in targets.items():
        if pictures:
            _draw(pictures, chosen, sigma, found, paths)
    return Outcome(rows, [table, *(path for paths in targets.values() for path in paths if pictures)], missing)


def _pictures(data: Path, settings: Settings) -> tuple[list[Picture], list[str]]:
    pictures, missing = [], []
    for name, index in settings.faces:
        try:
            faces = datasets.load(name, data)
        except InputError as error:
            missing.append(str(error))
            continue
        pixels = faces.X[index].reshape(faces.image_shape or (-1,)).astype(np.uint8)
        pictures.append(Picture(f"{name}-{index}", pixels, []))
    for name in settings.photographs:
        try:
            pixels = images.read_image(data / "images" / f"{name}.jpg")
        except InputError as error:
            missing.append(str(error))
            continue
        drawn = data / "images" / f"{name}_gt.npz"
        humans = list(np.load(drawn)["segs"].astype(np.int64)) if drawn.exists() else []
        pictures.append(Picture(name, pixels, humans))
    return pictures, missing


Key = tuple[str, str, float]


def _wanted(pictures: list[Picture], settings: Settings) -> list[Key]:
    return [(p.name, m.name, s) for m in settings.methods for s in settings.sigmas for p in pictures]


def tasks(pictures: list[Picture], settings: Settings) -> list[Task]:
    """A cell for every picture, method and σ."""
    return [
        Task(
            "figure7",
            _name(p.name, m.name, s),
            _depends(p, m, s, settings),
            _cell,
            (p, m, s, settings),
            cost=m.cost * (settings.grid[0] * settings.grid[1] / 1000) ** 3,
        )
        for m in settings.methods
        for s in settings.sigmas
        for p in pictures
    ]


def _name(picture: str, method: str, sigma: float) -> str:
    return f"{picture}_{method.replace(' ', '-')}_{sigma:g}"


def _depends(picture: Picture, method: Method, sigma: float, settings: Settings) -> dict[str, Any]:
    """All that a cell depends on, the version and the pixels included."""
    own = {
        name: value
        for name, value in asdict(settings).items()
        if name not in ("faces", "photographs", "methods", "sigmas")
    }
    content = hashlib.sha256(np.ascontiguousarray(picture.pixels).tobytes()).hexdigest()
    options = {"normalization": method.normalization, **method.options}
    return {**own, "method": options, "sigma": sigma, "pixels": content, "version": ldssc.__version__}


def _cell(picture: Picture, method: Method, sigma: float, settings: Settings) -> Cell:
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = images.segmentation(
            picture.pixels,
            settings.n_segments,
            grid=settings.grid,
            radius=settings.radius,
            sigma=sigma,
            normalization=method.normalization,
            n_init=settings.n_init,
            random_state=settings.random_state,
            **method.options,
        )
    seconds, stray = time.perf_counter() - start, images.stray_regions(found.grid_labels)
    record: dict[str, Any] = {
        "picture": picture.name,
        "method": method.name,
        "sigma": sigma,
        "n_regions": stray.n_regions,
        "n_stray": stray.n_stray,
        "stray_share": stray.share,
        **_against_humans(found.labels, picture.humans),
        "seconds": round(seconds, 2),
        "status": "" if found.result is None else found.result.status.name,
        "distance": "" if found.result is None else found.result.certificate.distance,
        "iterations": "" if found.result is None else found.result.n_iter,
        "note": "; ".join(str(warning.message).split(":")[0] for warning in said),
    }
    return Cell(record, found.grid_labels)


def _against_humans(labels: Labels, humans: list[Labels]) -> dict[str, Any]:
    if not humans:
        return dict.fromkeys(("precision", "recall", "f", "covering"), "")
    scores = images.boundary_scores(labels, humans)
    return {**scores._asdict(), "covering": images.covering(images.connected_regions(labels), humans)}


def _csv(rows: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]) if rows else ["picture"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows)
    return stream.getvalue()


def _draw(pictures: list[Picture], settings: Settings, sigma: float, found: dict[Key, Cell], paths: list[Path]) -> None:
    """A row a picture: itself, then its segments under each method; below, how many regions and how many are stray."""
    rows = []
    for picture in pictures:
        size = picture.pixels.shape[0], picture.pixels.shape[1]
        panels = []
        for method in settings.methods:
            cell = found[picture.name, method.name, sigma]
            note = f"{cell.record['n_regions']} regions, {cell.record['n_stray']} stray"
            if picture.humans:
                note += f"\nF {cell.record['f']:.2f}, cov. {cell.record['covering']:.2f}"
            panels.append((method.name, enlarge(cell.array, size), note))
        rows.append((picture.name, picture.pixels, panels))
    figure = plots.segments_figure(rows)
    for path in paths:
        kind = path.suffix[1:]
        write_atomically(path, lambda stream, kind=kind: figure.savefig(stream, format=kind, dpi=150))  # type: ignore[misc]
