"""Oriented filter pairs: quadrature, no answer to brightness, turned by 90° with the image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldssc.exceptions import InputError
from ldssc.images import edge_magnitude, find_edges
from ldssc.images.edges import filter_bank

pictures = arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.integers(0, 200))


@pytest.mark.parametrize("scale", [0.7, 1.0, 2.5])
def test_filters_sum_to_zero_and_odd_ones_are_odd(scale: float) -> None:
    bank = filter_bank(scale, 6)
    assert len(bank) == 6
    for even, odd in bank:
        np.testing.assert_array_equal(odd, -odd[::-1, ::-1])
        np.testing.assert_allclose(even, even[::-1, ::-1], atol=1e-12)
        assert abs(even.sum()) < 1e-12
        assert abs(odd.sum()) < 1e-12


def test_the_pair_is_in_quadrature() -> None:
    """The envelope √(even² + odd²) of a wave does not depend on its phase."""
    even, odd = filter_bank(3.0, 2)[0]
    rows = np.arange(len(even)) - len(even) // 2
    envelopes = []
    for phase in np.linspace(0, np.pi, 7):
        wave = np.cos(np.sqrt(2) / 3.0 * rows + phase)[:, None] * np.ones(len(even))
        envelopes.append(np.hypot((even * wave).sum(), (odd * wave).sum()))
    np.testing.assert_allclose(envelopes, envelopes[0], rtol=0.02)


def test_the_bank_is_closed_under_turns_by_90_degrees() -> None:
    bank = filter_bank(1.0, 8)
    for first, second in zip(bank[:4], bank[4:], strict=True):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(np.rot90(a), b)


@given(pictures)
def test_turning_the_image_by_90_degrees_turns_the_answer(image: np.ndarray) -> None:
    straight, turned = find_edges(image), find_edges(np.rot90(image))
    np.testing.assert_allclose(turned.magnitude, np.rot90(straight.magnitude), atol=1e-12)
    np.testing.assert_allclose(turned.down, np.rot90(straight.right), atol=1e-12)
    np.testing.assert_allclose(turned.right, np.rot90(straight.down), atol=1e-12)


@given(pictures, st.integers(0, 55))
def test_a_brightness_offset_of_whole_numbers_changes_no_bit(image: np.ndarray, offset: int) -> None:
    image = image.astype(np.int32)
    np.testing.assert_array_equal(edge_magnitude(image + offset), edge_magnitude(image))


@given(pictures, st.floats(0.1, 50))
def test_magnitude_grows_with_contrast(image: np.ndarray, factor: float) -> None:
    image = image.astype(np.float64)
    np.testing.assert_allclose(edge_magnitude(factor * image), factor * edge_magnitude(image), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0, 77, 255])
def test_a_constant_image_has_no_edge_at_all(value: int) -> None:
    assert not edge_magnitude(np.full((9, 7), value, np.uint8)).any()


def test_a_step_answers_with_its_height_where_it_is_and_not_far_away() -> None:
    image = np.zeros((21, 20))
    image[:, 10:] = 0.5
    across = edge_magnitude(image, scales=(1.0,))[10]
    assert across[[9, 10]] == pytest.approx(0.5, rel=0.02)
    assert np.argmax(across) in (9, 10)
    assert (np.diff(across[10:15]) < 0).all()
    assert across[:4].max() < 0.01


def test_a_step_is_crossed_by_who_goes_across_it() -> None:
    image = np.zeros((20, 20))
    image[:, 10:] = 1.0
    magnitude, down, right = find_edges(image)
    np.testing.assert_allclose(right[:, 9:11], magnitude[:, 9:11], rtol=1e-12)
    assert down.max() < 0.6 * right.max()


def test_a_thin_line_answers_on_itself_as_a_step_does() -> None:
    image = np.zeros((21, 21))
    image[10] = 1.0
    assert np.argmax(edge_magnitude(image)[:, 10]) == 10


def test_of_colours_the_strongest_channel_counts() -> None:
    """Two colours of equal luminance: the edge is there in each channel, and the grey picture has none."""
    image = np.zeros((12, 12, 3))
    image[:, :6, 0], image[:, 6:, 1] = 0.8, 0.8
    channels = [edge_magnitude(image[..., c]) for c in range(3)]
    np.testing.assert_array_equal(edge_magnitude(image), np.maximum.reduce(channels))
    assert edge_magnitude(image).max() > 0.7


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"orientations": 3}, "orientations must be even, to come in pairs at right angles, and is 3"),
        ({"orientations": 0}, "orientations must be at least 2"),
        ({"scales": ()}, "scales is empty"),
        ({"scales": (0.0,)}, "scale must be a number > 0"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        edge_magnitude(np.zeros((4, 4)), **options)
