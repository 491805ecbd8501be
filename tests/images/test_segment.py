"""`segment`: what is drawn is found, the labels have the picture's size, and every odd picture ends well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldssc
from ldssc.exceptions import InputError, NotEnoughMemoryError
from ldssc.images import draw_labels, overlay, pixel_affinity, segment, segmentation, stray_regions
from ldssc.normalization import NORMALIZATIONS

QUICK: dict[str, Any] = {"grid": 14, "radius": 5, "random_state": 0}


def quarters(height: int = 28, width: int = 28) -> np.ndarray:
    """Four areas of different grey, a little noise, and the labels that they should get."""
    rows, columns = np.indices((height, width))
    return 2 * (rows >= height // 2) + (columns >= width // 2)


def drawn(truth: np.ndarray, noise: float = 4.0) -> np.ndarray:
    grey = np.array([40, 200, 120, 20])[truth]
    noisy = grey + np.random.default_rng(0).normal(0, noise, truth.shape)
    return noisy.clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_four_areas_are_found_by_every_normalisation(normalization: str) -> None:
    truth = quarters()
    labels = ldssc.segment(drawn(truth), 4, normalization=normalization, **QUICK)
    if normalization in ("none", "ratio-cut"):  # K itself and K − D + I promise less
        assert ldssc.error_rate(truth.ravel().tolist(), labels.ravel().tolist()) < 0.3
    else:
        np.testing.assert_array_equal(labels, truth)


@pytest.mark.parametrize("shape", [(28, 28), (57, 40), (33, 91), (9, 12)])
@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_the_label_image_has_the_size_of_the_input(shape: tuple[int, int], channels: int | None) -> None:
    image = drawn(quarters(*shape))
    if channels is not None:
        image = np.repeat(image[..., None], channels, axis=2)
    labels = segment(image, 4, normalization="frobenius", **QUICK)
    assert labels.shape == shape
    assert labels.dtype == np.int64
    assert set(np.unique(labels)) == {0, 1, 2, 3}


@pytest.mark.parametrize("normalization", ["semidefinite", "normalized-cut"])
def test_turning_the_picture_by_90_degrees_turns_the_answer(normalization: str) -> None:
    truth = quarters(42, 28)
    truth[5:15, 5:10] = 3
    labels = segment(drawn(truth), 4, normalization=normalization, **QUICK)
    turned = segment(np.rot90(drawn(truth)), 4, normalization=normalization, **QUICK)
    assert ldssc.error_rate(np.rot90(labels).ravel().tolist(), turned.ravel().tolist()) == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_a_brightness_offset_changes_nothing(dtype: Any) -> None:
    image = (drawn(quarters()) // 2).astype(dtype)
    one, other = (pixel_affinity(picture, grid=14) for picture in (image, image + dtype(100)))
    np.testing.assert_allclose(other.K.toarray(), one.K.toarray(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(segment(image + dtype(100), 4, **QUICK), segment(image, 4, **QUICK))


@given(st.floats(1e-3, 1e6))
@settings(max_examples=10)
def test_contrast_changes_nothing(factor: float) -> None:
    image = drawn(quarters(14, 14)).astype(float)
    one, other = (pixel_affinity(picture, grid=14, radius=4) for picture in (image, factor * image))
    np.testing.assert_allclose(other.K.toarray(), one.K.toarray(), rtol=1e-6, atol=1e-12)


def test_the_record_tells_all_and_its_certificate_holds() -> None:
    found = segmentation(drawn(quarters()), 4, tol=1e-2, **QUICK)
    assert found.result is not None
    assert found.result.solved
    K, F = found.affinity.K.toarray(), found.result.F
    audit = ldssc.certify(F, K, found.result.u, found.result.Q, found.result.Z)
    assert audit.distance <= 1e-2
    assert found.affinity.shape == found.grid_labels.shape == (14, 14)
    assert found.affinity.sigma == pytest.approx(3 * found.affinity.contrast)
    assert segmentation(drawn(quarters()), 4, normalization="sinkhorn", **QUICK).result is None


def test_the_papers_iterate_can_be_segmented() -> None:
    options = {"solver": "ld-ssc2", "solver_params": {"paper": True}}
    found = segmentation(drawn(quarters(14, 14)), 4, **options, grid=10, radius=4)
    assert found.result is not None
    assert found.result.n_iter == 20
    np.testing.assert_array_equal(found.model.normalized_affinity_, found.result.iterate)


def test_a_seed_fixes_the_labels() -> None:
    image = np.random.default_rng(1).random((20, 20))
    one, other = (segment(image, 5, normalization="frobenius", grid=20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_colours_of_equal_brightness_are_told_apart() -> None:
    image = np.zeros((20, 20, 3))
    image[:, :10, 0], image[:, 10:, 1] = 0.8, 0.8
    labels = segment(image, 2, **QUICK)
    np.testing.assert_array_equal(labels, np.repeat([[0] * 10 + [1] * 10], 20, axis=0))


def test_an_object_on_nothing_is_told_apart_by_its_opacity_alone() -> None:
    alpha = np.zeros((20, 20), np.uint8)
    alpha[:, :10] = 255
    white = np.full((20, 20, 3), 255, np.uint8)
    labels = segment(np.dstack([white, alpha]), 2, **QUICK)
    np.testing.assert_array_equal(labels, np.repeat([[0] * 10 + [1] * 10], 20, axis=0))


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64, bool])
def test_every_kind_of_number_gives_the_same_halves(dtype: Any) -> None:
    halves = np.repeat([[0] * 10 + [1] * 10], 20, axis=0)
    image = (halves * (60_000 if dtype is np.uint16 else 1)).astype(dtype)
    np.testing.assert_array_equal(segment(image, 2, **QUICK), halves)


# --- odd pictures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "image", [np.zeros((1, 1)), np.full((9, 5, 3), 7, np.uint8), np.random.default_rng(0).random((8, 8))]
)
def test_one_segment_is_always_possible(image: np.ndarray) -> None:
    assert not segment(image, 1).any()
    assert segment(image, 1).shape == image.shape[:2]


@pytest.mark.parametrize("value", [0, 255, 1.0 / 3])
def test_a_constant_picture_is_one_sentence(value: float) -> None:
    with pytest.raises(InputError, match="image has no edges on the working grid of 33 x 48: it is constant, or"):
        segment(np.full((100, 143, 3), value), 4)


def test_a_pattern_finer_than_the_grid_is_one_sentence() -> None:
    with pytest.raises(InputError, match="too fine to be seen there; use n_segments=1 or a finer grid"):
        segment(np.indices((80, 80)).sum(axis=0) % 2, 4, grid=20)


@pytest.mark.parametrize("normalization", ["semidefinite", "frobenius", "normalized-cut"])
def test_noise_ends_in_four_segments(normalization: str) -> None:
    noise = np.random.default_rng(5).integers(0, 255, (40, 60), dtype=np.uint8)
    labels = segment(noise, 4, normalization=normalization, **QUICK)
    assert set(np.unique(labels)) == {0, 1, 2, 3}
    assert stray_regions(labels).n_regions < 40


@pytest.mark.parametrize(
    ("image", "options", "sentence"),
    [
        (np.eye(3), {"n_segments": 10}, "n_segments=10 is more than the 3 x 3 cells"),
        (np.eye(3), {"n_segments": 0}, "n_segments must be at least 1"),
        (np.eye(3), {"normalization": "magic"}, "normalization='magic' is not known"),
        (np.eye(3), {"sigma": 0.0}, "sigma must be a number > 0"),
        (np.eye(3), {"radius": -1.0}, "radius must be a number > 0"),
        (np.full((5, 5), np.nan), {}, "image has 25 entries that are NaN"),
        (np.zeros((3, 3, 7)), {}, "with 1 to 4 channels"),
    ],
)
def test_bad_input_is_one_sentence(image: np.ndarray, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        segment(image, **options)


def test_a_grid_that_will_not_fit_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.memory.available_memory", lambda: 10**6)
    with pytest.raises(NotEnoughMemoryError, match="a grid of 40 x 40 cells needs about"):
        segment(np.random.default_rng(0).random((50, 50)), 4)


# --- drawing -----------------------------------------------------------------------------------------------------


def test_labels_get_colours_of_their_own() -> None:
    labels = np.arange(12).reshape(3, 4) * 5
    picture = draw_labels(labels)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 12


@pytest.mark.parametrize("image", [drawn(quarters()), np.dstack([drawn(quarters())] * 3), 1e4 * quarters() - 7.0])
def test_the_overlay_outlines_the_segments(image: np.ndarray) -> None:
    picture = overlay(image, quarters())
    assert picture.shape == (28, 28, 3)
    assert (picture[13:15, 2] == 0).all()  # the boundary
    assert (picture[5, 5] != 0).any()
    with pytest.raises(InputError, match="must be of equal size"):
        overlay(image, quarters(10, 10))
