"""Downloading from a server on loopback: verified, whole or not at all; and every converter on real sets."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

pytest.importorskip("pooch")

from server import Site, serving

from ldssc import datasets
from ldssc.datasets import catalog, fetching
from ldssc.datasets.converting import GOLUB_TEST, convert
from ldssc.datasets.loading import checksums
from ldssc.exceptions import InputError, MissingExtraError

ROWS = np.array([[1.5, 2.0, 1], [3.0, -4.25, 2], [5.0, 6.0, 2], [0.1, 0.2, 1]])


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as running:
        yield running


def table(rows: np.ndarray) -> bytes:
    return "".join(",".join(f"{cell:.17g}" for cell in row) + "\n" for row in rows).encode()


@pytest.fixture
def small(site: Site, monkeypatch: pytest.MonkeyPatch) -> datasets.Entry:
    """A set of four rows at the server, in the format of BUPA."""
    X, y = ROWS[:, :-1], ROWS[:, -1].astype(np.int64) - 1
    source = catalog.Source("bupa", {"data": site.put("small.data", table(ROWS))})
    found = catalog.Entry(
        "small", "Small", (4, 2), (2, 2), *checksums(X, y), source, "Free.", "small.data from nowhere"
    )
    monkeypatch.setattr(catalog, "CATALOG", (found,))
    return found


def serve(site: Site, *manners: str, content: bytes = table(ROWS)) -> None:
    site.put("small.data", content, *manners)


@pytest.mark.usefixtures("small")
def test_a_set_is_fetched_verified_and_loaded(site: Site, tmp_path: Path) -> None:
    assert datasets.fetch("small", tmp_path) is datasets.Fetched.WRITTEN
    data = datasets.load("small", tmp_path)
    np.testing.assert_array_equal(data.X, ROWS[:, :2])
    np.testing.assert_array_equal(data.y, [0, 1, 1, 0])
    assert os.listdir(tmp_path) == ["small.npz"]
    assert site.asked == ["/small.data"]


@pytest.mark.usefixtures("small")
def test_what_is_there_is_verified_and_not_fetched_again(site: Site, tmp_path: Path) -> None:
    datasets.fetch("small", tmp_path)
    before = (tmp_path / "small.npz").read_bytes()
    assert datasets.fetch("small", tmp_path) is datasets.Fetched.PRESENT
    assert len(site.asked) == 1
    assert (tmp_path / "small.npz").read_bytes() == before


@pytest.mark.usefixtures("small")
def test_another_file_of_that_name_is_not_overwritten(site: Site, tmp_path: Path) -> None:
    np.savez(tmp_path / "small.npz", X=np.ones((3, 3)), y=np.arange(3))
    before = (tmp_path / "small.npz").read_bytes()
    with pytest.raises(InputError, match="is not the published Small"):
        datasets.fetch("small", tmp_path)
    assert (tmp_path / "small.npz").read_bytes() == before
    assert site.asked == []


@pytest.mark.usefixtures("small")
def test_a_slow_server_is_waited_for_and_progress_is_told(site: Site, tmp_path: Path) -> None:
    serve(site, "slow", content=table(ROWS) + b"\n" * 40_000)
    told: list[tuple[str, int, int]] = []
    datasets.fetch("small", tmp_path, timeout=5, progress=lambda *place: told.append(place))
    assert told[-1] == ("small.data", told[-1][2], told[-1][2])
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert len(told) > 1


@pytest.mark.usefixtures("small")
def test_a_download_that_breaks_off_is_tried_again(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    serve(site, "breaks off", "breaks off", "well")
    assert datasets.fetch("small", tmp_path) is datasets.Fetched.WRITTEN
    assert len(site.asked) == 3


@pytest.mark.parametrize(
    ("manner", "content", "sentence"),
    [
        ("breaks off", table(ROWS), "Small could not be downloaded from http://127.0.0.1"),
        ("silent", table(ROWS), "Small could not be downloaded from .*[Tt]ime"),
        ("missing", table(ROWS), "Small could not be downloaded from .*404"),
        ("no length", table(ROWS), "what came for Small .*nothing was written"),
        ("well", b"<html>Sign in to continue</html>", "what came for Small .small.data. is not what it should be: "),
        ("well", b"", "what came for Small"),
        ("well", table(ROWS[::-1]), "is not the published set: it has the same samples in another order; nothing was"),
        ("well", table(ROWS + np.array([1e-9, 0, 0])), "values or labels differ"),
        ("well", table(ROWS[:3]), r"X has shape \(3, 2\), and should have \(4, 2\)"),
    ],
)
@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_what_goes_wrong_is_one_sentence_and_leaves_nothing(
    manner: str, content: bytes, sentence: str, site: Site, tmp_path: Path
) -> None:
    serve(site, manner, content=content)
    with pytest.raises(InputError, match=sentence) as caught:
        datasets.fetch("small", tmp_path, timeout=0.3, retries=0)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_no_server_at_all_is_one_sentence(
    small: datasets.Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replace(small.source, files={"data": "http://127.0.0.1:9/small.data"})
    monkeypatch.setattr(catalog, "CATALOG", (replace(small, source=source),))
    with pytest.raises(
        InputError, match=r"could not be downloaded .*by hand \(small.data from nowhere\) and name their"
    ):
        datasets.fetch("small", tmp_path, timeout=0.5, retries=0)


@pytest.mark.usefixtures("small")
def test_files_that_were_got_by_hand_are_taken_from_their_folder(site: Site, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    with pytest.raises(InputError, match=r"Small needs small\.data, which is not in .*raw"):
        datasets.fetch("small", tmp_path, raw=tmp_path / "raw")
    (tmp_path / "raw" / "small.data").write_bytes(table(ROWS))
    assert datasets.fetch("small", tmp_path, raw=tmp_path / "raw") is datasets.Fetched.WRITTEN
    assert site.asked == []


@pytest.mark.usefixtures("small")
def test_a_folder_that_cannot_be_written_is_said_before_anything_is_fetched(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        datasets.fetch("small", tmp_path / "nowhere")
    assert site.asked == []


@pytest.mark.usefixtures("small")
def test_without_pooch_the_line_that_installs_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ldssc\[data\]'"):
        datasets.fetch("small", tmp_path)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_sets_of_scikit_learn_need_no_network(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_download", lambda *_: pytest.fail("the network was asked"))
    assert datasets.fetch(name, tmp_path) is datasets.Fetched.WRITTEN
    datasets.load(name, tmp_path)


@pytest.mark.parametrize("found", datasets.CATALOG, ids=lambda found: found.name)
def test_every_set_has_a_source_and_says_what_to_get_by_hand(found: datasets.Entry) -> None:
    assert found.by_hand
    for url in found.source.files.values():
        assert url.startswith(("https://", "http://www.cad.zju.edu.cn/"))  # that page has no certificate


# --- every converter: the published arrays, put back into the format of their source ---------------------------------


def as_spectf(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    whole = np.column_stack([y, X])
    return {"SPECTF.train": table(whole[:80]), "SPECTF.test": table(whole[80:])}


def as_hayes_roth(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    whole = np.column_stack([X, y + 1])
    train = np.column_stack([np.arange(132)[::-1], whole[:132]])
    return {"hayes-roth.data": table(train), "hayes-roth.test": table(whole[132:])}


def as_leukemia(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    def lines(order: Any) -> bytes:
        head = ",".join(['"labels"', *(f'"gene{j}"' for j in range(X.shape[1]))])
        rows = [",".join([f'"{("ALL", "AML")[y[i]]}"', *(f"{int(v)}" for v in X[i])]) for i in order]
        return "\n".join([head, *rows]).encode()

    return {"golub-train.csv": lines(range(38)), "golub-test.csv": lines([i - 1 for i in GOLUB_TEST])}


def as_orl(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("README", "faces")
        for i, (row, person) in reversed(list(enumerate(zip(X.astype(np.uint8), y, strict=True)))):
            archive.writestr(f"orl_faces/s{person + 1}/{i % 10 + 1}.pgm", b"P5\n92 112\n255\n" + row.tobytes())
    return {"att_faces.zip": stream.getvalue()}


def as_matlab(file: str, height: int, width: int) -> Any:
    def put(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
        stream = io.BytesIO()
        columns = X.reshape(-1, height, width).transpose(0, 2, 1).reshape(len(X), -1)
        scipy.io.savemat(stream, {"fea": columns.astype(np.float64), "gnd": y[:, None] + 1.0})
        return {file: stream.getvalue()}

    return put


def as_alphadigits(X: np.ndarray, _: np.ndarray) -> dict[str, bytes]:
    cells = np.empty((36, 39), dtype=object)
    for i, row in enumerate(X.astype(np.uint8)):
        cells[divmod(i, 39)] = row.reshape(20, 16)
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"dat": cells})
    return {"binaryalphadigs.mat": stream.getvalue()}


SOURCES: dict[str, Any] = {
    "spectf": as_spectf,
    "pima": lambda X, y: {"pima-indians-diabetes.csv": table(np.column_stack([X, y]))},
    "hayes_roth": as_hayes_roth,
    "bupa": lambda X, y: {"bupa.data": table(np.column_stack([X, y + 1]))},
    "leukemia": as_leukemia,
    "orl": as_orl,
    "orl_32x32": as_matlab("ORL_32x32.mat", 32, 32),
    "yale": as_matlab("Yale_32x32.mat", 32, 32),
    "yale_64x64": as_matlab("Yale_64x64.mat", 64, 64),
    "coil20": as_matlab("COIL20.mat", 32, 32),
    "alphadigits": as_alphadigits,
}


def test_a_list_of_r_is_read(tmp_path: Path) -> None:
    """The format of Lung, on five samples: the set itself takes half a minute to write."""
    rdata, pandas = pytest.importorskip("rdata"), pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).normal(size=(5, 7)), np.array([1, 0, 0, 1, 0])
    path = tmp_path / "gordon.RData"
    rdata.write_rda(path, {"gordon": {"x": X, "y": pandas.Categorical.from_codes(y, ["ADCA", "MPM"])}})
    found = convert(datasets.entry("lung"), {"data": path})
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], y)


@pytest.mark.parametrize("name", SOURCES)
def test_a_set_in_the_format_of_its_source_becomes_the_published_one(
    name: str, shared_data: Path, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    published, found = datasets.load(name, shared_data), datasets.entry(name)
    addresses = {file: site.put(file, content) for file, content in SOURCES[name](published.X, published.y).items()}
    files = {part: addresses[url.rsplit("/", 1)[-1]] for part, url in found.source.files.items()}
    served = replace(found, source=replace(found.source, files=files))
    monkeypatch.setattr(catalog, "CATALOG", (served,))
    (tmp_path / "out").mkdir()
    assert datasets.fetch(name, tmp_path / "out") is datasets.Fetched.WRITTEN
    data = datasets.load(name, tmp_path / "out")
    np.testing.assert_array_equal(data.X, published.X)
    assert data.image_shape == published.image_shape
