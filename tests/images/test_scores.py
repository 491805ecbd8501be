"""The numbers for what the eye sees, on cases counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldssc.exceptions import InputError
from ldssc.images import boundary, boundary_scores, connected_regions, covering, stray_regions

label_images = arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3))
HALVES = np.repeat([[0, 0, 0, 0, 1, 1, 1, 1]], 4, axis=0)


def test_regions_are_counted_without_diagonals() -> None:
    labels = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 2]])
    regions = connected_regions(labels)
    assert len(np.unique(regions)) == 5  # two of label 0, two of label 1, one of label 2
    assert regions[0, 0] != regions[0, 3]
    assert regions[0, 2] != regions[1, 1]


def test_stray_regions_by_hand() -> None:
    labels = np.zeros((10, 10), int)
    labels[0, 0] = 1  # one pixel
    labels[5:7, 5] = 1  # two
    labels[8:, :] = 2  # twenty
    assert stray_regions(labels, smaller_than=0.03) == (4, 2, 0.03)
    assert stray_regions(labels, smaller_than=0.02) == (4, 1, 0.01)
    assert stray_regions(labels, smaller_than=0) == (4, 0, 0.0)


@given(label_images)
def test_regions_split_labels_and_nothing_else(labels: np.ndarray) -> None:
    regions = connected_regions(labels)
    assert set(np.unique(regions)) == set(range(regions.max() + 1))
    for region in np.unique(regions):
        assert len(np.unique(labels[regions == region])) == 1
    np.testing.assert_array_equal(connected_regions(regions) == regions, True)


def test_the_boundary_has_both_sides() -> None:
    np.testing.assert_array_equal(boundary(HALVES)[0], [0, 0, 0, 1, 1, 0, 0, 0])
    assert not boundary(np.ones((3, 3), int)).any()


def test_precision_and_recall_by_hand() -> None:
    human = np.zeros((4, 8), int)
    human[:2, 4:] = 1  # boundary: columns 3, 4 of rows 0, 1, row 1 from column 4, row 2 from column 4: 2·2 + 3 + 4
    assert boundary(human).sum() == 11
    scores = boundary_scores(HALVES, [human], tolerance=0)
    assert scores.precision == pytest.approx(5 / 8)  # (0,3) (0,4) (1,3) (1,4) (2,4) of eight
    assert scores.recall == pytest.approx(5 / 11)
    assert scores.f == pytest.approx(2 * (5 / 8) * (5 / 11) / (5 / 8 + 5 / 11))


def test_a_boundary_within_the_tolerance_counts() -> None:
    moved = np.roll(HALVES, 1, axis=1)
    moved[:, 0] = 0
    diagonal = float(np.hypot(4, 8))
    assert boundary_scores(HALVES, [moved], tolerance=0).precision == 0.5
    assert boundary_scores(HALVES, [moved], tolerance=1 / diagonal).precision == 1.0


def test_any_human_makes_a_boundary_right_and_all_of_them_are_to_be_found() -> None:
    scores = boundary_scores(HALVES, [HALVES, HALVES.T[:4].repeat(2, axis=1)[:, :8] * 0, 1 - HALVES], tolerance=0)
    assert scores == (1.0, 1.0, 1.0)
    across = np.zeros((4, 8), int)
    across[2:] = 1
    both = boundary_scores(HALVES, [HALVES, across], tolerance=0)
    assert both.precision == 1.0
    assert both.recall == pytest.approx((8 + 4) / (8 + 16))


def test_no_boundary_is_never_wrong_and_finds_nothing() -> None:
    blank = np.zeros((4, 8), int)
    assert boundary_scores(blank, [HALVES]) == (1.0, 0.0, 0.0)
    assert boundary_scores(HALVES, [blank]) == (0.0, 1.0, 0.0)
    assert boundary_scores(blank, [blank]) == (1.0, 1.0, 1.0)


def test_covering_by_hand() -> None:
    quarter = np.zeros((4, 8), int)
    quarter[:, 6:] = 1  # their regions: 24 and 8 pixels; ours: 16 and 16
    assert covering(HALVES, [quarter]) == pytest.approx((24 * (16 / 24) + 8 * (8 / 16)) / 32)
    assert covering(HALVES, [quarter, HALVES]) == pytest.approx((20 / 32 + 1) / 2)


@given(label_images)
def test_a_segmentation_covers_and_bounds_itself_whatever_its_names(labels: np.ndarray) -> None:
    renamed = 7 - 2 * labels
    assert covering(labels, [renamed]) == pytest.approx(1.0)
    assert boundary_scores(labels, [renamed], tolerance=0) == (1.0, 1.0, 1.0)


@given(label_images, label_images)
def test_scores_lie_between_0_and_1_and_turn_with_the_image(a: np.ndarray, b: np.ndarray) -> None:
    height, width = (min(x, y) for x, y in zip(a.shape, b.shape, strict=True))
    a, b = a[:height, :width], b[:height, :width]
    scores = (*boundary_scores(a, [b]), covering(a, [b]))
    assert all(0 <= score <= 1 for score in scores)
    turned = (*boundary_scores(np.rot90(a), [np.rot90(b)]), covering(np.rot90(a), [np.rot90(b)]))
    assert turned == pytest.approx(scores)


@pytest.mark.parametrize(
    ("labels", "humans", "sentence"),
    [
        (HALVES, [], "humans is empty"),
        (HALVES, [HALVES[:2]], r"labels has shape \(4, 8\) and humans\[0\] \(2, 8\)"),
        (HALVES * 0.5, [HALVES], "labels must be an image of whole numbers"),
        (HALVES, [HALVES[0]], r"humans\[0\] must be an image of whole numbers, one a pixel, and has shape \(8,\)"),
    ],
)
def test_bad_input_is_named(labels: np.ndarray, humans: list[np.ndarray], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        covering(labels, humans)
