"""The paper's figure 7: pictures segmented under each normalisation, side by side, with numbers for what the eye sees.

The paper gives: 40 x 40 pixels, four segments, oriented filter pairs, the largest edge on the line between two pixels,
Yu and Shi's discretisation. Left open, and chosen here: filters, radius and σ (`images.segment`), which pictures, and
the iterations of LD-SSC1 and LD-SSC2 (the presets of `project`, unrepaired). σ decides a great deal, and not all rules
want the same: every method is run at both values of `sigmas`, on the same affinities.
"""

from __future__ import annotations

import hashlib
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
from ldssc.experiments.cells import Cell, make_folder
from ldssc.experiments.computing import Progress, Task, compute
from ldssc.experiments.planning import Found, Page, Plan, Request, markdown, write_csv
from ldssc.experiments.statistics import sign_test
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


def plan(request: Request) -> Plan:
    """The figure; LD-SSC1, a thousand eigendecompositions a cell, only at the small grid of quick, or with full."""
    cheap = replace(FIGURE_VII, methods=tuple(method for method in METHODS if method.name != "LD-SSC1"))
    return plan_of(request, FIGURE_VII_QUICK if request.quick else FIGURE_VII if request.full else cheap)


def plan_of(request: Request, settings: Settings) -> Plan:
    """OUT/figure7.csv and one OUT/figure7-sigma….png and .svg for each σ; missing sets and pictures are left out."""
    pictures, missing = _pictures(request.data, settings)

    def finish(found: Found) -> tuple[list[Path], Page]:
        kept = {key: cell for key in _wanted(pictures, settings) if (cell := found.get(f"figure7/{_name(*key)}"))}
        rows = [cell.record for cell in kept.values()]
        table = write_csv(request.out / "figure7.csv", rows, list(rows[0]) if rows else ["picture"])
        paths = (
            []
            if len(kept) < len(_wanted(pictures, settings)) or not pictures
            else _drawn(request, pictures, settings, kept)
        )
        return [table, *paths], Page("figure7", "Figure 7: image segmentation", _body(rows, settings))

    return Plan(tasks(pictures, settings), finish, missing)


def _drawn(request: Request, pictures: list[Picture], settings: Settings, found: dict[Key, Cell]) -> list[Path]:
    paths = []
    for sigma in settings.sigmas:
        targets = [request.out / f"figure7-sigma{sigma:g}.{kind}" for kind in ("png", "svg")]
        _draw(pictures, settings, sigma, found, targets)
        paths += targets
    return paths


def _body(rows: list[dict[str, Any]], settings: Settings) -> str:
    """Means over pictures, and whether LD-SSC leaves fewer stray regions than the others: sign tests over the cells."""
    means, tests = [], []
    for sigma in settings.sigmas:
        for method in settings.methods:
            own = [row for row in rows if (row["method"], row["sigma"]) == (method.name, sigma)]
            if own:
                mean = {
                    name: sum(row[name] for row in own) / len(own) for name in ("n_regions", "n_stray", "stray_share")
                }
                means.append({"σ": sigma, "method": method.name, **mean})
    ours = "LD-SSC exact"
    at = {(row["picture"], row["sigma"], row["method"]): row["n_stray"] for row in rows}
    for method in settings.methods:
        pairs = [(at[p, s, ours], n) for (p, s, m), n in at.items() if m == method.name and (p, s, ours) in at]
        if pairs and method.name != ours:
            tests.append(f"- {ours} against {method.name}, stray regions: {sign_test(*zip(*pairs, strict=True))}")
    height, width = settings.grid
    without = (
        ""
        if any(method.name == "LD-SSC1" for method in settings.methods)
        else " LD-SSC1 is run with --quick or --full."
    )
    return (
        f"{height} x {width} pixels, {settings.n_segments} segments; the pictures are in the output folder.{without} "
        "A region is stray where it is smaller than a hundredth of the picture.\n\n"
        + markdown(means, ("σ", "method", "n_regions", "n_stray", "stray_share"))
        + "\n"
        + "\n".join(tests)
        + "\n\n"
        + (markdown(rows, list(rows[0])) if rows else "")
    )


def run(
    data: PathLike,
    out: PathLike,
    *,
    quick: bool = False,
    settings: Settings | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Compute what is not there yet, draw, and write; a run that was killed goes on where it was."""
    chosen = settings or (FIGURE_VII_QUICK if quick else FIGURE_VII)
    make_folder(out)
    require_writable(Path(out) / "figure7.csv")
    planned = plan_of(Request(Path(data), Path(out), quick=quick), chosen)
    found = compute(planned.tasks, out, jobs=jobs, progress=progress)
    files, _ = planned.finish(found)
    rows = [found[task.key].record for task in planned.tasks]
    return Outcome(rows, files, planned.missing)


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
