"""Pictures: the only file that imports Matplotlib. What is drawn is computed first; nothing is shown on a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError, require
from ldssc.validation import Matrix, Vector, as_matrix, check_square
from ldssc.writing import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Dark, light, middle: apart in grey as well; the shapes are apart in any case.
COLOURS = ("#17365c", "#f2b447", "#c8553d", "#7fb3a6", "#8a5a9e", "#d9d9d9", "#4f7d3a", "#f7a8b8")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
INK = "#222222"


def _figure(width: float, height: float) -> Figure:
    module = require("matplotlib.figure", "plot")
    figure: Figure = module.Figure(figsize=(width, height))
    engine = require("matplotlib.layout_engine", "plot").ConstrainedLayoutEngine
    figure.set_layout_engine(engine(w_pad=0.09, h_pad=0.07, wspace=0.02, hspace=0.03))
    return figure


def _axes(ax: Axes | None, width: float = 4.0, height: float = 4.0) -> Axes:
    require("matplotlib", "plot")
    return _figure(width, height).subplots() if ax is None else ax


def plot_matrix(
    A: Any,
    *,
    labels: npt.ArrayLike | None = None,
    within: npt.ArrayLike | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A matrix in greys, dark where large; rows sorted by `labels`, then by `within`, with a line between clusters."""
    A = check_square(as_matrix(A, "A"), "A")
    edges: list[float] = []
    if labels is not None:
        labels = _checked_labels(labels, len(A))
        order = np.lexsort((np.zeros(len(A)) if within is None else np.asarray(within), labels))
        A = A[np.ix_(order, order)]
        edges = [float(place) - 0.5 for place in np.flatnonzero(np.diff(labels[order])) + 1]
    low, high = _grey_range(A)
    ax = _axes(ax)
    ax.imshow(A, cmap="Greys", vmin=low, vmax=high, interpolation="nearest", aspect="equal")
    for edge in edges:
        ax.axhline(edge, color=COLOURS[2], linewidth=0.9)
        ax.axvline(edge, color=COLOURS[2], linewidth=0.9)
    _frame(ax)
    ax.set_title(title)
    return ax


def plot_points(
    points: Any, labels: npt.ArrayLike, *, truth: npt.ArrayLike | None = None, title: str = "", ax: Axes | None = None
) -> Axes:
    """Points in the plane, a colour and a shape for each cluster; ringed where the cluster is not that of the class."""
    points = as_matrix(points, "points")
    if points.shape[1] != 2:
        raise InputError(f"points must have two columns to be drawn, and have {points.shape[1]}; choose two")
    labels = _checked_labels(labels, len(points))
    wrong = np.zeros(len(labels), dtype=bool) if truth is None else _mismatched(truth, labels)
    ax = _axes(ax)
    for i, label in enumerate(np.unique(labels)):
        chosen = labels == label
        ax.scatter(
            points[chosen, 0],
            points[chosen, 1],
            s=20,
            c=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            edgecolors=INK,
            linewidths=0.4,
        )
    ax.scatter(points[wrong, 0], points[wrong, 1], s=75, facecolors="none", edgecolors=INK, linewidths=0.9)
    _frame(ax)
    ax.margins(0.08)
    ax.set_box_aspect(1)
    ax.set_title(title)
    return ax


def plot_rates(
    rates: Mapping[str, float], *, strong: Sequence[str] = (), title: str = "", ax: Axes | None = None
) -> Axes:
    """One horizontal bar a method with its error rate in per cent beside it; the names in `strong` are dark."""
    names, values = list(rates), np.array(list(rates.values()), dtype=np.float64) * 100
    ax = _axes(ax)
    places = np.arange(len(names))[::-1]
    ax.barh(places, values, height=0.62, color=[COLOURS[0] if n in strong else "#c4c9cf" for n in names])
    reach = max(float(values.max(initial=0.0)), 5.0)
    for place, value in zip(places, values, strict=True):
        ax.text(value + 0.02 * reach, place, f"{value:.1f} %", va="center", ha="left", fontsize=8, color=INK)
    ax.set_yticks(places, names)
    ax.set(xlim=(0, 1.22 * reach), xticks=[])
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_title(title)
    return ax


@dataclass(frozen=True)
class Panel:
    """One data set of the demo, computed: a row of the figure."""

    name: str
    K: Matrix
    F: Matrix
    points: Matrix
    points_title: str
    within: Vector
    labels: npt.NDArray[np.int64]
    truth: npt.NDArray[np.int64]
    rates: Mapping[str, float]
    strong: Sequence[str]


def demo_figure(panels: Sequence[Panel]) -> Figure:
    """A row a data set: K, its F, the points with their clusters, and the error rates of the normalisations."""
    figure = _figure(11.0, 0.7 + 2.75 * len(panels))
    grid = figure.subplots(len(panels), 4, squeeze=False, width_ratios=[1, 1, 1, 1.05])
    heads = ["affinity K", "F: doubly stochastic, semidefinite", "error rate"]
    for row, (panel, axes) in enumerate(zip(panels, grid, strict=True)):
        titles = heads if row == 0 else [" ", " ", " "]  # a blank keeps the boxes of a row in line
        plot_matrix(panel.K, labels=panel.labels, within=panel.within, title=titles[0], ax=axes[0])
        plot_matrix(panel.F, labels=panel.labels, within=panel.within, title=titles[1], ax=axes[1])
        plot_points(panel.points, panel.labels, truth=panel.truth, title=panel.points_title, ax=axes[2])
        plot_rates(panel.rates, strong=panel.strong, title=titles[2], ax=axes[3])
        axes[3].set_box_aspect(1)
        axes[0].set_ylabel(panel.name, fontsize=11, fontweight="bold", labelpad=8)
        for ax in axes:
            ax.title.set_fontsize(9)
            ax.title.set_color(INK)
    figure.supxlabel(
        "matrices: rows sorted by cluster, lines between clusters; points: colours and shapes are the clusters found, "
        "rings are points of another class",
        fontsize=8,
        color=INK,
    )
    return figure


def _frame(ax: Axes) -> None:
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color="#888888", linewidth=0.7)


def picture_formats() -> tuple[str, ...]:
    """The suffixes under which a figure can be written."""
    canvas = require("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg
    return tuple(f".{kind}" for kind in sorted(canvas.get_supported_filetypes()))


def _grey_range(A: Matrix) -> tuple[float, float]:
    """White is the smaller of zero and the minimum; black is where 98 % of the entries off the diagonal lie below."""
    off = A[~np.eye(len(A), dtype=bool)]
    low, high = min(0.0, float(A.min())), float(np.quantile(off, 0.98)) if off.size else float(A.max())
    return low, high if high > low else max(float(A.max()), low + 1.0)


def _mismatched(truth: npt.ArrayLike, labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where a point's class is not the one that its cluster stands for, under the best one-to-one map."""
    from scipy.optimize import linear_sum_assignment

    truth = _checked_labels(truth, len(labels))
    classes, clusters = np.unique(truth), np.unique(labels)
    shared = ((truth[:, None] == classes)[:, :, None] & (labels[:, None] == clusters)[:, None, :]).sum(axis=0)
    matched = np.zeros(len(labels), dtype=bool)
    for i, j in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        matched |= (truth == classes[i]) & (labels == clusters[j])
    return ~matched


def _checked_labels(labels: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise InputError(f"labels must be one a row, {n} in all, and have shape {labels.shape}")
    return labels


SegmentPanel = tuple[str, npt.NDArray[np.int64], str]


def segments_figure(rows: Sequence[tuple[str, npt.NDArray[Any], Sequence[SegmentPanel]]]) -> Figure:
    """A row a picture: its name and pixels, then its segments by several methods, each with a title and a note.

    The picture is grey and pale; segments differ in shade, and their borders are black lines with a white rim: nothing
    hangs on colour.
    """
    columns = 1 + max(len(panels) for _, _, panels in rows)
    tall = [pixels.shape[0] / pixels.shape[1] for _, pixels, _ in rows]
    figure = _figure(1.45 * columns, 0.3 + sum(1.3 * height + 0.55 for height in tall))
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=tall)
    for i, ((name, pixels, panels), axes) in enumerate(zip(rows, grid, strict=True)):
        grey = np.asarray(pixels, dtype=np.float64)
        grey = grey[..., :3].mean(axis=2) if grey.ndim == 3 else grey
        shown = [("picture", None, name), *panels]
        for ax, panel in zip(axes, shown, strict=False):
            _segments(ax, grey, panel, titled=i == 0)
        for ax in axes[len(shown) :]:
            ax.set_visible(False)
    return figure


def _segments(ax: Axes, grey: Matrix, panel: tuple[str, Any, str], *, titled: bool) -> None:
    title, labels, note = panel
    low, high = float(grey.min()), float(grey.max())
    picture = (grey - low) / ((high - low) or 1.0)
    if labels is not None:
        values, codes = np.unique(labels, return_inverse=True)
        codes = codes.reshape(labels.shape)
        shades = np.linspace(0.35, 1.0, len(values))[codes]
        picture = 0.35 * picture + 0.65 * shades
        for code in range(len(values) - 1):
            inside = (codes == code).astype(float)
            for colour, width in (("white", 2.2), ("black", 1.0)):
                ax.contour(inside, levels=[0.5], colors=colour, linewidths=width)
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest", zorder=0)
    _frame(ax)
    ax.set_xlabel(note, fontsize=7, color=INK)
    if titled:
        ax.set_title(title, fontsize=9, color=INK)


#: Seven curves that are told apart in black and white: shade, dashes and marker each differ.
STYLES = (
    ("#999999", ":", "o"),
    ("#777777", "--", "^"),
    ("#555555", "-.", "s"),
    (COLOURS[1], "-", "D"),
    (COLOURS[2], "--", "v"),
    (COLOURS[3], ":", "P"),
    (COLOURS[0], "-", "X"),
    ("#000000", "-.", "*"),
)


@dataclass(frozen=True)
class ErrorPanel:
    """One set of figure 3: curves of (parameter, error), and the error of everything in one class."""

    name: str
    parameter: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    majority: float


def error_curves(panels: Sequence[ErrorPanel], columns: int = 3) -> Figure:
    """Error against the kernel parameter, a panel a set, one legend for all."""
    rows = max(1, -(-len(panels) // columns))
    figure = _figure(3.6 * columns, 2.5 * rows + 0.6)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    named: dict[str, Any] = {}
    for ax, panel in zip(axes, panels, strict=False):
        for i, (method, points) in enumerate(panel.curves.items()):
            colour, dashes, marker = STYLES[i % len(STYLES)]
            x, y = zip(*points, strict=True)
            size = 9 - 0.8 * i  # what lies under another curve shows around it
            (line,) = ax.plot(
                x,
                y,
                linestyle=dashes,
                color=colour,
                marker=marker,
                markersize=size,
                markerfacecolor="none",
                linewidth=1.2,
            )
            named.setdefault(method, line)
        ax.axhline(panel.majority, color=INK, linewidth=0.7, linestyle=(0, (6, 3)))
        ax.set_title(panel.name, fontsize=10)
        ax.set_xlabel(panel.parameter, fontsize=8)
        ax.tick_params(labelsize=7)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    if named:
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named), fontsize=8)
    return figure


def embeddings_figure(
    rows: Sequence[tuple[str, Sequence[str], npt.NDArray[Any], npt.NDArray[np.int64]]],
) -> Figure:
    """A row a set: its name, the panels' titles, panels x points x 2, and the true classes."""
    columns = max((len(titles) for _, titles, _, _ in rows), default=1)
    figure = _figure(1.9 * columns, 2.2 * max(len(rows), 1))
    grid = figure.subplots(max(len(rows), 1), columns, squeeze=False)
    for axes, (name, titles, points, y) in zip(grid, rows, strict=True):
        for ax, title, own in zip(axes, titles, points, strict=False):
            plot_points(own, y, title=title, ax=ax)
            middle, half = (own.max(axis=0) + own.min(axis=0)) / 2, 0.55 * float(np.ptp(own, axis=0).max())
            half = half or 1.0  # one scale for both axes: a line stays a line
            ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
            ax.title.set_fontsize(9)
        axes[0].set_ylabel(name, fontsize=10, fontweight="bold")
        for ax in axes[len(titles) :]:
            ax.set_visible(False)
    return figure


@dataclass(frozen=True)
class OverlapRow:
    """One set of figure 5: matrices with their titles, the classes of the rows, one image of each class."""

    name: str
    matrices: Sequence[tuple[str, Matrix]]
    y: npt.NDArray[np.int64]
    samples: Sequence[npt.NDArray[Any]]


def overlaps_figure(rows: Sequence[OverlapRow]) -> Figure:
    """A row a set: one image of each class, and the matrices, rows sorted by class with a line between classes."""
    columns = 1 + max((len(row.matrices) for row in rows), default=1)
    figure = _figure(2.6 * columns, 2.9 * max(len(rows), 1))
    grid = figure.subplots(max(len(rows), 1), columns, squeeze=False)
    for axes, row in zip(grid, rows, strict=True):
        axes[0].imshow(np.vstack([_unit_range(sample) for sample in row.samples]), cmap="gray")
        _frame(axes[0])
        axes[0].set_title("one of each class", fontsize=9)
        axes[0].set_ylabel(row.name, fontsize=10, fontweight="bold")
        for ax, (title, F) in zip(axes[1:], row.matrices, strict=True):
            plot_matrix(F, labels=row.y, title=title, ax=ax)
            ax.title.set_fontsize(9)
    return figure


def samples_figure(rows: Sequence[tuple[str, Sequence[npt.NDArray[Any]]]]) -> Figure:
    """A row of images a set."""
    columns = max((len(images) for _, images in rows), default=1)
    figure = _figure(1.0 * columns + 0.4, 1.2 * max(len(rows), 1))
    grid = figure.subplots(max(len(rows), 1), columns, squeeze=False)
    for axes, (name, images) in zip(grid, rows, strict=True):
        for ax, image in zip(axes, images, strict=True):
            ax.imshow(image, cmap="gray")
            _frame(ax)
        axes[0].set_ylabel(name, fontsize=8)
    return figure


def growth_figure(rows: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> Figure:
    """Seconds against n on two logarithmic scales, a panel a kind of data; open marks are runs stopped at the limit."""
    kinds = list(dict.fromkeys(row["data"] for row in rows)) or [""]
    figure = _figure(5.0 * len(kinds), 4.2)
    named: dict[str, Any] = {}
    for ax, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        for i, method in enumerate(methods):
            own = [row for row in rows if row["data"] == kind and row["method"] == method and row.get("seconds")]
            if not own:
                continue
            colour, dashes, marker = STYLES[i % len(STYLES)]
            x, y = [row["n"] for row in own], [row["seconds"] for row in own]
            (line,) = ax.plot(x, y, linestyle=dashes, color=colour, marker=marker, markersize=5, linewidth=1.3)
            named.setdefault(method, line)
            late = [row for row in own if row["status"] == "TIME_LIMIT"]
            ax.plot(
                [r["n"] for r in late], [r["seconds"] for r in late], "o", mfc="white", mec=INK, markersize=8, zorder=3
            )
        ax.set(xscale="log", yscale="log", xlabel="points", ylabel="seconds, one thread", title=kind)
        ax.grid(visible=True, which="major", alpha=0.3)
        sizes = sorted({row["n"] for row in rows if row["data"] == kind})
        ax.set_xticks(sizes, [str(n) for n in sizes], fontsize=7)
        ax.set_xticks([], minor=True)
    if named:
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _unit_range(image: npt.NDArray[Any]) -> Matrix:
    low, high = float(image.min()), float(image.max())
    return np.asarray((image - low) / ((high - low) or 1.0), dtype=np.float64)


def write_figure(figure: Figure, out: Path, name: str) -> list[Path]:
    """OUT/name.png and OUT/name.svg."""
    paths = [out / f"{name}.png", out / f"{name}.svg"]
    for path in paths:
        kind = path.suffix[1:]
        write_atomically(path, lambda stream, kind=kind: figure.savefig(stream, format=kind, dpi=150))  # type: ignore[misc]
    return paths
