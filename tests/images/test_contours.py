"""Intervening contours: a drawn line cuts the affinity, the geometry is exact, and all of it is quick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldssc.exceptions import InputError, NotEnoughMemoryError
from ldssc.images import contour_affinity, find_edges, localize
from ldssc.images.contours import touched

edge_maps = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(0, 4))


def by_hand(edges: np.ndarray, radius: float, sigma: float, step: int = 1) -> np.ndarray:
    """The definition, pair by pair: places within half a unit of the segment in the sense of its closed square."""
    pixels = [(r, c) for r in range(0, edges.shape[0], step) for c in range(0, edges.shape[1], step)]
    K = np.zeros((len(pixels), len(pixels)))
    for i, (a, b) in enumerate(pixels):
        for j, (c, d) in enumerate(pixels):
            if np.hypot(a - c, b - d) > radius * step + 1e-12:
                continue
            on = [edges[p] for p in np.ndindex(edges.shape) if meets((a, b), (c, d), p)]
            K[i, j] = 1.0 if i == j else np.exp(-((max(on) / sigma) ** 2))
    return K


def meets(start: tuple[int, int], end: tuple[int, int], place: tuple[int, int]) -> bool:
    """Whether the segment and the closed unit square share a point: clipped side by side, in quarters of whole numbers."""
    low, high = 0.0, 1.0
    for s, e, p in zip(start, end, place, strict=True):
        delta = e - s
        if delta == 0:
            if abs(p - s) > 0.5:
                return False
            continue
        first, second = sorted(((p - 0.5 - s) / delta, (p + 0.5 - s) / delta))
        low, high = max(low, first), min(high, second)
    return low <= high + 1e-12


@given(edge_maps, st.sampled_from([0.5, 1.0, 1.5, 2.3, 9.0]), st.sampled_from([0.3, 2.0]))
def test_it_is_the_definition(edges: np.ndarray, radius: float, sigma: float) -> None:
    K = contour_affinity(edges, radius, sigma).toarray()
    np.testing.assert_allclose(K, by_hand(edges, radius, sigma), rtol=1e-12, atol=1e-300)


@given(edge_maps)
def test_it_is_the_definition_on_the_finer_lattice(edges: np.ndarray) -> None:
    lattice = localize(edges, edges.max(initial=0) - edges)
    K = contour_affinity(lattice, 2.5, 1.0, step=2).toarray()
    np.testing.assert_allclose(K, by_hand(lattice, 2.5, 1.0, step=2), rtol=1e-12, atol=1e-300)


@given(edge_maps, st.booleans())
def test_it_is_symmetric_with_unit_diagonal_and_entries_from_0_to_1(edges: np.ndarray, fine: bool) -> None:
    K = contour_affinity(localize(edges, edges) if fine else edges, 3, 0.7, step=2 if fine else 1)
    dense = K.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense.diagonal(), 1.0)
    assert dense.min() >= 0
    assert dense.max() <= 1
    assert K.has_canonical_format


@given(edge_maps, st.booleans())
def test_turning_the_edges_by_90_degrees_turns_the_answer(edges: np.ndarray, fine: bool) -> None:
    number = np.rot90(np.arange(edges.size).reshape(edges.shape)).ravel()
    prepare, step = (lambda e: localize(e, e), 2) if fine else (np.asarray, 1)
    turned = contour_affinity(prepare(np.rot90(edges)), 3.7, 0.9, step=step).toarray()
    straight = contour_affinity(prepare(edges), 3.7, 0.9, step=step).toarray()
    np.testing.assert_array_equal(turned, straight[np.ix_(number, number)])


@pytest.mark.parametrize("fine", [False, True])
def test_a_drawn_line_cuts_the_affinity_and_leaves_its_sides_whole(fine: bool) -> None:
    image = np.zeros((15, 15))
    image[:, 7] = 1.0
    edges, down, right = find_edges(image, scales=(0.5,))
    places = localize(down, right) if fine else edges
    K = contour_affinity(places, 5, 0.1 * edges.max(), step=2 if fine else 1).toarray()
    side = np.tile(np.arange(15), 15)
    left, right = np.flatnonzero(side < 7), np.flatnonzero(side > 7)
    assert K[np.ix_(left, right)].max() < 1e-20
    assert K[7 * 15 + 1, 7 * 15 + 4] > 0.9
    assert (K[7 * 15 + 6, 7 * 15 + 3] > 0.9) == fine  # beside the line: only the finer lattice keeps it with its side


def test_a_step_between_pixels_cuts_every_line_across_it() -> None:
    """Flat lines too, which meet it at a corner of the lattice only."""
    edges = np.tile([0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (8, 1))
    K = contour_affinity(localize(0 * edges, edges), 6, 0.1, step=2).toarray()
    left = np.tile(np.arange(8) < 4, 8)
    assert K[np.ix_(left, ~left)].max() < 1e-40
    assert K[np.ix_(left, left)].max() == 1.0
    near = np.ix_(left, left)
    assert (K[near] > 0).sum() == (K[near] == 1.0).sum()


def test_the_pixels_beside_a_real_edge_keep_their_own_side() -> None:
    """A step in a picture: along it and away from it nothing is cut by more than a little, across it all is."""
    image = np.zeros((12, 12))
    image[:, 6:] = 1.0
    edges, down, right = find_edges(image)
    K = contour_affinity(localize(down, right), 3, 0.5 * edges.max(), step=2).toarray().reshape(12, 12, 12, 12)
    assert K[5, 5, 5, 2] > 0.9
    assert K[5, 5, 6, 5] > 0.6
    assert K[5, 5, 5, 6] < 0.1


@pytest.mark.parametrize("slope", [(1, 1), (1, -1), (2, 1), (1, 3)])
def test_no_line_of_touching_places_leaks(slope: tuple[int, int]) -> None:
    """A line one place thick, connected by corners at least, cuts every pair across it."""
    rows, columns = np.indices((13, 13)) - 6
    signed = slope[0] * rows + slope[1] * columns
    edges = (np.abs(signed) <= max(map(abs, slope)) // 2).astype(float)
    K = contour_affinity(edges, 4, 0.1).toarray()
    above, below = ((edges == 0) & (signed > 0)).ravel(), ((edges == 0) & (signed < 0)).ravel()
    assert K[np.ix_(above, below)].max() < 1e-40


def test_beyond_the_radius_there_is_nothing() -> None:
    K = contour_affinity(np.zeros((9, 9)), 2.0, 1.0).toarray().reshape(9, 9, 9, 9)
    expected = np.hypot(*(np.indices((9, 9)) - 4)) <= 2
    np.testing.assert_array_equal(K[4, 4], expected.astype(float))


def test_touched_places_by_hand() -> None:
    assert touched(0, 3) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert touched(1, 1) == [(0, 0), (0, 1), (1, 0), (1, 1)]  # through the common corner
    assert touched(1, 2) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert touched(0, 0) == [(0, 0)]


def test_the_edge_moves_between_the_pixels() -> None:
    edges = np.tile([0.0, 1.0, 4.0, 4.0, 1.0, 0.0], (3, 1))
    lattice = localize(0 * edges, edges)
    np.testing.assert_array_equal(lattice[0], [0, 0, 0, 0, 0, 4.0, 0, 0, 0, 0, 0])
    assert not lattice[::2, ::2].any()
    np.testing.assert_array_equal(localize(np.zeros((1, 1)), np.zeros((1, 1))), np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("edges", "options", "sentence"),
    [
        ([[-1.0]], {}, "edges has negative values, down to -1"),
        (np.zeros((0, 3)), {}, "edges is empty"),
        ([[np.nan]], {}, "edges has 1 entries that are NaN"),
        ([[0.0]], {"radius": 0}, "radius must be a number > 0"),
        ([[0.0]], {"sigma": -1}, "sigma must be a number > 0"),
        ([[0.0]], {"step": 0}, "step must be at least 1"),
    ],
)
def test_bad_input_is_named(edges: object, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        contour_affinity(edges, **{"radius": 2.0, "sigma": 1.0, **options})


def test_what_will_not_fit_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldssc.memory.available_memory", lambda: 10_000)
    with pytest.raises(NotEnoughMemoryError, match="the affinity of 400 pixels within radius 10 needs about"):
        contour_affinity(np.zeros((20, 20)), 10, 1.0)


def test_the_two_directions_belong_to_one_image() -> None:
    with pytest.raises(InputError, match=r"down has shape \(2, 2\) and right \(3, 2\); they belong to one image"):
        localize(np.zeros((2, 2)), np.zeros((3, 2)))
