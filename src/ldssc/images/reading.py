"""Pictures in and out: arrays and files of every common kind -> float64 channels, or one clear sentence."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ldssc.exceptions import InputError, require
from ldssc.files import require_readable
from ldssc.validation import check_finite
from ldssc.writing import PathLike, first_line, write_atomically

Image = npt.NDArray[np.float64]
#: What white is in each kind of whole number.
WHITE = {"bool": 1, "uint8": 255, "uint16": 65535}
#: Written without loss.
PICTURES = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".bmp": "BMP"}


def as_image(value: Any) -> Image:
    """Height x width x channels, float64: 1 channel for grey, 3 for colour, and one more where some pixel is transparent.

    uint8, uint16 and bool are scaled so that white is 1; other numbers are taken as they are. Transparent pixels are laid on
    white; their opacity is a channel of its own, so that the outline of an object on nothing is an edge too.
    """
    array = _checked_array(value)
    white = WHITE.get(array.dtype.name)
    image = array.astype(np.float64) / (white or 1)
    check_finite(image, "image")
    image = image[:, :, None] if image.ndim == 2 else image
    if image.shape[2] % 2:
        return image
    colour, alpha = image[..., :-1], image[..., -1:]
    if alpha.min() == alpha.max() and alpha.max() in (1.0, white):
        return colour
    if white is None and array.dtype.kind != "f":
        raise InputError(f"image has an alpha channel of type {array.dtype}; use uint8, uint16 or floats from 0 to 1")
    if alpha.min() < 0 or alpha.max() > 1:
        raise InputError(
            f"image has an alpha channel from {alpha.min():g} to {alpha.max():g}; opacity runs from 0 to 1"
        )
    return np.concatenate([colour * alpha + (1 - alpha), alpha], axis=2)


def _checked_array(value: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"image is not a table of numbers: {error}") from error
    if np.ma.is_masked(value):
        raise InputError("image has masked pixels; fill them first")
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"image must be an array of real numbers, and has dtype {array.dtype}; read files by read_image"
        )
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise InputError(
            f"image must have shape (height, width) or (height, width, channels) with 1 to 4 channels, and has shape "
            f"{array.shape}; pass one picture"
        )
    if array.size == 0:
        raise InputError(f"image is empty (shape {array.shape}); at least one pixel is needed")
    return array


def read_image(path: PathLike) -> npt.NDArray[Any]:
    """The pixels of a picture file, upright: uint8, uint16 or float, grey or colour, with alpha where the file has it.

    Of an animation the first frame is read. An .npy file gives its array as it stands.
    """
    path = require_readable(path)
    if path.suffix.lower() == ".npy":
        from ldssc.files import read_npy

        return _checked_array(read_npy(path))
    pillow, transpose = require("PIL.Image", "images"), require("PIL.ImageOps", "images").exif_transpose
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # damaged metadata does not hurt the pixels
            with pillow.open(path) as picture:
                picture.load()
                pixels = _pixels(transpose(picture))
    except (pillow.DecompressionBombWarning, pillow.DecompressionBombError) as error:
        raise InputError(f"{path} is larger than Pillow opens safely ({first_line(error)}); make it smaller") from error
    except require("PIL", "images").UnidentifiedImageError as error:
        raise InputError(f"{path} is no picture of a kind that Pillow knows; save it as .png or .jpg") from error
    except MemoryError:
        raise
    except Exception as error:  # what a broken picture makes Pillow raise has no common type
        raise InputError(f"{path} is damaged or cut short: {first_line(error)}; copy or save it again") from error
    return _checked_array(pixels)


def _pixels(picture: Any) -> npt.NDArray[Any]:
    """An array of one of the kinds that `as_image` takes; palettes, CMYK and the like become colours."""
    mode = picture.mode
    if mode == "1":
        return np.asarray(picture.convert("L"))
    if mode.startswith("I;16"):
        return np.asarray(picture).astype(np.uint16)
    if mode == "I":  # 16 bits in 32, as old versions of Pillow read them
        pixels = np.asarray(picture)
        return pixels.astype(np.uint16) if pixels.min() >= 0 and pixels.max() <= WHITE["uint16"] else pixels
    if mode in ("L", "LA", "RGB", "RGBA", "F"):
        transparent = "transparency" in picture.info and mode in ("L", "RGB")
        return np.asarray(picture.convert("RGBA") if transparent else picture)
    return np.asarray(picture.convert("RGBA" if mode == "PA" or "transparency" in picture.info else "RGB"))


def write_image(path: PathLike, pixels: npt.NDArray[Any]) -> None:
    """An array of uint8 or uint16 as a .png, .tif or .bmp, without loss, whole or not at all."""
    _save(path, require("PIL.Image", "images").fromarray(pixels))


def write_labels(path: PathLike, labels: npt.NDArray[np.int64], palette: npt.NDArray[np.uint8]) -> None:
    """Labels as .npy, or as a picture whose pixel values are the labels and whose palette shows them in colour.

    More than 256 labels go into 16 bits of grey.
    """
    if Path(path).suffix.lower() == ".npy":
        write_atomically(path, lambda stream: np.save(stream, labels, allow_pickle=False))
        return
    pillow = require("PIL.Image", "images")
    if labels.max() > 255:
        _save(path, pillow.fromarray(labels.astype(np.uint16)))
        return
    picture = pillow.frombytes("P", labels.shape[::-1], labels.astype(np.uint8).tobytes())
    picture.putpalette(palette.ravel().tolist())
    _save(path, picture)


def _save(path: PathLike, picture: Any) -> None:
    kind = PICTURES[Path(path).suffix.lower()]
    write_atomically(path, lambda stream: picture.save(stream, format=kind))
