"""To the working grid by area and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldssc.exceptions import InputError
from ldssc.images.grid import enlarge, grid_shape, shrink

sides = st.integers(1, 400)


@pytest.mark.parametrize(
    ("size", "grid", "shape"),
    [
        ((512, 512), 40, (40, 40)),
        ((321, 481), 40, (33, 48)),
        ((481, 321), 40, (48, 33)),
        ((20, 30), 40, (20, 30)),  # smaller than the grid: as it is
        ((1, 5000), 40, (1, 1600)),
        ((112, 92), (40, 40), (40, 40)),
        ((30, 92), (40, 40), (30, 40)),
    ],
)
def test_shapes_by_hand(size: tuple[int, int], grid: object, shape: tuple[int, int]) -> None:
    assert grid_shape(*size, grid) == shape


@given(sides, sides, st.integers(1, 50))
def test_the_grid_keeps_its_promises(height: int, width: int, grid: int) -> None:
    rows, columns = grid_shape(height, width, grid)
    assert 1 <= rows <= height
    assert 1 <= columns <= width
    assert rows * columns <= grid * grid
    assert grid_shape(width, height, grid) == (columns, rows)


@given(sides, sides, st.data())
def test_shrinking_keeps_the_mean_and_turns_with_the_image(height: int, width: int, data: st.DataObject) -> None:
    shape = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    image = np.random.default_rng(height * width).random((height, width, 2))
    small = shrink(image, shape)
    assert small.shape == (*shape, 2)
    np.testing.assert_allclose(small.mean(axis=(0, 1)), image.mean(axis=(0, 1)), rtol=1e-10)
    turned = shrink(np.rot90(image), shape[::-1])
    np.testing.assert_allclose(turned, np.rot90(small), rtol=1e-10)


def test_whole_blocks_are_block_means() -> None:
    image = np.arange(24.0).reshape(4, 6, 1)
    blocks = image.reshape(2, 2, 3, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(shrink(image, (2, 3))[..., 0], blocks)
    np.testing.assert_array_equal(shrink(image, (4, 6)), image)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 7), st.integers(1, 7))
def test_enlarging_gives_each_cell_its_centre(rows: int, columns: int, down: int, across: int) -> None:
    labels = np.random.default_rng(rows + 10 * columns).integers(0, 4, (rows, columns))
    big = enlarge(labels, (rows * (2 * down - 1), columns * (2 * across - 1)))
    np.testing.assert_array_equal(big[down - 1 :: 2 * down - 1, across - 1 :: 2 * across - 1], labels)
    assert set(np.unique(big)) == set(np.unique(labels))


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        (0, "grid must be at least 1"),
        (2.5, "grid must be a whole number"),
        ((3,), "grid must be a number or a pair"),
        ((3, 0), r"grid\[1\] must be at least 1"),
    ],
)
def test_bad_grids_are_named(grid: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        grid_shape(10, 10, grid)
