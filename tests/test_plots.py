"""Pictures: what is drawn is what was computed, no text covers another, and Matplotlib stays in one file."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure
from matplotlib.text import Text

import ldssc
from ldssc import plots
from ldssc.exceptions import InputError

RATES = {"NO": 0.25, "RC": 0.5, "FSC": 0.0, "LD-SSC1": 0.125}


def panel(name: str, n: int = 30) -> plots.Panel:
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(0, 1, (n // 2, 2)), rng.normal(6, 1, (n - n // 2, 2))])
    K = ldssc.gaussian_affinity(points)
    labels = np.repeat([0, 1], [n // 2, n - n // 2])
    truth = labels.copy()
    truth[:3] = 1
    F = ldssc.normalize(K, "frobenius")
    return plots.Panel(name, K, F, points, "points", points[:, 0], labels, truth, RATES, ["LD-SSC1"])


def test_a_picture_is_drawn_on_the_axes_that_are_given_or_on_new_ones() -> None:
    A, points, labels = np.eye(3), np.eye(3)[:, :2], [0, 1, 1]
    for draw in (
        lambda ax: plots.plot_matrix(A, labels=labels, ax=ax),
        lambda ax: plots.plot_points(points, labels, ax=ax),
        lambda ax: plots.plot_rates(RATES, ax=ax),
    ):
        ax = Figure().subplots()
        assert draw(ax) is ax
        assert draw(None).figure is not None


def test_a_matrix_is_sorted_by_label_then_within() -> None:
    A = np.arange(16.0).reshape(4, 4)
    ax = plots.plot_matrix(A, labels=[1, 0, 1, 0], within=[0, 5, -1, 2])
    order = [3, 1, 2, 0]
    np.testing.assert_array_equal(ax.images[0].get_array(), A[np.ix_(order, order)])
    assert [line.get_ydata()[0] for line in ax.lines if line.get_xdata()[0] == 0] == [1.5]


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.ones((3, 3)), np.eye(1), np.eye(4) - 1], ids=str)
def test_any_matrix_has_a_grey_range(A: np.ndarray) -> None:
    low, high = plots.plot_matrix(A).images[0].get_clim()
    assert low <= A.min()
    assert low < high


def test_as_many_points_are_ringed_as_the_error_rate_counts() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        truth, labels = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
        ax = plots.plot_points(rng.normal(size=(40, 2)), labels, truth=truth)
        rings = len(ax.collections[-1].get_offsets())
        assert rings == round(40 * ldssc.error_rate(truth, labels))


def test_bars_are_as_long_as_their_rates_in_per_cent() -> None:
    ax = plots.plot_rates(RATES)
    assert [bar.get_width() for bar in ax.patches] == [100 * rate for rate in RATES.values()]
    assert [text.get_text() for text in ax.texts] == ["25.0 %", "50.0 %", "0.0 %", "12.5 %"]


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="two columns"):
        plots.plot_points(np.ones((3, 3)), [0, 0, 1])
    with pytest.raises(InputError, match="one a row"):
        plots.plot_points(np.ones((3, 2)), [0, 1])
    with pytest.raises(InputError, match="square"):
        plots.plot_matrix(np.ones((3, 2)))


def test_no_text_of_the_demo_covers_another_or_leaves_the_page(tmp_path: Path) -> None:
    figure = plots.demo_figure([panel("iris"), panel("wine"), panel("two moons")])
    figure.savefig(tmp_path / "demo.png", dpi=80)
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    assert len(boxes) > 20
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), (one, other)
    page = figure.bbox
    for one, box in boxes:
        assert box.x0 >= page.x0, one
        assert box.y0 >= page.y0, one
        assert box.x1 <= page.x1, one
        assert box.y1 <= page.y1, one


def test_colours_of_neighbours_are_apart_in_grey() -> None:
    from matplotlib.colors import to_rgb

    grey = [float(np.dot(to_rgb(colour), [0.299, 0.587, 0.114])) for colour in plots.COLOURS[:3]]
    assert min(abs(a - b) for a, b in itertools.combinations(grey, 2)) > 0.15
    assert len(set(plots.MARKERS)) == len(plots.MARKERS) == len(plots.COLOURS)


def test_only_one_file_imports_matplotlib() -> None:
    root = Path(ldssc.__file__).parent
    found = [path for path in root.rglob("*.py") if re.search(r"^\s*(import|from) matplotlib", path.read_text(), re.M)]
    assert found == [root / "plots.py"]
