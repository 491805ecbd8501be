"""Files written whole or not at all: asked for before the work, filled under another name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from ldssc.exceptions import InputError
from ldssc.memory import readable

PathLike = str | os.PathLike[str]


def require_writable(
    path: PathLike, *, n_bytes: float = 0, suffixes: Sequence[str] = (), spare: Sequence[PathLike] = ()
) -> Path:
    """Ask before a long computation: known suffix, a folder that takes files, room; `spare` is not overwritten."""
    path = Path(path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path} would be of no known kind; its name must end in {', '.join(suffixes)}")
    target = _target(path)
    for other in spare:
        same = target.exists() and Path(other).exists() and target.samefile(other)
        if same or target == Path(os.path.realpath(other)):
            raise InputError(f"{path} is another file of this command and would be overwritten; choose another name")
    _temporary(target, path).unlink()
    free = shutil.disk_usage(target.parent).free
    if n_bytes > free:
        raise InputError(
            f"{path} needs about {readable(n_bytes)}, and {readable(free)} are free in its folder; make room, or write "
            f"elsewhere"
        )
    return path


def write_atomically(path: PathLike, writer: Callable[[BinaryIO], object]) -> None:
    """Let `writer` fill a temporary file in the same folder, then rename it: the old or the new, never half."""
    path = Path(path)
    target = _target(path)
    temporary = _temporary(target, path)
    try:
        with temporary.open("wb") as stream:
            writer(stream)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def remove_leftovers(path: PathLike) -> None:
    """Delete the temporary files of writes to this path that were killed."""
    target = _target(Path(path))
    for leftover in target.parent.glob(f".{glob.escape(target.name[:80])}.{'[0-9a-f]' * 8}.part"):
        with contextlib.suppress(OSError):
            leftover.unlink()


def _target(path: Path) -> Path:
    """Where the bytes go: links are followed, and only a regular file is ever replaced."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError(f"{path} is a folder; name a file in it")
        if target.exists() and not target.is_file():
            raise InputError(f"{path} is a device or a pipe; name a file")
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {path.parent}; create it first")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _unwritable(path, error) from error
    return target


def _temporary(target: Path, path: Path) -> Path:
    """A new empty file beside the target, with the rights that the user's files have."""
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return temporary


def _unwritable(path: Path, error: Exception) -> InputError:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)  # NumPy: None
    remedy = "make room, or write elsewhere" if full else "choose a folder in which you may write"
    return InputError(f"{path} cannot be written: {reason(error)}; {remedy}")


def reason(error: Exception) -> str:
    """What the system says, in one line."""
    return (isinstance(error, OSError) and error.strerror) or first_line(error)


def first_line(error: Exception) -> str:
    """The first line of a message, without its full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
