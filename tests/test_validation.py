"""Bad input: one clear sentence that says what is wrong, where, and what to do; good input of any type is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from strategies import SEEDS, random, symmetric_matrices

from ldssc import memory
from ldssc.certificate import certify
from ldssc.exceptions import InputError, MissingExtraError, NotEnoughMemoryError, require
from ldssc.normalization import NORMALIZATIONS, normalize
from ldssc.solvers import project
from ldssc.validation import as_matrix, check_affinity, check_choice, check_count, check_positive

Array = np.ndarray[Any, np.dtype[np.float64]]
K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 1.0]])
ENTRANCES = {
    "project": project,
    "certify": lambda A: certify(np.eye(3), A),
    **{name: (lambda A, name=name: normalize(A, name)) for name in NORMALIZATIONS},
}
everywhere = pytest.mark.parametrize("entrance", ENTRANCES.values(), ids=ENTRANCES.keys())


def with_entry(value: Any, i: int = 1, j: int = 2) -> Array:
    A = K.copy()
    A[i, j] = A[j, i] = value
    return A


BAD = {
    "nan": (with_entry(np.nan), r"K has 2 entries that are NaN or infinite, the first at \[1, 2\] \(nan\); remove"),
    "infinity": (with_entry(-np.inf, 0, 0), r"K has 1 entries that are NaN or infinite, the first at \[0, 0\]"),
    "not square": (K[:2], r"K must be square, and has shape \(2, 3\)"),
    "one dimension": (K[0], r"K must have two dimensions, and has 1 \(shape \(3,\)\)"),
    "scalar": (3.0, r"K must have two dimensions, and has 0"),
    "three dimensions": (K[None], r"K must have two dimensions, and has 3"),
    "asymmetric": (K + np.eye(3, k=1) * 0.25, r"K is not symmetric: .*K\^T\| is 0.25, at \[0, 1\]; pass \(K \+ K.T\)"),
    "complex": (K.astype(complex), r"K is complex \(dtype complex128\); pass its real part"),
    "empty": (np.zeros((0, 0)), r"K is empty \(0 x 0\); at least one row"),
    "empty list": ([], r"K must have two dimensions"),
    "strings": (np.full((3, 3), "a"), r"K holds values that are not numbers"),
    "objects": (np.full((3, 3), None), r"K has 9 entries that are NaN|K holds values that are not numbers"),
    "dates": (np.full((3, 3), "2020-01-01", dtype="datetime64[D]"), r"K holds dates or times .*not numbers"),
    "ragged": ([[1.0, 2.0], [1.0]], r"K is not a table of numbers"),
    "huge": (K * 1e300, r"K has entries as large as 1e\+300; .*divide K by its largest entry"),
    "overflow of the sum": (K * 1.7e308, r"K has entries as large as 1.7e\+308"),
}


@everywhere
@pytest.mark.parametrize(("value", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_matrix_is_refused_with_one_sentence(entrance: Any, value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        entrance(value)
    assert "\n" not in str(caught.value)


GOOD = {
    "list": [[2, 1, 0], [1, 2, 1], [0, 1, 2]],
    "integer": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]]),
    "unsigned": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=np.uint8),
    "float16": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=np.float16),
    "float32": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=np.float32),
    "longdouble": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=np.longdouble),
    "big endian": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=">f8"),
    "objects": np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype=object),
    "Fortran order": np.asfortranarray([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]]),
    "strided": np.repeat(np.repeat([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]], 2, axis=0), 2, axis=1)[::2, ::2],
    "sparse": sparse.csr_array(np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])),
    "old sparse": sparse.coo_matrix(np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])),
    "rounding-level asymmetry": np.array([[2.0, 1, 0], [1 + 1e-15, 2, 1], [0, 1 - 1e-12, 2]]),
}


@everywhere
@pytest.mark.parametrize("value", GOOD.values(), ids=GOOD.keys())
def test_every_real_type_is_taken_and_means_the_same(entrance: Any, value: Any) -> None:
    expected, found = entrance(np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])), entrance(value)
    if hasattr(found, "F"):
        expected, found = expected.F, found.F
    if isinstance(found, np.ndarray):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_boolean_matrix_is_a_graph() -> None:
    A = np.array([[True, True], [True, False]])
    np.testing.assert_allclose(project(A).F, project(A.astype(float)).F, atol=1e-9)
    np.testing.assert_array_equal(normalize(A, "none"), A.astype(float))


@everywhere
def test_input_is_never_changed_nor_returned(entrance: Any) -> None:
    A = K.copy()
    answer = entrance(A)
    np.testing.assert_array_equal(A, K)
    answer = getattr(answer, "F", answer)
    assert not isinstance(answer, np.ndarray) or not np.shares_memory(answer, A)


def test_read_only_input_is_taken() -> None:
    A = K.copy()
    A.setflags(write=False)
    assert project(A).solved
    for name in NORMALIZATIONS:
        normalize(A, name)


@settings(max_examples=30)
@given(symmetric_matrices(), SEEDS)
def test_rounding_level_asymmetry_is_averaged_away(A: Array, seed: int) -> None:
    wobble = 1e-9 * np.abs(A).max() * np.clip(np.random.default_rng(seed).normal(size=A.shape), -3, 3)
    repaired = check_affinity(A + wobble)
    np.testing.assert_array_equal(repaired, repaired.T)
    np.testing.assert_allclose(repaired, A + (wobble + wobble.T) / 2, rtol=1e-15, atol=1e-15 * np.abs(A).max())


def test_asymmetry_is_relative_to_the_size_of_the_matrix() -> None:
    check_affinity(1e6 * K + 1e-4 * np.eye(3, k=1))
    with pytest.raises(InputError, match="not symmetric"):
        check_affinity(1e-6 * K + 1e-12 * np.eye(3, k=1))


def test_one_point_gives_the_only_answer() -> None:
    for value in (-3.0, 0.0, 1.0, 1e-300, 1e6, 1e12):
        result = project([[value]])
        assert result.solved or value == 1e12
        np.testing.assert_array_equal(result.F, [[1.0]])
    np.testing.assert_array_equal(normalize([[5.0]], "sinkhorn"), [[1.0]])
    np.testing.assert_array_equal(normalize([[5.0]], "frobenius"), [[1.0]])


@pytest.mark.parametrize("value", [-2.0, 0.0, 0.1, 1.0, 1e4, 1e12, 1e-300])
@pytest.mark.parametrize("n", [2, 5, 12])
def test_constant_matrix_gives_the_constant_answer(value: float, n: int) -> None:
    """(16) with α = 0."""
    result = project(np.full((n, n), value), tol=1e-4)
    assert np.abs(result.F - 1 / n).max() <= max(1e-13, 1e-15 * abs(value))
    if abs(value) <= 1e4:
        assert result.solved


@pytest.mark.parametrize("solver", ["auto", "ld-ssc1", "ld-ssc2"])
def test_entries_of_1e_minus_300_are_no_difficulty(solver: str) -> None:
    result = project(K * 1e-300, solver=solver)
    assert result.solved
    np.testing.assert_allclose(result.F, 1 / 3, atol=1e-8)


def test_all_zero_row_is_taken_where_nothing_is_divided() -> None:
    A = np.zeros((4, 4))
    A[:3, :3] = K
    assert project(A, tol=1e-3).solved
    for name in ("none", "ratio-cut", "frobenius", "frobenius-successive"):
        assert np.isfinite(normalize(A, name)).all()


@pytest.mark.parametrize("name", ["normalized-cut", "sinkhorn"])
def test_all_zero_row_is_named_where_it_would_be_divided_by(name: str) -> None:
    A = np.zeros((5, 5))
    A[1:4, 1:4] = K
    with pytest.raises(InputError, match=r"2 rows of K are all zero, the first is row 0; remove .* self-loop, or use"):
        normalize(A, name)


@pytest.mark.parametrize("name", ["ratio-cut", "normalized-cut", "sinkhorn"])
def test_negative_affinities_are_refused_where_they_make_no_sense(name: str) -> None:
    with pytest.raises(
        InputError, match=r"K has negative entries, the lowest -0.125 at \[1, 2\]; .* needs affinities >= 0"
    ):
        normalize(with_entry(-0.125), name)


@pytest.mark.parametrize("name", ["none", "frobenius", "frobenius-successive", "semidefinite"])
def test_negative_affinities_are_taken_elsewhere(name: str) -> None:
    normalize(with_entry(-0.125), name)


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(
        InputError,
        match=r"solver='sdpt3' is not known; valid names: accelerated, auto, conic, ld-ssc1, ld-ssc2, newton, splitting",
    ):
        project(K, solver="sdpt3")
    with pytest.raises(InputError, match=r"normalization='fsc' is not known; valid names: frobenius, .*, sinkhorn"):
        normalize(K, "fsc")
    with pytest.raises(InputError, match=r"solver=None is not known"):
        project(K, solver=None)  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match=r"solver \(with paper=True\)='auto' is not known; valid names: ld-ssc1, ld-ssc2"
    ):
        project(K, paper=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tol": 0}, "tol must be a number > 0, and is 0"),
        ({"tol": -1e-3}, "tol must be a number > 0, and is -0.001"),
        ({"tol": np.nan}, "tol must be a number > 0, and is nan"),
        ({"tol": "small"}, "tol must be a number > 0, and is 'small'"),
        ({"tol": True}, "tol must be a number > 0, and is True"),
        ({"max_iter": 0}, "max_iter must be at least 1, and is 0"),
        ({"max_iter": 2.5}, "max_iter must be a whole number, and is 2.5"),
        ({"max_iter": True}, "max_iter must be a whole number, and is True"),
        ({"time_limit": 0}, "time_limit must be a number > 0, and is 0"),
        ({"time_limit": -1}, "time_limit must be a number > 0, and is -1"),
        ({"time_limit": np.inf}, "time_limit must be a number > 0, and is inf"),
    ],
)
def test_bad_option_is_refused_with_its_name(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        project(K, **options)


def test_options_of_normalisations_are_checked() -> None:
    for name, options in [
        ("sinkhorn", {"tol": -1}),
        ("sinkhorn", {"max_iter": 0}),
        ("frobenius-successive", {"n_steps": -1}),
        ("semidefinite", {"tol": 0}),
    ]:
        with pytest.raises(InputError, match=next(iter(options))):
            normalize(K, name, **options)


def test_a_sparse_matrix_that_would_not_fit_is_refused_before_it_is_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    with pytest.raises(NotEnoughMemoryError, match=r"K as a dense array needs about 745 GiB of memory and 977 KiB are"):
        project(sparse.eye_array(316_228, format="csr"))


def test_a_sparse_vector_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        InputError, match=r"K must have two dimensions, and has 1|K must be square"
    ):  # SciPy 1.12 makes a row of it
        project(sparse.coo_array(np.ones(4)))


def test_a_masked_array_with_masked_entries_is_not_taken_for_its_data() -> None:
    masked = np.ma.masked_array(K, mask=np.eye(3, dtype=bool))
    with pytest.raises(InputError, match="K"):
        project(masked)


def test_small_helpers_accept_what_is_right() -> None:
    assert check_choice("a", "x", {"a", "b"}) == "a"
    assert check_positive(0, "x", zero=True) == 0
    assert check_positive(np.float32(0.5), "x") == 0.5
    assert check_count(np.int64(3), "x", high=3) == 3
    with pytest.raises(InputError, match="k=4 is more than the number of rows, 3"):
        check_count(4, "k", high=3, high_name="the number of rows")
    with pytest.raises(InputError, match="x must be a number >= 0, and is -1"):
        check_positive(-1, "x", zero=True)
    view = random(np.random.default_rng(0), 3)
    assert as_matrix(view, "A") is view


def test_a_missing_extra_says_which_line_installs_it() -> None:
    with pytest.raises(MissingExtraError, match=r"this needs no_such_module, .* pip install 'ldssc\[conic\]'"):
        require("no_such_module.part", "conic")
    assert issubclass(MissingExtraError, ImportError)
    assert issubclass(InputError, ValueError)
    assert require("math", "conic").sqrt(4) == 2
