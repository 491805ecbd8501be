"""The data sets of the paper: what they are, how to know them, where they come from, on what terms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ldssc.exceptions import InputError

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_CAI = "http://www.cad.zju.edu.cn/home/dengcai/Data"
_MICROARRAY = "https://raw.githubusercontent.com/ramhiser/datamicroarray"

ORL_TERMS = (
    "The ORL faces are provided by courtesy of AT&T Laboratories Cambridge for research; give credit to the Olivetti "
    "Research Laboratory, and cite F. Samaria and A. Harter, Parameterisation of a stochastic model for human face "
    "identification, 1994."
)
YALE_TERMS = (
    "The Yale faces are free for research; cite P. Belhumeur, J. Hespanha and D. Kriegman, Eigenfaces vs. Fisherfaces, "
    "1997. Yale does not permit its images to be made part of a larger data set that is then given to the public: do not "
    "publish these files."
)
COIL_TERMS = (
    "COIL-20 is available for research; cite S. Nene, S. Nayar and H. Murase, Columbia Object Image Library (COIL-20), "
    "technical report CUCS-005-96, 1996."
)
UCI_TERMS = "From the UCI Machine Learning Repository; its page of the set says on what terms and whom to cite."


@dataclass(frozen=True)
class Source:
    """Files to download, by the name under which the converter finds them, and the converter's name."""

    converter: str
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One set: shape and class counts, checksums of its content, source, terms.

    `checksum` is over X (float64) and y (int64) in order, `rows` over the rows with their labels in any order.
    """

    name: str
    title: str
    shape: tuple[int, int]
    counts: tuple[int, ...]
    checksum: str
    rows: str
    source: Source
    terms: str
    by_hand: str
    image_shape: tuple[int, int] | None = None


def entry(name: Any) -> Entry:
    """The set of that name; "Hayes-Roth", "hayes_roth" and "HayesRoth" are the same."""
    wanted = re.sub(r"[^a-z0-9]", "", name.lower()) if isinstance(name, str) else None
    for found in CATALOG:
        if wanted in (re.sub(r"[^a-z0-9]", "", found.name), re.sub(r"[^a-z0-9]", "", found.title.lower())):
            return found
    raise InputError(f"data set {name!r} is not known; known are {', '.join(found.name for found in CATALOG)}")


def names() -> tuple[str, ...]:
    """The names of all sets, in the order of the paper."""
    return tuple(found.name for found in CATALOG)


CATALOG: tuple[Entry, ...] = (
    Entry(
        "spectf",
        "SPECTF",
        (267, 44),
        (55, 212),
        "7df381dcdca5ae95eb81e1be1ede6d13688ff27addb9d5e11d9f6c941dc40a07",
        "5c4babffabdf792986a9fba576dacf7809bd85c85ba6e60f0d01c70efe3d89ed",
        Source("spectf", {"train": f"{_UCI}/spect/SPECTF.train", "test": f"{_UCI}/spect/SPECTF.test"}),
        UCI_TERMS,
        "UCI's set SPECTF Heart: SPECTF.train (80 rows) and SPECTF.test (187 rows)",
    ),
    Entry(
        "wine",
        "Wine",
        (178, 13),
        (59, 71, 48),
        "3a28849ef2366c4b9d4e382b3fa5624a66f693c04d7fdcf43c529bbb0bb338d7",
        "00cc58ddd790adbd85dc92bc2405d690bb770ddf9be3bb6127966f92c6ea5ec2",
        Source("wine"),
        UCI_TERMS,
        "scikit-learn brings it: sklearn.datasets.load_wine",
    ),
    Entry(
        "pima",
        "Pima",
        (768, 8),
        (500, 268),
        "193eceed7fa7e7b51b8f347b2b7be385c5d2725b7de4e4c040080c30d7f614da",
        "ffaabf34874668dcba0b993a8e003fc1ea0ae2234c4e98af6dbc392b08933135",
        Source(
            "pima", {"data": "https://raw.githubusercontent.com/jbrownlee/Datasets/master/pima-indians-diabetes.csv"}
        ),
        UCI_TERMS,
        "the Pima Indians Diabetes table, 768 rows, the class in the last of nine columns",
    ),
    Entry(
        "hayes_roth",
        "Hayes-Roth",
        (160, 4),
        (65, 64, 31),
        "8fd5a8057e258953ceeea5098702493b0424fdf79097f945f5456536fea2c67e",
        "1b8ee67007a2c37166c3f5ac430b14ec724e39c909aea1e9d8ca017226de1c18",
        Source(
            "hayes_roth", {"train": f"{_UCI}/hayes-roth/hayes-roth.data", "test": f"{_UCI}/hayes-roth/hayes-roth.test"}
        ),
        UCI_TERMS,
        "UCI's set Hayes-Roth: hayes-roth.data (132 rows) and hayes-roth.test (28 rows)",
    ),
    Entry(
        "iris",
        "Iris",
        (150, 4),
        (50, 50, 50),
        "d2712b028401f0400cb671cb99d85387a1c721d41262f30ecb7b90f029d20a90",
        "ffbfd918e2c5371c23ee71c5c5adb5a102cca03799c16de1f6e2220fcfb73abd",
        Source("iris"),
        UCI_TERMS,
        "scikit-learn brings it: sklearn.datasets.load_iris; UCI's file differs in two rows",
    ),
    Entry(
        "bupa",
        "BUPA",
        (345, 6),
        (145, 200),
        "47cb7f59216e7e46868daa3a9f05ac789222f3f0468a7e4b147f8ecbfa2eb6c5",
        "2fa31f2e26f58931a98ba95419681c1a479ea6de9a2c4aa1418842afd9f4afb4",
        Source("bupa", {"data": f"{_UCI}/liver-disorders/bupa.data"}),
        UCI_TERMS,
        "UCI's set Liver Disorders: bupa.data (345 rows)",
    ),
    Entry(
        "leukemia",
        "Leukemia",
        (72, 7129),
        (47, 25),
        "14b7661ebbf184112c0814c53df7dcbb8969512ce65b985c32f0d3945bbb0abe",
        "fc6a14514f0fb2d50abe8418b78626ab7b62443d8da48b160cd2b8f53eb6ca5a",
        Source(
            "leukemia",
            {
                part: f"{_MICROARRAY}/60f0d63c5eab1c10e532ca14ef48f63569c25911/data/golub-leukemia/golub-{part}.csv"
                for part in ("train", "test")
            },
        ),
        "Cite T. Golub and others, Molecular classification of cancer, Science, 1999.",
        "Bioconductor's golubEsets, or golub-train.csv and golub-test.csv in the history of ramhiser/datamicroarray",
    ),
    Entry(
        "lung",
        "Lung",
        (181, 12533),
        (150, 31),
        "ad55d3885a6698f5987fa9664c3f1911e7b63c24e728c72f8986f9adc60ce352",
        "ced8736632bb2cb8ae1045c41b2a5f4c52f8f5813f5de2e3dfa292710e9c2d36",
        Source("lung", {"data": f"{_MICROARRAY}/2e2744358ccedb28e1e184959e1e488c6f011da1/data/gordon.RData"}),
        "Cite G. Gordon and others, Translation of microarray data into clinically relevant cancer diagnostic tests, 2002.",
        "gordon.RData of ramhiser/datamicroarray",
    ),
    Entry(
        "orl",
        "ORL",
        (400, 10304),
        (10,) * 40,
        "dff1365d3ad11ccf5e5a9d08b4967d2f910454346a80258c5fcc38aadadd7308",
        "e0e5b413a1d962626a3bcee75807383626dae574d186ef36d008164bd2b0c743",
        Source("orl", {"zip": "https://www.cl.cam.ac.uk/Research/DTG/attarchive/pub/data/att_faces.zip"}),
        ORL_TERMS,
        "att_faces.zip, with s1/1.pgm to s40/10.pgm",
        (112, 92),
    ),
    Entry(
        "orl_32x32",
        "ORL 32 x 32",
        (400, 1024),
        (10,) * 40,
        "ecf810e5e3681bf8d81b57872716232404d63f07ccb0baac6ac563e63005fb5a",
        "f5a4f333445751e6a5290d6d2d48d07eaf7043bbb80f62599db16d3d02c1b269",
        Source("matlab", {"data": f"{_CAI}/ORL/ORL_32x32.mat"}),
        ORL_TERMS,
        "Deng Cai's ORL_32x32.mat",
        (32, 32),
    ),
    Entry(
        "yale",
        "Yale",
        (165, 1024),
        (11,) * 15,
        "031814750b3de8cfb03c6bd7e082a7adf6b335221a19fba4fd91579008e47545",
        "f3b6e4bb21ebe0f92418400c8a90ac4eb2a8b7ba4dc63958887bbadb1b19563d",
        Source("matlab", {"data": f"{_CAI}/Yale/Yale_32x32.mat"}),
        YALE_TERMS,
        "Deng Cai's Yale_32x32.mat",
        (32, 32),
    ),
    Entry(
        "yale_64x64",
        "Yale 64 x 64",
        (165, 4096),
        (11,) * 15,
        "cdf4475aec30712cd7225f8a5e16ac5e3af833723e281ea5fdb9252e24206e14",
        "a37e2844cec9728428a4aaa3a25ce48af60c47fdef7be23bb6b5a7458c26165e",
        Source("matlab", {"data": f"{_CAI}/Yale/Yale_64x64.mat"}),
        YALE_TERMS,
        "Deng Cai's Yale_64x64.mat",
        (64, 64),
    ),
    Entry(
        "coil20",
        "COIL-20",
        (1440, 1024),
        (72,) * 20,
        "02eca804f7db74b2ae84a163f8b9c5804d629e832503c2e1a47b63c4d49e6d20",
        "9ccd5562ef7f95e64805153452e818aee0c688102a610f3c275514dae6d43934",
        Source("matlab", {"data": f"{_CAI}/COIL20/COIL20.mat"}),
        COIL_TERMS,
        "Deng Cai's COIL20.mat",
        (32, 32),
    ),
    Entry(
        "alphadigits",
        "Alphadigits",
        (1404, 320),
        (39,) * 36,
        "1f25fedf233e1ba701c375c760b014b355ce83a8a7a9ac9ec01a928b227939a7",
        "19d291ad4076b2fbfb486f45354aaebc89ab6c5df8aa5494a0c7b316dad50761",
        Source("alphadigits", {"data": "https://cs.nyu.edu/~roweis/data/binaryalphadigs.mat"}),
        "Sam Roweis's Binary Alphadigits; no terms are stated.",
        "binaryalphadigs.mat from the pages of Sam Roweis",
        (20, 16),
    ),
)
