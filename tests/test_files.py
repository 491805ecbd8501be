"""Files: what goes in comes out to the last bit, nothing is unpickled or half written, every fault is a sentence."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import pickle
import stat
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

import ldssc
from ldssc import files, memory
from ldssc.exceptions import InputError, NotEnoughMemoryError
from ldssc.tables import read_text

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
TABLES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE)
K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 1.0]])


def dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- what goes in comes out --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", files.WRITABLE)
@settings(max_examples=30)
@given(A=TABLES)
@example(A=np.array([[1 / 3, 5e-324], [1.7976931348623157e308, -0.0]]))
def test_a_written_matrix_reads_back_to_the_last_bit(suffix: str, A: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"A{suffix}"
        files.write_matrix(path, A)
        np.testing.assert_array_equal(dense(files.read_matrix(path)), A)


@pytest.mark.parametrize("name", ["S.npz", "S.mtx", "S.mtx.gz"])
def test_sparse_files_read_as_the_matrix_they_hold(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "S.npz":
        sparse.save_npz(path, sparse.csr_array(K))
    else:
        text = io.BytesIO()
        scipy.io.mmwrite(text, sparse.coo_array(K), symmetry="symmetric", precision=17)
        put(path, gzip.compress(text.getvalue()) if name.endswith("gz") else text.getvalue())
    np.testing.assert_array_equal(dense(files.read_matrix(path)), K)


def test_the_array_named_K_is_read_where_there_are_several(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", K=K, other=np.eye(2))
    np.testing.assert_array_equal(files.read_matrix(tmp_path / "two.npz"), K)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("names", [False, True])
@settings(max_examples=30)
@given(A=TABLES)
def test_a_table_of_numbers_reads_back_whatever_its_delimiter_and_header(
    delimiter: str, names: bool, A: np.ndarray
) -> None:
    header = delimiter.join(f"x{j}" for j in range(A.shape[1]))
    lines = [header] * names + [delimiter.join(map(repr, row)) for row in A.tolist()]
    with tempfile.TemporaryDirectory() as folder:
        table = read_text(put(Path(folder) / "A.csv", "\n".join(lines) + "\n"))
    assert table.header is names
    np.testing.assert_array_equal(table.X, A)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("\ufeffa,b\r\n1,2\r\n\r\n3,4\r\n", ("a", "b")),
        ('"a","b"\n"1","2"\n"3","4"\n', ("a", "b")),
        ("# made by hand\n#a,b\n1,2\n3,4", ("1", "2")),
        ("1, 2\n3, 4\n", ("1", "2")),
        ("  1   2\n 3    4\n", ("1", "2")),
        ("name a;name b\n1;2\n3;4\n", ("name a", "name b")),
        ("2019,b\n1,2\n3,4\n", ("2019", "b")),
    ],
)
def test_dialects_of_the_same_table(content: str, names: tuple[str, ...], tmp_path: Path) -> None:
    table = read_text(put(tmp_path / "t.csv", content))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.names == names


def test_columns_are_left_out_by_name_or_place(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", "id,x,kind,y\nA,1,u,2\nB,3,v,4\n")
    table = files.read_table(path, ignore=["id", "3"])
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.names == ("x", "y")


def test_an_unnamed_column_of_row_numbers_is_left_out_and_said(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", ",x,y\n0,5,1\n1,7,2\n2,9,3\n")
    with pytest.warns(UserWarning, match="numbers the rows"):
        table = files.read_table(path)
    np.testing.assert_array_equal(table.X, [[5, 1], [7, 2], [9, 3]])


def test_a_first_line_that_may_be_names_is_read_as_data_and_said(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", "0,1,2\n5,6,7\n")
    with pytest.warns(UserWarning, match="--header"):
        assert len(files.read_table(path).X) == 2
    assert len(files.read_table(path, header=True).X) == 1


# --- bad files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n3,NA\n,\n", "3 missing or infinite values, the first missing, on line 3 in column 'b'"),
        ("a,b\n1,2\n3,inf\n", "the first infinite, on line 3 in column 'b'"),
        ("1e400,2\n3,4\n", "infinite, on line 1 in column '1'"),
        ("x,kind\n1,u\n2,v\n", "column 'kind' (2 of 2 cells, the first 'u' on line 2) holds text"),
        ("x,kind\n1,u\n2,v\n", "--ignore kind"),
        ("id,x,kind\nA,1,u\nB,2,v\n", "columns 'id'"),
        ("day,x\n2021_01,2\n2021_02,3\n", "column 'day'"),
        ("a;b\n1,5;2,5\n", "decimal points for commas"),
        ("1,2\n3,4,5\n", "line 2 has 3 cells, and the first row has 2"),
        ("a,b\n", "a header and no rows"),
        ("\n \n", "no rows"),
        ("gr\xf6\xdfe,b\n1,2\n".encode("latin1"), "not text in UTF-8"),
        ("a,b\n1,2\n".encode("utf16"), "not text in UTF-8"),
        ('a,b\n1,"' + "2" * 200_000 + '"\n', "cannot be split into cells"),
    ],
)
def test_a_bad_table_is_refused_with_line_and_column(content: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        files.read_table(put(tmp_path / "t.csv", content))
    assert said in str(caught.value)
    assert "t.csv" in str(caught.value)


def npy_bytes(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz_bytes(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zip_bytes(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


CSR = {"format": np.array(b"csr"), "shape": np.array([3, 3]), "data": np.ones(3), "indptr": np.arange(4)}
OBJECTS = np.array([{}, None], dtype=object)
BANNER = "%%MatrixMarket matrix coordinate real general\n"
BAD_BINARIES = [
    ("junk.npy", b"hello", "no NumPy array"),
    ("pickle.npy", pickle.dumps(K), "is a pickle, which is never opened"),
    ("objects.npy", npy_bytes(OBJECTS, allow_pickle=True), "Python objects"),
    ("short.npy", npy_bytes(K)[:-1], "cut short: shape (3, 3) of float64 takes 72 B, and it has 71 B"),
    ("header.npy", npy_bytes(K)[:40], "header cannot be read"),
    ("text.npy", npy_bytes(np.array([["a"]])), "holds no numbers"),
    ("dates.npy", npy_bytes(np.zeros((2, 2), dtype="M8[D]")), "holds no numbers"),
    ("junk.npz", b"PK\x03\x04", "damaged, or no .npz"),
    ("short.npz", npz_bytes(K=K)[:100], "damaged, or no .npz"),
    ("two.npz", npz_bytes(a=K, b=K), "2 arrays (a, b)"),
    ("none.npz", zip_bytes(), "0 arrays"),
    ("objects.npz", npz_bytes(a=OBJECTS), "Python objects"),
    ("pickle.npz", zip_bytes(a=pickle.dumps(K)), "is a pickle"),
    ("member.npz", zip_bytes(a=npy_bytes(K)[:-8]), "cut short"),
    ("index.npz", npz_bytes(**CSR, indices=np.array([0, 99, 2])), "damaged"),
    ("format.npz", npz_bytes(**{**CSR, "format": np.array(b"zzz")}), "damaged"),
    ("junk.mtx", b"hello", "damaged, or no .mtx"),
    ("short.mtx", BANNER + "3 3 2\n1 1 1.0\n", "damaged, or no .mtx"),
    ("range.mtx", BANNER + "3 3 1\n9 1 1.0\n", "damaged, or no .mtx"),
    ("short.mtx.gz", gzip.compress((BANNER + "3 3 1\n1 1 1.0\n").encode())[:-9], "damaged, or no .mtx.gz"),
    ("K.xlsx", b"PK", "no known kind (.xlsx)"),
    ("K", b"1", "no known kind (no suffix)"),
    ("empty.npy", b"", "is empty"),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD_BINARIES, ids=[name for name, _, _ in BAD_BINARIES])
def test_a_bad_file_is_refused_by_name(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        files.read_matrix(put(tmp_path / name, content))
    assert said in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for name, said in {
        "absent.npy": "no file",
        ".": "is a folder",
        "pipe.csv": "a pipe",
        "loop.csv": "cannot be read",
    }.items():
        with pytest.raises(InputError, match=said):
            files.read_matrix(tmp_path / name)
    with pytest.raises(InputError):
        files.read_matrix("a\0b.npy")


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bombs = np.array([Bomb(mark)], dtype=object)
    np.save(tmp_path / "a.npy", bombs, allow_pickle=True)
    np.savez(tmp_path / "b.npz", K=bombs)
    np.savez(tmp_path / "c.npz", **{**CSR, "indices": bombs})
    put(tmp_path / "d.npy", pickle.dumps(Bomb(mark)))
    for name in ("a.npy", "b.npz", "c.npz", "d.npy"):
        with pytest.raises(InputError):
            files.read_matrix(tmp_path / name)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Bomb(mark)))
    assert mark.exists()  # the bomb works


@pytest.mark.parametrize("suffix", files.WRITABLE)
def test_what_does_not_fit_is_refused_before_it_is_read(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"A{suffix}"
    files.write_matrix(path, np.ones((50, 50)))
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemoryError, match=r"needs about .* available"):
        files.read_matrix(path)


# --- out ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), OSError("short write")])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(fault: OSError, tmp_path: Path) -> None:
    path = put(tmp_path / "F.npy", "old")

    def fail(stream: io.BufferedIOBase) -> None:
        stream.write(b"half of the n")
        raise fault

    with pytest.raises(InputError, match=r"F\.npy cannot be written: .*make room"):
        files.write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_who_reads_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    path = put(tmp_path / "F.npy", "old")
    with path.open() as reader:
        files.write_atomically(path, lambda stream: stream.write(b"new"))
        assert (reader.read(), path.read_text()) == ("old", "new")


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = put(tmp_path / "F.npy", "old")

    def interrupt(stream: io.BufferedIOBase) -> None:
        stream.write(b"half of the n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(path, interrupt)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy 1.26 leaves its zip file open
@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.parametrize("suffix", files.WRITABLE)
def test_a_full_disk_is_a_sentence(suffix: str, tmp_path: Path) -> None:
    import resource

    path = put(tmp_path / f"F{suffix}", "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            files.write_matrix(path, np.ones((100, 100)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path = put(tmp_path / "F.npy", "old")
    path.chmod(0o640)
    link = tmp_path / "link.npy"
    link.symlink_to(path)
    files.write_atomically(link, lambda stream: stream.write(b"new"))
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    put(tmp_path / "plain", "")
    files.write_labels(tmp_path / "l.csv", [0])
    assert (tmp_path / "l.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    put(tmp_path / "file", "")
    source = put(tmp_path / "K.npy", "K")
    for name, said in {
        "nowhere/F.npy": "no folder",
        "file/F.npy": "no folder",
        ".": "no known kind",
        "F.xlsx": r"must end in \.npy",
        "pipe.npy": "a pipe",
        "K.npy": "another file of this command",
        "n" * 300 + ".npy": "cannot be written",
    }.items():
        with pytest.raises(InputError, match=said):
            files.require_writable(tmp_path / name, suffixes=files.WRITABLE, spare=[source])
    with pytest.raises(InputError, match="are free in its folder"):
        files.require_writable(tmp_path / "F.npy", n_bytes=1e18)
    with pytest.raises(InputError, match="is a folder"):
        files.require_writable(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe.npy", "file", "K.npy"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_said_before_the_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(InputError, match="Permission denied"):
            files.require_writable(tmp_path / "F.npy")
    finally:
        tmp_path.chmod(0o755)


def test_labels_are_a_header_and_one_line_a_row(tmp_path: Path) -> None:
    files.write_labels(tmp_path / "l.csv", np.array([2, 0, 1]))
    assert (tmp_path / "l.csv").read_text() == "label\n2\n0\n1\n"


def test_the_certificate_says_what_the_result_says(tmp_path: Path) -> None:
    result = ldssc.project(K, tol=1e-3)
    files.write_certificate(tmp_path / "F.npy", result)
    said = json.loads((tmp_path / "F.json").read_text())
    for name in ("row_sum", "negativity", "indefiniteness", "gap", "distance"):
        assert said[name] == getattr(result.certificate, name)
    assert (said["status"], said["sentence"]) == (result.status.name, result.status.sentence)
    assert (said["n"], said["solver"], said["tol"]) == (3, "auto", 1e-3)
    assert (said["n_iter"], said["n_eig"], said["version"]) == (result.n_iter, result.n_eig, ldssc.__version__)
