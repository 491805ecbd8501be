"""The k leading eigenvectors: right, checked, with fixed signs, and honest about what is arbitrary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from ldssc import embedding
from ldssc.embedding import fix_signs, robust_svd, spectral_embedding
from ldssc.exceptions import InputError


def blocks(*sizes: int) -> np.ndarray:
    """Block diagonal, each block constant with rows that sum to one."""
    return np.asarray(linalg.block_diag(*[np.full((m, m), 1 / m) for m in sizes]))


def symmetric(n: int, seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


DEGENERATE = {
    "identity": np.eye(7),
    "zero": np.zeros((5, 5)),
    "constant": np.full((6, 6), 1 / 6),
    "blocks": blocks(3, 3, 2),
    "reflection": np.eye(6) - np.full((6, 6), 1 / 3),
    "cycle": (np.roll(np.eye(9), 1, axis=0) + np.roll(np.eye(9), -1, axis=0)) / 2,
    "rank one, tiny": 1e-200 * np.ones((4, 4)),
    "wide range": np.diag([1e100, 1.0, 1e-100, 0.0]),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_pairs_are_leading_eigenpairs_of_degenerate_matrices(name: str, k: int) -> None:
    F = DEGENERATE[name]
    found = spectral_embedding(F, k)
    scale = max(np.abs(F).sum(axis=1).max(), 1e-300)
    np.testing.assert_allclose(found.values / scale, np.linalg.eigvalsh(F)[::-1][:k] / scale, atol=1e-13)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(F @ found.vectors / scale, found.vectors * found.values / scale, atol=1e-13)
    assert found.residual <= 1e-13


@given(st.integers(1, 12), st.integers(0, 10_000), st.data())
@settings(deadline=None, max_examples=40)
def test_trace_is_the_sum_of_the_k_largest_eigenvalues(n: int, seed: int, data: st.DataObject) -> None:
    F = symmetric(n, seed)
    k = data.draw(st.integers(1, n))
    found = spectral_embedding(F, k)
    assert np.trace(found.vectors.T @ F @ found.vectors) == pytest.approx(np.linalg.eigvalsh(F)[-k:].sum(), abs=1e-11)
    assert (np.diff(found.values) <= 0).all()


def test_residual_is_that_of_the_returned_vectors() -> None:
    F = symmetric(30, 0)
    found = spectral_embedding(F, 5)
    errors = np.linalg.norm(F @ found.vectors - found.vectors * found.values, axis=0)
    assert errors.max() / np.linalg.norm(F, np.inf) <= max(2 * found.residual, 1e-16)


def test_signs_do_not_depend_on_the_solver() -> None:
    F = symmetric(20, 1)
    _, vectors = np.linalg.eigh(F)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 3)
    np.testing.assert_allclose(spectral_embedding(F, 3).vectors, fix_signs(vectors[:, ::-1][:, :3] * signs), atol=1e-12)


def test_a_tie_in_magnitude_makes_the_first_entry_positive() -> None:
    V = np.array([[-1.0, 0.1], [1.0 + 1e-12, -3.0], [0.0, 3.0 - 1e-12]])
    np.testing.assert_array_equal(fix_signs(V), V * [-1, -1])
    np.testing.assert_array_equal(fix_signs(np.zeros((3, 2))), np.zeros((3, 2)))


def test_permuting_the_points_permutes_the_rows() -> None:
    F = symmetric(15, 2)
    order = np.random.default_rng(0).permutation(15)
    found, permuted = spectral_embedding(F, 4), spectral_embedding(F[np.ix_(order, order)], 4)
    np.testing.assert_allclose(permuted.vectors, found.vectors[order], atol=1e-12)


@pytest.mark.parametrize(("k", "said"), [(2, True), (4, True), (5, False), (6, False)])
def test_more_parts_than_clusters_is_said_with_their_number(k: int, said: bool) -> None:
    found = spectral_embedding(blocks(5, 4, 3, 2, 2), k)
    assert found.n_ones == 5
    assert ("F has 5 eigenvalues equal to one, more than the" in found.message) == said
    if said:
        assert f"more than the {k} eigenvectors asked for: its graph falls into 5 parts" in found.message


@pytest.mark.parametrize(("link", "parts"), [(1e-16, 2), (1e-6, 1)])
def test_parts_are_counted_through_rounding_but_a_weak_link_joins_them(link: float, parts: int) -> None:
    F = blocks(2, 2)
    F[1, 2] = F[2, 1] = link
    F[[1, 2], [1, 2]] -= link  # rows still sum to one
    assert spectral_embedding(F, 1).n_ones == parts


def test_an_iterate_with_inexact_rows_still_counts() -> None:
    F = blocks(3, 3, 3) * (1 - 3e-7)
    assert spectral_embedding(F, 2).n_ones == 3
    assert "3 parts" in spectral_embedding(F, 2).message


def test_no_parts_are_claimed_where_rows_do_not_sum_to_one() -> None:
    assert spectral_embedding(np.diag([1.0, 1.0, 0.5]), 1).n_ones == 0
    assert spectral_embedding(np.diag([1.0, 1.0, 1.0]), 3).n_ones == 3


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ones_below_the_leading_eigenvalues_are_counted(k: int) -> None:
    F = np.kron(np.eye(2), np.array([[2.0, -1.0], [-1.0, 2.0]]))  # rows sum to one, eigenvalues 3, 3, 1, 1
    assert spectral_embedding(F, k).n_ones == 2


def test_an_equal_next_eigenvalue_is_said() -> None:
    assert "eigenvalues 2 and 3 of F are equal within rounding" in spectral_embedding(np.full((4, 4), 0.25), 2).message
    assert spectral_embedding(np.diag([3.0, 2.0, 1.0]), 2).message == ""
    assert spectral_embedding(np.eye(3), 3).message == ""


def test_a_failing_lapack_driver_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    real = embedding._eigh

    def first_two_fail(F: Any, k: int, driver: Any) -> Any:
        if driver == "evr":
            raise linalg.LinAlgError("did not converge")
        values, vectors = real(F, k, driver)
        return (values + 1.0, vectors) if driver == "evd" else (values, vectors)

    monkeypatch.setattr(embedding, "_eigh", first_two_fail)
    F = symmetric(8, 3)
    np.testing.assert_allclose(spectral_embedding(F, 3).values, np.linalg.eigvalsh(F)[::-1][:3], atol=1e-12)


@pytest.mark.parametrize("fault", ["values", "repeated"])
def test_wrong_or_repeated_vectors_are_never_returned(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    real = embedding._eigh

    def wrong(F: Any, k: int, driver: Any) -> Any:
        values, vectors = real(F, k, driver)
        return (values + 1e-6, vectors) if fault == "values" else (values[[0] * k], vectors[:, [0] * k])

    monkeypatch.setattr(embedding, "_eigh", wrong)
    with pytest.raises(linalg.LinAlgError, match="no LAPACK driver finds the 3 leading eigenvectors of F to rounding"):
        spectral_embedding(symmetric(8, 4), 2)


def test_svd_falls_back_to_the_slower_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    real = linalg.svd

    def fails(A: Any, *, lapack_driver: str, **options: Any) -> Any:
        if lapack_driver == "gesdd":
            raise linalg.LinAlgError("SVD did not converge")
        return real(A, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(embedding.linalg, "svd", fails)
    A = np.random.default_rng(0).standard_normal((5, 3))
    U, s, Vt = robust_svd(A)
    np.testing.assert_allclose(U * s @ Vt, A, atol=1e-13)


@pytest.mark.parametrize(
    ("F", "k", "sentence"),
    [
        (np.eye(3), 0, "n_components must be at least 1, and is 0"),
        (np.eye(3), 4, "n_components=4 is more than the number of rows of F, 3"),
        (np.eye(3), 1.5, "n_components must be a whole number, and is 1.5"),
        (np.ones((2, 3)), 1, r"F must be square, and has shape \(2, 3\)"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), 1, "F is not symmetric"),
        (np.array([[np.nan]]), 1, r"F has 1 entries that are NaN or infinite, the first at \[0, 0\]"),
        (np.full((2, 2), 1e200), 1, r"F has entries as large as 1e\+200, whose squares overflow; divide F"),
    ],
)
def test_bad_input_is_named(F: Any, k: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        spectral_embedding(F, k)


@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("k", [2, 3])
def test_a_graph_in_hundreds_of_parts_is_embedded_and_said(n: int, k: int) -> None:
    """Where nearly all eigenvalues are one, LAPACK's subset driver returns fewer pairs than it is asked for."""
    rng = np.random.default_rng(n)
    F = np.eye(n)
    for i in range(0, 6, 2):
        F[i : i + 2, i : i + 2] = 0.5
    order = rng.permutation(n)
    found = spectral_embedding(F[np.ix_(order, order)], k)
    assert found.vectors.shape == (n, k)
    assert found.n_ones == n - 3
    assert f"falls into {n - 3} parts" in found.message
