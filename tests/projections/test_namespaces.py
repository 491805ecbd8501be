"""The projections on arrays of other libraries: same answers, in kind, in their precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies import blocks, gaussian, minus_distances, random, zero_diagonal

from ldssc.projections import (
    center,
    eigenvalues,
    eigh,
    gram,
    namespace,
    project_doubly_stochastic,
    project_semidefinite,
    row_shift,
    split,
    spread,
    uniform,
)

N = 30
KINDS = [random, gaussian, zero_diagonal, blocks, minus_distances]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
options = pytest.mark.parametrize(("weighted", "trace"), [(False, None), (True, None), (False, 4.5), (True, 4.5)])
libraries = pytest.mark.parametrize("library", ["torch", "array_api_strict"])


class Kind:
    """Arrays of one library, in one precision."""

    def __init__(self, library: str, precision: str) -> None:
        self.library = pytest.importorskip(library)
        self.precision = precision

    def __call__(self, A: np.ndarray) -> Any:
        return self.library.asarray(A, dtype=getattr(self.library, self.precision))

    def back(self, A: Any) -> np.ndarray:
        """As NumPy, after a look at what it is."""
        assert isinstance(A, type(self(np.zeros(1))))
        assert A.dtype == getattr(self.library, self.precision)
        return np.asarray(A, dtype=np.float64)


def weights(weighted: bool) -> np.ndarray | None:
    return np.exp(0.3 * np.random.default_rng(5).normal(size=N)) if weighted else None


@libraries
@kinds
@options
def test_other_arrays_in_float64_give_the_answer_of_numpy(
    library: str, kind: Any, weighted: bool, trace: float | None
) -> None:
    to, A, s = Kind(library, "float64"), kind(np.random.default_rng(3), N), weights(weighted)
    their_s = None if s is None else to(s)
    scale = 1e-11 * (1 + np.linalg.norm(A))
    ours, theirs = (
        project_doubly_stochastic(A, s=s, trace=trace),
        project_doubly_stochastic(to(A), None, their_s, trace),
    )
    np.testing.assert_allclose(to.back(theirs.F), ours.F, atol=scale)
    again = project_doubly_stochastic(to(A), theirs.u, their_s, trace, theirs.tau)
    assert again.steps <= 1
    np.testing.assert_allclose(to.back(again.F), ours.F, atol=scale)
    ours_psd, theirs_psd = project_semidefinite(A, s=s, trace=trace), project_semidefinite(to(A), eigh, their_s, trace)
    np.testing.assert_allclose(to.back(theirs_psd.F), ours_psd.F, atol=scale)
    np.testing.assert_allclose(to.back(theirs_psd.Z), ours_psd.Z, atol=scale)
    np.testing.assert_allclose(to.back(theirs_psd.u), ours_psd.u, atol=scale)
    assert theirs_psd.tau == pytest.approx(ours_psd.tau, abs=scale)


@libraries
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_small_functions_answer_in_kind(library: str, precision: str, weighted: bool) -> None:
    to, A, s = Kind(library, precision), random(np.random.default_rng(0), N), weights(weighted)
    B, t = to(A), None if s is None else to(s)
    near = {"atol": 1e-12 if precision == "float64" else 1e-4}
    np.testing.assert_allclose(to.back(center(B, t)), center(A, s), **near)
    np.testing.assert_allclose(to.back(row_shift(B, t)), row_shift(A, s), **near)
    np.testing.assert_allclose(to.back(spread(B[0, :], t)), spread(A[0], s), **near)
    np.testing.assert_allclose(to.back(uniform(N, t, B)), uniform(N, s), **near)
    np.testing.assert_allclose(to.back(gram(B)), gram(A), **near)
    np.testing.assert_allclose(to.back(eigenvalues(B)), eigenvalues(A), **near)
    w, U = eigh(B)
    np.testing.assert_allclose(to.back(U) * to.back(w) @ to.back(U).T, A, **near)
    for sign in (1, -1):
        for shift in (0, 40):
            C = sign * A + shift * np.eye(N)
            for theirs, ours in zip(split(to(C)), split(C), strict=True):
                np.testing.assert_allclose(to.back(theirs), ours, **near)


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@kinds
@options
def test_float32_costs_no_more_than_the_rounding_of_A(
    library: str, kind: Any, weighted: bool, trace: float | None
) -> None:
    """Π_D does not expand: rounding A to float32 moves the answer by at most ‖A‖·2⁻²⁴, and rows are off by as little."""
    to, A, s = Kind(library, "float32"), kind(np.random.default_rng(3), N), weights(weighted)
    their_s = None if s is None else to(s)
    exact = project_doubly_stochastic(A, s=s, trace=trace)
    F, u, _, tau = project_doubly_stochastic(to(A), None, their_s, trace)
    reach = np.abs(A).max() + np.abs(exact.u).max() + abs(exact.tau) + 1
    cost = 8 * N * 2.0**-24 * reach
    assert np.linalg.norm(to.back(F) - exact.F) <= cost
    weight = np.ones(N) if s is None else s
    np.testing.assert_allclose(to.back(F) @ weight, weight, atol=cost)
    to.back(u)
    P = project_semidefinite(to(A), eigh, their_s, trace)
    near = project_semidefinite(A, s=s, trace=trace)
    assert np.linalg.norm(to.back(P.F) - near.F) <= 8 * N * 2.0**-24 * (1 + np.linalg.norm(A))
    to.back(P.Z)
    assert isinstance(tau, float)


def test_namespace_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError):
        namespace([1.0])
