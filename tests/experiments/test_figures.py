"""Figures 2 to 6 on small data: files, and the numbers for what the eye should see."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")

from ldssc.experiments import Request, figure4, figure5, reproduce

pytestmark = pytest.mark.usefixtures("small")


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", ["figure2", "figure3", "figure4", "figure5", "figure6"])
def test_a_figure_has_pictures_numbers_and_a_page(name: str, iris_folder: Path, shared_out: Path) -> None:
    outcome = reproduce([name], Request(iris_folder, shared_out, quick=True), pages=shared_out / "docs")
    for kind in ("png", "svg", "csv"):
        assert (shared_out / f"{name}.{kind}").stat().st_size > 20
    assert (shared_out / "docs" / f"{name}.md").exists()
    assert (shared_out / "docs" / f"{name}.png").exists() == (name != "figure2")  # faces stay in the output folder
    assert all(path.exists() for path in outcome.files)
    assert len(outcome.pages) == 1


def test_figure_6_stops_clarabel_where_scs_begins(iris_folder: Path, shared_out: Path) -> None:
    reproduce(["figure6"], Request(iris_folder, shared_out, quick=True))
    rows = [row for row in table(shared_out / "figure6.csv") if row["data"] == "toy"]
    sizes = {method: [row["n"] for row in rows if row["method"] == method] for method in {r["method"] for r in rows}}
    assert sizes["CVX-SSC (Clarabel)"] == ["30"]
    assert sizes["CVX-SSC (SCS)"] == ["70"]
    assert sizes["ours (auto)"] == sizes["LD-SSC2 converged"] == ["30", "70"]


def test_figure_4_draws_the_points_that_it_lists(iris_folder: Path, shared_out: Path) -> None:
    reproduce(["figure4"], Request(iris_folder, shared_out, quick=True))
    points, rows = table(shared_out / "figure4-points.csv"), table(shared_out / "figure4.csv")
    assert len(points) == 50 * len(rows)
    first = np.array([[float(p["x"]), float(p["y"])] for p in points if p["panel"] == figure4.FIRST])
    assert figure4.line_share(first) == pytest.approx(float(rows[0]["line"]), abs=1e-3)


def test_points_on_a_line() -> None:
    t = np.linspace(0, 1, 20)[:, None]
    assert figure4.line_share(t * [[3.0, -1.0]]) == pytest.approx(1)
    assert figure4.line_share(np.eye(2)[[0, 1, 0, 1]] - np.eye(2)[[1, 0, 0, 1]]) == pytest.approx(1)
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert figure4.line_share(square) == pytest.approx(0.5)


@given(st.integers(0, 1000))
def test_separation_is_between_zero_and_one_and_knows_no_linear_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, y = rng.standard_normal((12, 2)), rng.permutation(np.repeat([0, 1, 2], 4))
    value = figure4.separation(points, y)
    assert 0 <= value <= 1 + 1e-9
    turned = points @ (rng.standard_normal((2, 2)) + 3 * np.eye(2)) + 5
    assert figure4.separation(turned, y) == pytest.approx(value, abs=1e-6)


def test_separation_by_hand(labels: np.ndarray) -> None:
    assert figure4.separation(np.array([[0.0, 0], [0, 1], [5, 0], [5, 1]]), labels) == pytest.approx(1)
    assert figure4.separation(np.array([[0.0, 0], [1, 0], [0, 0], [1, 0]]), labels) == pytest.approx(0)


def test_outliers_by_hand() -> None:
    points = np.array([[0.0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [10, 0]])
    assert figure4.outlyingness(points) == pytest.approx(10)


def test_shares_of_mass_by_hand(labels: np.ndarray) -> None:
    F = np.array([[3.0, 2, 1, 0], [2, 3, 0, 0], [1, 0, 3, -1], [0, 0, -1, 3]])
    found = figure5.shares(F, labels)
    assert found["within classes"] == pytest.approx(18 / 20)
    assert found["within, off the diagonal"] == pytest.approx(6 / 8)
    assert found["diagonal"] == pytest.approx(12 / 20)
    assert found["negative mass"] == pytest.approx(2 / 20)
    assert figure5.shares(np.eye(4), labels)["within, off the diagonal"] is None
