"""Tables II and III on small grids: the numbers are those of the labels, protocols choose as they say."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ldssc
from ldssc.exceptions import InputError
from ldssc.experiments import Request, clustering, error_tables, protocols, reproduce, settings
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.computing import compute
from ldssc.experiments.settings import Reading
from ldssc.metrics import error_rate


@pytest.fixture(scope="module")
def out(iris_folder: Path, shared_out: Path, small: settings.ErrorRates) -> Path:
    """A run of table II."""
    assert small.sets == ("iris", "pima")
    outcome = reproduce(["table2"], Request(iris_folder, shared_out, quick=True))
    assert [path.name for path in outcome.files] == ["table2.csv", "table2-readings.csv", "index.md", "table2.md"]
    assert ["pima.npz" in sentence for sentence in outcome.missing] == [True]
    return shared_out


def rows_of(out: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with (out / "table2.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == list(error_tables.COLUMNS)
    return {(row["method"], row["statistic"], row["protocol"]): row for row in rows}


def test_the_table_has_every_row_with_its_verdict(out: Path) -> None:
    rows = rows_of(out)
    assert len(rows) == 1 + 7 * 2 * 2
    assert float(rows["majority class", "lowest", ""]["ours"]) == pytest.approx(33 / 50)
    for (method, _, _), row in rows.items():
        if method != "majority class":
            assert row["verdict"] in ("MATCH", "BETTER", "WORSE")
            assert row["n_parameters"] == "2"
            assert (row["distance"] == "") == (method in ("NO", "RC", "NC", "FSC"))
    for method in settings.ROWS:
        for statistic in ("lowest", "mean"):
            assert float(rows[method, statistic, "B"]["ours"]) <= float(rows[method, statistic, "A"]["ours"])
        assert float(rows[method, "lowest", "A"]["ours"]) <= float(rows[method, "mean", "A"]["ours"])
    assert float(rows[settings.EXACT_ROW, "mean", "A"]["distance"]) <= settings.TOL
    assert float(rows["LD-SSC2", "mean", "A"]["distance"]) > 1  # twenty iterations are far from the solution


def test_the_numbers_are_those_of_the_estimator(iris_folder: Path, out: Path, small: settings.ErrorRates) -> None:
    rows, iris = rows_of(out), clustering.load_set("iris", iris_folder)
    for method, rule, options in [("NO", "none", {}), ("FSC", "frobenius", {}), ("LD-SSC exact", "semidefinite", {})]:
        rates = []
        for width in small.widths:
            delta = width * ldssc.median_distance(iris.X)
            model = ldssc.SemidefiniteSpectralClustering(
                3, gamma=1 / delta**2, normalization=rule, random_state=settings.SEED, **options
            )
            rates.append(error_rate(iris.y, model.fit(iris.X).labels_))
        assert float(rows[method, "mean", "A"]["ours"]) == pytest.approx(np.mean(rates), abs=1e-4)
        assert float(rows[method, "lowest", "A"]["ours"]) == pytest.approx(min(rates), abs=1e-4)


def test_the_page_says_what_the_table_says(out: Path) -> None:
    page = (out / "pages" / "table2.md").read_text()
    value = float(rows_of(out)["NC", "mean", "A"]["ours"])
    assert f"{value:.4f} / 0.1129" in page
    index = (out / "pages" / "index.md").read_text()
    assert "pima.npz" in index
    assert "seed 0" in index


def test_a_second_run_computes_nothing(iris_folder: Path, out: Path) -> None:
    before = (out / "table2.csv").read_bytes()
    request = Request(iris_folder, out, quick=True)
    reproduce(["table2"], request, progress=lambda line: pytest.fail(f"computed again: {line}"))
    assert (out / "table2.csv").read_bytes() == before


def test_b_is_the_lowest_of_what_it_searched_and_the_nearest_is_nearer(
    iris_folder: Path, out: Path, small: settings.ErrorRates
) -> None:
    request = Request(iris_folder, out, quick=True)
    found = compute(protocols.tasks("iris", small, request), out)
    for method in settings.ROWS:
        chosen = protocols.protocol_b(found, "iris", method, "mean", small)
        values = [v.value for v in protocols._candidates(found, "iris", method, "mean", small)]
        assert chosen is not None
        assert chosen.value == min(values)
        near = protocols.protocol_b(found, "iris", method, "mean", small, near=0.2)
        assert near is not None
        assert abs(near.value - 0.2) == min(abs(value - 0.2) for value in values)
    counts = [len(list(protocols._candidates(found, "iris", m, "mean", small))) for m in ("NO", "RC", "NC")]
    assert counts == [4 * 2] * 3  # readings and rows: the same for every method


def test_what_one_choice_is_worth(iris_folder: Path, out: Path, small: settings.ErrorRates) -> None:
    found = compute(protocols.tasks("iris", small, Request(iris_folder, out, quick=True)), out)
    worth = protocols.alternatives(found, "iris", "FSC", small)
    assert list(worth) == ["A", "K: mean row sum 5", "standardised features", "rows not normalised"]
    own = protocols.protocol_a(found, "iris", "FSC", "mean", small)
    assert own is not None
    assert worth["A"] == own.value
    assert "standardised features" in (out / "pages" / "table2.md").read_text()


def test_every_set_has_the_reading_of_a_first_and_no_reading_twice() -> None:
    for chosen in (settings.TABLE_II, settings.TABLE_II_QUICK):
        for name in paper.SETS:
            found = protocols.readings(name, chosen)
            assert found[0] == protocols.reading_a(name)
            assert len(set(found)) == len(found)
            assert set(chosen.grid(name)) <= set(protocols.parameters(name, found[0], chosen))


def test_the_dear_cells_are_only_where_they_are_asked_for(tmp_path: Path) -> None:
    def dear(full: bool, quick: bool) -> list[str]:
        chosen = settings.TABLE_III_QUICK if quick else settings.TABLE_III
        request = Request(tmp_path, tmp_path)
        return [
            task.name
            for task in protocols.tasks("coil20", replace(chosen, full=full), request)
            if task.name.endswith("ld-ssc1")
        ]

    assert dear(full=False, quick=True) == []
    assert dear(full=False, quick=False) == ["coil20_raw-largest-one_1_ld-ssc1"]
    assert len(dear(full=True, quick=False)) == len(settings.TABLE_III.widths)


def test_scales_of_k() -> None:
    K = np.array([[4.0, 1.0], [1.0, 2.0]])
    assert clustering.scaled(K, "literal") is K
    assert clustering.scaled(K, "largest one").max() == 1
    assert clustering.scaled(K, "mean row sum 5").sum(axis=1).mean() == pytest.approx(5)
    with pytest.raises(InputError, match="no scale"):
        clustering.scaled(-K, "mean row sum 1")


def test_the_polynomial_kernel_of_points_of_length_one(shared_data: Path) -> None:
    reading = Reading("raw", unit_rows=True)
    X = clustering.features("leukemia", shared_data, reading)
    assert X.shape == (72, 5)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    K = clustering.affinity_matrix("leukemia", shared_data, reading, 3)
    np.testing.assert_allclose(K, (X @ X.T + 1) ** 3 / 8, atol=1e-14)
    literal = clustering.affinity_matrix("leukemia", shared_data, replace(reading, scale="literal"), 3)
    np.testing.assert_allclose(literal, 8 * K, atol=1e-13)


def test_the_papers_algorithms_cluster_their_own_matrix() -> None:
    K = ldssc.gaussian_affinity(np.random.default_rng(0).standard_normal((20, 2)))
    own, said = clustering.normalized(K, settings.LD2)
    result = ldssc.project(K, solver="ld-ssc2", paper=True)
    np.testing.assert_array_equal(own, result.iterate)
    assert np.abs(own.sum(axis=1) - 1).max() > 1e-3  # unrepaired
    assert said["iterate_off"] == pytest.approx(np.linalg.norm(own - result.F) / np.linalg.norm(result.F))
    exact, _ = clustering.normalized(K, settings.EXACT)
    np.testing.assert_allclose(exact.sum(axis=1), 1)


def test_a_matrix_that_lapack_gives_up_on_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise np.linalg.LinAlgError("no driver finds the eigenvectors")

    monkeypatch.setattr(clustering, "spectral_embedding", fail)
    record, labels = clustering.cluster(np.eye(4), np.array([0, 0, 1, 1]), settings.NO, 2)
    assert record == {"refused": "no driver finds the eigenvectors"}
    assert (labels == -1).all()


def test_a_method_that_refuses_k_says_why(shared_data: Path) -> None:
    cell = clustering.bundle_cell("leukemia", shared_data, Reading("raw"), 3, settings.RIVALS_BUNDLE.methods, 2)
    assert "negative" in cell.record["methods"]["NC"]["refused"]
    assert set(cell.record["methods"]["FSC"]["errors"]) == {"True", "False"}
    assert (cell.array[2] == -1).all()


def test_what_cannot_be_asked_is_one_sentence(iris_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        reproduce(["table2"], Request(tmp_path / "none", tmp_path))
    with pytest.raises(InputError, match="table9"):
        reproduce(["table9"], Request(iris_folder, tmp_path))
    with pytest.raises(InputError, match="choose one"):
        reproduce(["table2"], Request(iris_folder, tmp_path, quick=True, full=True))
