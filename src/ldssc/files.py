"""Matrices, tables, labels and certificates, in and out of files: nothing is unpickled, nothing left half written."""

from __future__ import annotations

import gzip
import json
import math
import stat
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.io
from scipy import sparse

from ldssc.exceptions import InputError
from ldssc.memory import readable, require_memory
from ldssc.solvers import Result
from ldssc.tables import Table, read_text
from ldssc.validation import Matrix
from ldssc.writing import PathLike, first_line, reason
from ldssc.writing import require_writable as require_writable
from ldssc.writing import write_atomically as write_atomically

TEXT = (".csv", ".tsv", ".txt", ".dat", ".data")
READABLE = (".npy", ".npz", ".mtx", ".mtx.gz", *TEXT)
WRITABLE = (".npy", ".npz", ".csv", ".mtx")
_SPARSE_PARTS = {"format", "shape", "data"}


# --- in ----------------------------------------------------------------------------------------------------------


def read_matrix(path: PathLike, *, header: bool | None = None) -> Any:
    """An array, or a SciPy sparse one, as it stands in a .npy, .npz, .mtx or text file; its size is forecast first."""
    path = require_readable(path)
    suffix = _suffix(path)
    if suffix in TEXT:
        return read_text(path, header=header).X
    if suffix not in READABLE:
        raise InputError(f"{path} is of no known kind ({suffix or 'no suffix'}); known: {', '.join(READABLE)}")
    reader = {".npy": read_npy, ".npz": _read_npz}.get(suffix, _read_mtx)
    try:
        return _numeric(reader(path), path)
    except (InputError, MemoryError):
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}") from error
    except Exception as error:  # what a broken file makes NumPy, SciPy or zipfile raise has no common type
        raise InputError(f"{path} is damaged, or no {suffix} file: {first_line(error)}; write it again") from error


def read_table(path: PathLike, *, header: bool | None = None, ignore: Sequence[str] = ()) -> Table:
    """Samples in rows: a text file with or without a header, or any file that `read_matrix` reads."""
    path = require_readable(path)
    if _suffix(path) in TEXT:
        try:
            return read_text(path, header=header, ignore=ignore)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {reason(error)}") from error
    if ignore:
        raise InputError(f"columns can be ignored in text files only ({', '.join(TEXT)}), and {path} is none")
    X = read_matrix(path)
    if X.ndim != 2:
        raise InputError(f"{path} must have two dimensions, samples in rows, and has {X.ndim} (shape {X.shape})")
    return Table(X, tuple(str(j + 1) for j in range(X.shape[1])), header=False)


def require_readable(path: PathLike) -> Path:
    """A file that is there and can be opened, or a sentence about why not."""
    path = Path(path)
    try:
        mode = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {reason(error)}") from error
    if stat.S_ISDIR(mode.st_mode):
        raise InputError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(mode.st_mode):
        raise InputError(f"{path} is a device or a pipe; save its content to a file first")
    if mode.st_size == 0:
        raise InputError(f"{path} is empty")
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}") from error
    return path


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return ".mtx.gz" if path.name.lower().endswith(".mtx.gz") else suffix


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array in a .npy file; nothing is unpickled."""
    with path.open("rb") as stream:
        _check_header(stream, path.stat().st_size, str(path))
        stream.seek(0)
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def _read_npz(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        require_memory(sum(info.file_size for info in members.values()), f"reading {path}", "use a smaller matrix")
        for name, info in members.items():
            with archive.open(info) as stream:
                _check_header(stream, info.file_size, f"{name!r} in {path}")
    if members.keys() >= _SPARSE_PARTS:
        matrix = sparse.load_npz(path)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        return matrix
    if len(members) != 1 and "K" not in members:
        raise InputError(
            f"{path} holds {len(members)} arrays ({', '.join(members) or 'none'}); keep one, or call the one to read K"
        )
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["K" if "K" in members else next(iter(members))]


def _numeric(matrix: Any, path: Path) -> Any:
    if matrix.dtype.kind not in "fiubc":
        raise InputError(
            f"{path} holds no numbers but values of type {matrix.dtype}; save plain numbers (dtype float64)"
        )
    return matrix


def _check_header(stream: IO[bytes], size: int, name: str) -> None:
    """Refuse objects, what is shorter than its header says, and what does not fit, before any number is read."""
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY":
        pickled = start[:1] == b"\x80"
        raise InputError(
            f"{name} is a pickle, which is never opened; write the matrix with numpy.save"
            if pickled
            else f"{name} is no NumPy array: it does not start as one; write the matrix with numpy.save"
        )
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    if start[6] not in readers:
        raise InputError(f"{name} has named fields (version {start[6]} of NumPy's format); save a plain matrix")
    try:
        shape, _, dtype = readers[start[6]](stream)
    except Exception as error:  # the header is Python source: a broken one fails in many ways
        raise InputError(f"{name} is damaged: its header cannot be read; write or copy it again") from error
    if dtype.hasobject:
        raise InputError(
            f"{name} holds Python objects, which would have to be unpickled; save plain numbers (dtype float64)"
        )
    needed = math.prod(shape) * dtype.itemsize
    present = size - stream.tell()
    if needed > present:
        raise InputError(
            f"{name} is cut short: shape {shape} of {dtype} takes {readable(needed)}, and it has {readable(present)}; "
            f"write or copy it again"
        )
    require_memory(needed, f"reading {name}", "use a smaller matrix")


def _read_mtx(path: Path) -> Any:
    if _suffix(path) == ".mtx.gz":
        with gzip.open(path) as stream:
            while stream.read(1 << 20):  # a damaged archive says so here
                pass
    rows, columns, entries, layout, _, _ = scipy.io.mminfo(path)
    forecast = 16.0 * rows * columns if layout == "array" else 32.0 * entries
    require_memory(forecast, f"reading {path}", "use a smaller matrix")
    return scipy.io.mmread(path)


# --- out ---------------------------------------------------------------------------------------------------------


def write_labels(path: PathLike, labels: npt.ArrayLike) -> None:
    """A header, `label`, and one line a row."""
    lines = "".join(f"{label}\n" for label in ["label", *np.asarray(labels).tolist()])
    write_atomically(path, lambda stream: stream.write(lines.encode()))


def write_matrix(path: PathLike, F: Matrix) -> None:
    """A matrix, to the last bit, as .npy, .npz, .csv or .mtx."""
    path = Path(path)
    writers: dict[str, Callable[[BinaryIO], object]] = {
        ".npy": lambda stream: np.save(stream, F, allow_pickle=False),
        ".npz": lambda stream: np.savez(stream, F=F),
        ".csv": lambda stream: np.savetxt(stream, F, fmt="%.17g", delimiter=","),
        ".mtx": lambda stream: scipy.io.mmwrite(stream, F, precision=17, symmetry="general"),
    }
    if path.suffix.lower() not in writers:
        raise InputError(f"{path} would be of no known kind; its name must end in {', '.join(writers)}")
    write_atomically(path, writers[path.suffix.lower()])


def write_multipliers(path: PathLike, result: Result) -> None:
    """u, Q and Z as .npz: with F and K, all that an auditor needs."""
    u, Q, Z = (np.asarray(part) for part in (result.u, result.Q, result.Z))
    write_atomically(path, lambda stream: np.savez(stream, u=u, Q=Q, Z=Z))


def certificate_path(path: PathLike) -> Path:
    """F.npy -> F.json."""
    return Path(path).with_suffix(".json")


def write_certificate(path: PathLike, result: Result) -> None:
    """The certificate of F, as JSON, beside the file `path` that F is in; a number that is not finite becomes null."""
    from ldssc import __version__

    proof = result.certificate
    content: dict[str, Any] = {
        "status": result.status.name,
        "sentence": result.status.sentence,
        "tol": result.tol,
        "distance": proof.distance,
        "row_sum": proof.row_sum,
        "negativity": proof.negativity,
        "indefiniteness": proof.indefiniteness,
        "gap": proof.gap,
        "note": proof.note,
        "solver": result.solver,
        "n_iter": result.n_iter,
        "n_eig": result.n_eig,
        "seconds": round(result.seconds, 3),
        "n": len(result.F),
        "version": __version__,
    }
    finite = {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in content.items()}
    text = json.dumps(finite, indent=2, ensure_ascii=False, allow_nan=False, default=float) + "\n"
    write_atomically(certificate_path(path), lambda stream: stream.write(text.encode()))
