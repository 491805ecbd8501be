"""Published sets from their public places: downloaded, converted, verified, and only then written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ldssc.datasets.catalog import Entry, entry
from ldssc.datasets.converting import convert
from ldssc.datasets.loading import differs, load
from ldssc.exceptions import InputError, MissingExtraError, require
from ldssc.files import require_readable
from ldssc.writing import PathLike, first_line, require_writable, write_atomically

#: Seconds that a server may be silent, and how often a failed download is tried again.
TIMEOUT, RETRIES = 30.0, 2
#: Called with the file's name, the bytes that are there, and how many there will be (0: not known).
Progress = Callable[[str, int, int], object]


class Fetched(Enum):
    """What has become of a set; the value is the sentence to show."""

    WRITTEN = "fetched and verified"
    PRESENT = "already there, and as published"


def fetch(
    name: str,
    folder: PathLike,
    *,
    raw: PathLike | None = None,
    timeout: float = TIMEOUT,
    retries: int = RETRIES,
    progress: Progress | None = None,
) -> Fetched:
    """Get the set `name` as FOLDER/name.npz, with X, y and for pictures image_shape.

    Its files come from the internet by pooch, or from the folder `raw`, where they were put by hand under the names that
    they have at their source. They are converted, and the result must have the published checksum; otherwise nothing is
    written. A file that is there already is verified and left alone. `entry(name).terms` says on what terms the set is given.
    """
    wanted, folder = entry(name), Path(folder)
    target = require_writable(folder / f"{wanted.name}.npz")
    if target.exists():
        load(wanted.name, folder)  # raises, and overwrites nothing, where it is something else
        return Fetched.PRESENT
    with tempfile.TemporaryDirectory(prefix=".ldssc-", dir=folder) as scratch:
        files = {
            part: _given(Path(raw), url, wanted)
            if raw is not None
            else _download(url, Path(scratch), wanted, timeout, retries, progress)
            for part, url in wanted.source.files.items()
        }
        arrays = _converted(wanted, files)
    write_atomically(target, lambda stream: np.savez_compressed(stream, **arrays))
    return Fetched.WRITTEN


def _given(raw: Path, url: str, wanted: Entry) -> Path:
    path = raw / url.rsplit("/", 1)[-1]
    if not path.exists():
        raise InputError(f"{wanted.title} needs {path.name}, which is not in {raw}; it is {wanted.by_hand}")
    return require_readable(path)


def _download(url: str, scratch: Path, wanted: Entry, timeout: float, retries: int, progress: Progress | None) -> Path:
    pooch = require("pooch", "data")
    pooch.get_logger().setLevel("ERROR")
    file = url.rsplit("/", 1)[-1]
    store = pooch.create(scratch, base_url="", registry={file: None}, urls={file: url}, retry_if_failed=retries)
    try:
        return Path(store.fetch(file, downloader=_downloader(file, timeout, progress)))
    except Exception as error:  # requests, urllib3 and the system each have errors of their own
        raise InputError(
            f"{wanted.title} could not be downloaded from {url}: {_cause(error)}; try again later, or get the files by hand "
            f"({wanted.by_hand}) and name their folder with --from"
        ) from error


def _converted(wanted: Entry, files: dict[str, Path]) -> dict[str, Any]:
    try:
        X, y = convert(wanted, files)
    except MissingExtraError:
        raise
    except Exception as error:  # what came may be anything: a page of HTML, half a file
        names = ", ".join(path.name for path in files.values())
        raise InputError(
            f"what came for {wanted.title} ({names}) is not what it should be: {first_line(error)}; nothing was written"
        ) from error
    if difference := differs(wanted, X.astype(np.float64), y):
        raise InputError(f"what came for {wanted.title} is not the published set: {difference}; nothing was written")
    return {"X": X, "y": y, **({} if wanted.image_shape is None else {"image_shape": np.array(wanted.image_shape)})}


def _cause(error: BaseException) -> str:
    """The innermost reason, in one line."""
    for _ in range(10):  # requests wraps urllib3, which wraps the system
        inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return first_line(error) if isinstance(error, Exception) else type(error).__name__


def _downloader(file: str, timeout: float, progress: Progress | None) -> Callable[..., None]:
    """How pooch is to download: with the connection closed whatever happens, and the length checked."""
    requests = require("requests", "data")

    def download(url: str, output: str, _: object) -> None:
        with requests.get(url, stream=True, timeout=timeout) as response, open(output, "wb") as stream:
            response.raise_for_status()
            total, done = int(response.headers.get("Content-Length", 0)), 0
            for chunk in response.iter_content(1 << 14):
                stream.write(chunk)
                done = stream.tell()
                if progress is not None:
                    progress(file, done, total)
            if done < total and "Content-Encoding" not in response.headers:
                raise requests.exceptions.ConnectionError(f"{done} bytes came of {total}")

    return download
