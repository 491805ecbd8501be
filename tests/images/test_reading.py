"""Pictures of every kind: a good answer or one clear sentence."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldssc.exceptions import InputError, MissingExtraError
from ldssc.images import read_image
from ldssc.images.reading import as_image

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 255, (6, 9), dtype=np.uint8)
RGB = RNG.integers(0, 255, (6, 9, 3), dtype=np.uint8)


def test_white_is_one_in_every_kind_of_whole_number() -> None:
    for white in (np.uint8(255), np.uint16(65535), np.True_):
        np.testing.assert_array_equal(as_image(np.full((2, 3), white)), np.ones((2, 3, 1)))


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_and_colour_keep_their_channels(channels: int) -> None:
    image = RNG.random((4, 5, channels))
    np.testing.assert_array_equal(as_image(image), image)


def test_other_numbers_are_taken_as_they_are() -> None:
    np.testing.assert_array_equal(as_image(np.array([[-3, 1000]]))[..., 0], [[-3.0, 1000.0]])


@pytest.mark.parametrize("alpha", [np.full((6, 9), 255, np.uint8)])
def test_opaque_alpha_is_dropped(alpha: np.ndarray) -> None:
    np.testing.assert_array_equal(as_image(np.dstack([RGB, alpha])), as_image(RGB))


def test_transparent_pixels_are_white_and_opacity_is_a_channel() -> None:
    alpha = np.full((6, 9), 255, np.uint8)
    alpha[:, :4] = 0
    image = as_image(np.dstack([RGB, alpha]))
    assert image.shape == (6, 9, 4)
    np.testing.assert_array_equal(image[:, :4, :3], 1.0)
    np.testing.assert_array_equal(image[:, 4:, :3], RGB[:, 4:] / 255)
    np.testing.assert_array_equal(image[..., 3], alpha / 255)
    assert as_image(np.dstack([GREY, alpha])).shape == (6, 9, 2)


def masked() -> Any:
    return np.ma.masked_equal(GREY, GREY[0, 0])


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ([[0.0, np.nan]], r"image has 1 entries that are NaN or infinite, the first at \[0, 1\]"),
        ([[np.inf]], "NaN or infinite"),
        ([1.0, 2.0], r"must have shape \(height, width\)"),
        (np.zeros((2, 2, 5)), "with 1 to 4 channels"),
        (np.zeros((0, 4)), "image is empty"),
        ([["a"]], "must be an array of real numbers"),
        ("photo.jpg", "read files by read_image"),
        (np.zeros((2, 2), complex), "real numbers"),
        ([[1.0], [1.0, 2.0]], "image is not a table of numbers"),
        (np.dstack([RGB, GREY]).astype(np.int64), "alpha channel of type int64"),
        (np.dstack([RGB, GREY]).astype(float), "opacity runs from 0 to 1"),
        (masked(), "masked pixels"),
    ],
)
def test_bad_arrays_get_one_sentence(image: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        as_image(image)


# --- files -------------------------------------------------------------------------------------------------------


def saved(path: Path, picture: Any, **options: Any) -> Path:
    picture.save(path, **options)
    return path


@pytest.fixture
def pillow() -> Any:
    return pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("pixels", [GREY, RGB, np.dstack([RGB, GREY]), GREY.astype(np.uint16) * 257])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_pixels_come_back_as_they_were(pixels: np.ndarray, suffix: str, tmp_path: Path, pillow: Any) -> None:
    found = read_image(saved(tmp_path / f"a{suffix}", pillow.fromarray(pixels)))
    assert found.dtype == pixels.dtype
    np.testing.assert_array_equal(found, pixels)


def test_floats_and_bits_come_back(tmp_path: Path, pillow: Any) -> None:
    floats = RNG.random((4, 5)).astype(np.float32)
    np.testing.assert_array_equal(read_image(saved(tmp_path / "a.tif", pillow.fromarray(floats))), floats)
    bits = pillow.fromarray(GREY).convert("1", dither=0)
    assert set(np.unique(read_image(saved(tmp_path / "b.png", bits)))) == {0, 255}


def test_a_palette_becomes_colours_and_its_transparent_entry_alpha(tmp_path: Path, pillow: Any) -> None:
    picture = pillow.fromarray(np.array([[0, 1], [2, 1]], np.uint8)).convert("P")
    picture.putdata([0, 1, 2, 1])
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    found = read_image(saved(tmp_path / "a.png", picture))
    np.testing.assert_array_equal(found, [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [0, 255, 0]]])
    found = read_image(saved(tmp_path / "b.png", picture, transparency=1))
    np.testing.assert_array_equal(found[..., 3], [[255, 0], [255, 0]])


def test_cmyk_becomes_colours(tmp_path: Path, pillow: Any) -> None:
    assert read_image(saved(tmp_path / "a.jpg", pillow.fromarray(RGB).convert("CMYK"))).shape == (6, 9, 3)


def test_a_turned_camera_gives_an_upright_picture(tmp_path: Path, pillow: Any) -> None:
    exif = pillow.Exif()
    exif[0x0112] = 6  # the camera lay on its side: turn by 90° clockwise to see it upright
    found = read_image(saved(tmp_path / "a.png", pillow.fromarray(GREY), exif=exif))
    np.testing.assert_array_equal(found, np.rot90(GREY, -1))


def test_the_first_frame_of_an_animation_is_read(tmp_path: Path, pillow: Any) -> None:
    frames = [pillow.fromarray(np.full((4, 5), grey, np.uint8)) for grey in (10, 200)]
    path = saved(tmp_path / "a.gif", frames[0], save_all=True, append_images=frames[1:])
    assert (read_image(path)[..., :3] == 10).all()


def test_an_array_file_needs_no_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    np.save(tmp_path / "a.npy", RGB)
    np.testing.assert_array_equal(read_image(tmp_path / "a.npy"), RGB)


def test_without_pillow_the_line_that_installs_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"something")
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ldssc\[images\]'"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "GIF"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_file_is_one_sentence(kind: str, share: float, tmp_path: Path, pillow: Any) -> None:
    stream = io.BytesIO()
    pillow.fromarray(RNG.integers(0, 255, (80, 90, 3), dtype=np.uint8)).save(stream, format=kind)
    path = tmp_path / f"a.{kind.lower()}"
    path.write_bytes(stream.getvalue()[: int(share * stream.tell())])
    with pytest.raises(InputError, match=r"a\.\w+ (is damaged or cut short: |is no picture of a kind)") as caught:
        read_image(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (b"not a picture at all", "is no picture of a kind that Pillow knows")],
)
def test_what_is_no_picture_is_one_sentence(content: bytes, sentence: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_image(tmp_path / "a.png")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_image(tmp_path / "nothing.png")
    with pytest.raises(InputError, match="is a folder"):
        read_image(tmp_path)


def test_a_decompression_bomb_is_refused(tmp_path: Path, pillow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a.png", pillow.fromarray(GREY))
    monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", 20)
    with pytest.raises(InputError, match="larger than Pillow opens safely"):
        read_image(path)
