"""The certificate is never smaller than the true distance, for any matrix with any multipliers; and it is not idle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from auditor import audited_distance, rounding_of_auditor, true_distance
from exact.load import ExactCase, load_cases
from hypothesis import given, settings
from strategies import ORDINARY, SEEDS, random, random_feasible, symmetric_matrices

from ldssc.certificate import Certificate, certify, indefiniteness_of, prove
from ldssc.exceptions import InputError
from ldssc.problem import Point, Problem
from ldssc.projections import project_doubly_stochastic, project_semidefinite, spread


def make_feasible(F: Any, *lowest: float) -> Any:
    return Problem(F).make_feasible(F, *lowest)


Array = np.ndarray[Any, np.dtype[np.float64]]
CASES = load_cases()
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
examples = settings(max_examples=60)


def seed_of(case: ExactCase) -> int:
    return int(np.abs(case.K * 1e6).sum()) % 2**32


def alternating_projections(K: Array) -> Array:
    """What another tool may hand in: forty rounds, ended on the doubly stochastic side."""
    F = K
    for _ in range(40):
        F = project_doubly_stochastic(project_semidefinite(F).F).F
    return F


def matrices(case: ExactCase, rng: np.random.Generator) -> dict[str, Array]:
    """F* mixed, damaged in every condition and rounded; and matrices that have nothing to do with it."""
    n, F, E = len(case.K), case.F, random(rng, len(case.K))
    i, j = rng.integers(n, size=2)
    v = rng.normal(size=n)
    v /= np.linalg.norm(v)
    negative, rows = F.copy(), F.copy()
    negative[i, j] = negative[j, i] = -1e-9
    rows[i, i] += 1e-9
    return {
        "exact": F,
        **{f"mixed {t}": (1 - t) * F + t * random_feasible(rng, n) for t in (1e-12, 1e-6, 1e-2, 0.5)},
        "feasible": random_feasible(rng, n),
        "identity": np.eye(n),
        "flat": np.full((n, n), 1 / n),
        "alternating": alternating_projections(case.K),
        "negative entry": negative,
        "row off": rows,
        "indefinite": F - 1e-9 * np.outer(v, v),
        "noise 1e-9": F + 1e-9 * E,
        "noise 1e-3": F + 1e-3 * E,
        "float32": F.astype(np.float32).astype(float),
        "integer": np.rint(F),
        "scaled": 1e3 * F,
        "far": 1e6 * E,
        "K": case.K,
    }


def multipliers(case: ExactCase, rng: np.random.Generator) -> dict[str, tuple[Any, Any, Any]]:
    """The right ones, damaged ones, wrong ones, missing ones."""
    n, u, Q, Z, E = len(case.K), case.u, case.Q, case.Z, random(rng, len(case.K))
    V = rng.normal(size=(n, 2))
    return {
        "exact": (u, Q, Z),
        "zero": (np.zeros(n), np.zeros((n, n)), np.zeros((n, n))),
        "halved": (u / 2, Q / 2, Z / 2),
        "doubled": (2 * u, 2 * Q, 2 * Z),
        "negative Q": (u, Q - 1e-3, Z),
        "all of Q negative": (u, -Q - 1, Z),
        "indefinite Z": (u, Q, Z - 1e-3 * np.eye(n)),
        "barely indefinite Z": (u, Q, Z - 1e-12 * np.eye(n)),
        "negative Z": (u, Q, -Z - np.eye(n)),
        "wrong Z": (u, Q, 1e3 * (V @ V.T)),
        "huge u": (u + 1e8, Q, Z),
        "huge u of zero sum": (u + 1e8 * (np.arange(n) - (n - 1) / 2), Q, Z),
        # G is right although every part is huge: all of it is rounding and complementarity
        "huge u undone by Q": (u - 1e8, Q + 2e8, Z),
        "huge u undone by Z": (u - 1e8, Q, Z + 2e8),
        "huge Q undone by nothing": (u, Q + 1e8, Z),
        "asymmetric": (u, np.abs(Q + np.triu(E, 1)), Z + np.triu(E, 1)),
        "random": (E[0], np.abs(E), V @ V.T),
        "no u": (None, Q, Z),
        "no Q": (u, None, Z),
        "no Z": (u, Q, None),
        "only u": (u, None, None),
        "only Q": (None, Q, None),
        "only Z": (None, None, Z),
        "none": (None, None, None),
    }


def assert_not_smaller(claim: Certificate, F: Array, case: ExactCase, what: str) -> None:
    truth = true_distance(F, case.F, case.F_low)
    assert claim.distance >= truth, f"{what}: claimed {claim.distance}, true {truth}"


@by_name
def test_claim_is_never_smaller_than_the_true_distance_of_any_matrix(case: ExactCase) -> None:
    """Every F with four sets of multipliers; `-1e-9` entries, rows and eigenvalues are among them."""
    rng = np.random.default_rng(seed_of(case))
    known = multipliers(case, rng)
    for name, F in matrices(case, rng).items():
        for kind in ("exact", "zero", "wrong Z", "only Q"):
            assert_not_smaller(certify(F, case.K, *known[kind]), F, case, f"{name}, {kind}")


@by_name
def test_claim_is_never_smaller_than_the_true_distance_with_any_multipliers(case: ExactCase) -> None:
    rng = np.random.default_rng(seed_of(case) + 1)
    some = matrices(case, rng)
    for kind, given_ in multipliers(case, rng).items():
        for name in ("exact", "mixed 1e-06", "negative entry"):
            assert_not_smaller(certify(some[name], case.K, *given_), some[name], case, f"{name}, {kind}")


@by_name
def test_multipliers_made_to_fit_a_wrong_matrix_prove_nothing(case: ExactCase) -> None:
    """Q or Z may be chosen so that K + M + Q + Z = F and the inner products are negative: their signs tell."""
    rng = np.random.default_rng(seed_of(case) + 3)
    n, zero = len(case.K), np.zeros_like(case.K)
    for name, F in matrices(case, rng).items():
        for shift in (0.0, 1e4):
            u = np.full(n, shift)
            fit = F - case.K - spread(u)
            for given_ in ((u, fit, zero), (u, zero, fit)):
                assert_not_smaller(certify(F, case.K, *given_), F, case, f"{name}, {shift}")


@pytest.mark.parametrize("size", [1e-13, 1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("case", CASES[::10], ids=lambda case: case.name)
def test_an_asymmetric_matrix_is_as_far_as_its_asymmetry_or_refused(case: ExactCase, size: float) -> None:
    n = len(case.K)
    F = case.F + size * (np.triu(np.ones((n, n)), 1) - np.tril(np.ones((n, n)), -1))
    try:
        claim = certify(F, case.K, case.u, case.Q, case.Z)
    except InputError:
        return
    assert_not_smaller(claim, F, case, "asymmetric")


@by_name
def test_exact_answer_is_certified_to_rounding(case: ExactCase) -> None:
    """Rounding of size ε costs √ε times the root of the multipliers' size, and no more."""
    size = 1 + np.linalg.norm(case.Q) + np.linalg.norm(case.Z)
    claim = certify(case.F, case.K, case.u, case.Q, case.Z)
    assert claim.distance <= 1e-6 * np.sqrt(size)
    assert claim.row_sum <= 1e-15
    assert claim.negativity <= 1e-16
    assert claim.indefiniteness <= 1e-15
    assert claim.gap <= 1e-12 * size


@by_name
def test_a_missing_multiplier_is_found_from_the_other(case: ExactCase) -> None:
    size = 1 + np.linalg.norm(case.Q) + np.linalg.norm(case.Z)
    for given_, said in [
        ((case.u, None, case.Z), "u and Q are the best ones for Z"),
        ((None, None, case.Z), "u and Q are the best ones for Z"),
        ((case.u, case.Q, None), "u and Z are the best ones for Q"),
        ((None, case.Q, None), "u and Z are the best ones for Q"),
        ((None, case.Q, case.Z), "u fitted by least squares"),
    ]:
        claim = certify(case.F, case.K, *given_)
        assert claim.distance <= 1e-6 * np.sqrt(size)
        assert said in claim.note


def test_multipliers_that_are_all_missing_are_found_from_the_face_of_F() -> None:
    """As well as can be: three quarters of the exact answers are certified to 1e-3 without any multiplier."""
    distances = []
    for case in CASES:
        claim = certify(case.F, case.K)
        assert "Q and Z found from the face of F" in claim.note
        assert_not_smaller(claim, case.F, case, "none")
        distances.append(claim.distance)
    assert np.quantile(distances, 0.75) <= 1e-3


@by_name
def test_a_wrong_matrix_is_never_certified(case: ExactCase) -> None:
    """At tol 1e-6, with the right multipliers: nothing further than 1e-6 from F*, repaired or not."""
    rng = np.random.default_rng(seed_of(case) + 2)
    for name, F in matrices(case, rng).items():
        if true_distance(F, case.F, case.F_low) > 1e-6:
            assert certify(F, case.K, case.u, case.Q, case.Z).distance > 1e-6, name


@by_name
def test_measures_are_those_of_the_matrix_that_was_given(case: ExactCase) -> None:
    F = case.F + 1e-9 * random(np.random.default_rng(3), len(case.K))
    claim = certify(F, case.K, case.u, case.Q, case.Z)
    assert claim.row_sum == pytest.approx(np.abs(F.sum(axis=1) - 1).max(), rel=1e-5)
    assert claim.negativity == pytest.approx(max(0, -F.min()), rel=1e-9)
    assert claim.indefiniteness == pytest.approx(max(0, -np.linalg.eigvalsh(F)[0]), abs=1e-15)
    assert claim.distance >= 1e-10
    assert "F is not feasible: proven for a repaired matrix at distance" in claim.note


# --- on generated matrices, with an auditor from outside


@examples
@given(symmetric_matrices(ORDINARY), SEEDS)
def test_claim_for_a_feasible_matrix_is_12a_with_its_margins(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(K)
    F = 0.9 * random_feasible(rng, n) + 0.1 * np.eye(n)
    F = make_feasible(F)
    V = rng.normal(size=(n, 2))
    u, Q, Z = rng.normal(size=n), np.abs(random(rng, n)), (V @ V.T + (V @ V.T).T) / 2
    claim = certify(F, K, u, Q, Z)
    audit = audited_distance(F, K, u, Q, Z)
    assert audit * (1 - 1e-12) <= claim.distance <= audit * (1 + 1e-6)
    plain = audited_distance(F, K, u, Q, Z, dtype=float)
    assert plain <= 2 * claim.distance + rounding_of_auditor(F, K, u, Q, Z)
    primal = ((F - K) ** 2).sum() / 2
    assert claim.gap == pytest.approx(primal - Problem(K).dual_value(u, Q, Z), rel=1e-9)


@examples
@given(symmetric_matrices(ORDINARY), SEEDS)
def test_claim_holds_between_any_two_feasible_matrices_at_the_first_ones_projection(K: Array, seed: int) -> None:
    """F* is the solution for K' = F* + (normal vector): a problem of which the answer is known before it is posed.

    Q is any matrix ≥ 0 on the zeros of F*, Z any semidefinite one on its kernel, u anything.
    """
    rng = np.random.default_rng(seed)
    n = len(K)
    known = random_feasible(rng, n)
    known[known < 1e-3] = 0
    groups = rng.integers(0, max(1, n // 2), size=n)
    same = groups[:, None] == groups[None, :]
    known = same / same.sum(axis=1)
    N = np.eye(n) - known  # projector on its kernel
    Z = N @ np.abs(np.diag(rng.normal(size=n))) @ N
    Q = np.where(same, 0, np.abs(K))
    u = rng.normal(size=n)
    problem = known - spread(u) - Q - (Z + Z.T) / 2
    for F in (known, 0.999 * known + 0.001 * np.eye(n), random_feasible(rng, n), np.eye(n)):
        for given_ in ((u, Q, Z), (None, None, Z), (None, Q, None), (u + 0.1, 1.1 * Q, 0.9 * Z)):
            claim = certify(F, problem, *given_)
            rounding = 1e-15 * (1 + np.linalg.norm(problem))  # of the problem itself
            assert claim.distance >= np.linalg.norm(F - known) / np.linalg.norm(F) - rounding


def test_rows_that_are_off_are_paid_for_with_a_large_multiplier() -> None:
    """|2uᵀ(F1 − 1)| belongs to c: with u of 1e8, 1e-13 in a row counts, although F and Q are complementary."""
    F, n = np.eye(6), 6
    F[0, 0] += 1e-13
    u, Q, Z = np.full(n, -1e8), 2e8 * (1 - np.eye(n)), np.zeros((n, n))
    K = F - spread(u) - Q
    _, bound = prove(Problem(K), Point(F, u, Q, Z), 0.0)
    assert bound >= 0.99 * np.sqrt(2e8 * 1e-13)
    _, without = prove(Problem(K), Point(np.eye(n), u, Q, Z), 0.0)
    assert without <= 1e-6


def test_indefiniteness_of_Z_is_paid_for() -> None:
    """Z₋ of norm δ may hide δ‖F*‖ of the gap."""
    zero = np.zeros((3, 3))
    point = Point(np.full((3, 3), 1 / 3), np.zeros(3), zero, zero)
    without, with_ = (prove(Problem(point.F), point, size)[1] for size in (0.0, 1e-6))
    assert without <= 1e-8
    assert with_ >= 0.99e-3
    assert indefiniteness_of(np.diag([1.0, -2e-3, 0.0])) == pytest.approx(2e-3, rel=1e-6)
    assert indefiniteness_of(np.diag([1.0, -3e-3, -4e-3])) == pytest.approx(5e-3, rel=1e-6)
    assert 0 < indefiniteness_of(np.eye(3)) < 1e-13
    assert indefiniteness_of(zero) == 0


def test_what_was_done_to_bad_multipliers_is_said() -> None:
    K = np.eye(3)
    F = np.full((3, 3), 1 / 3)
    zero = np.zeros((3, 3))
    note = certify(F, K, np.zeros(3), zero - 0.5, np.diag([1.0, 1.0, -1.0])).note
    assert "Q had entries down to -5.0e-01, set to zero" in note
    assert "Z was not positive semidefinite: replaced by its semidefinite part" in note
    inside = (np.eye(3) + F) / 2
    assert certify(inside, K, np.zeros(3), zero, zero).note == ""


def test_certificate_reads_as_a_sentence() -> None:
    text = str(certify(np.eye(2), np.eye(2)))
    assert text.startswith("proven within ")
    assert "rows sum to one within" in text
    assert text.endswith("Q and Z found from the face of F; u and Q are the best ones for Z")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.eye(2), np.eye(3)), r"F has shape \(2, 2\) and K has \(3, 3\); they must be equal"),
        ((np.ones((3, 2)), np.eye(3)), r"F must be square, and has shape \(3, 2\)"),
        ((np.full((3, 3), np.nan), np.eye(3)), r"F has 9 entries that are NaN"),
        ((np.eye(3) * 1j, np.eye(3)), r"F is complex"),
        ((np.eye(3), np.eye(3), np.ones(2)), r"u must hold one number a row, 3 in all, and has shape \(2,\)"),
        ((np.eye(3), np.eye(3), [1, np.nan, 0]), r"u has 1 entries that are NaN or infinite, the first at \[1\]"),
        ((np.eye(3), np.eye(3), np.ones(3) * 1j), r"u"),
        ((np.eye(3), np.eye(3), ["a", "b", "c"]), r"u"),
        ((np.eye(3), np.eye(3), None, np.eye(2)), r"Q has shape \(2, 2\) and K has \(3, 3\)"),
        ((np.eye(3), np.eye(3), None, None, np.full((3, 3), np.inf)), r"Z has 9 entries that are NaN or infinite"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        certify(*arguments)


@pytest.mark.parametrize("scale", [1e20, 1e155, 1e300, 1.7e308])
@pytest.mark.parametrize("which", ["F", "u", "Q", "Z"])
def test_parts_of_any_size_give_a_claim_or_a_sentence_and_never_a_wrong_number(which: str, scale: float) -> None:
    case = next(case for case in CASES if case.rank and case.Q.any())
    parts = {"F": case.F, "K": case.K, "u": case.u, "Q": case.Q, "Z": case.Z}
    parts[which] = parts[which] * scale
    truth = true_distance(parts["F"], case.F, case.F_low)
    try:
        claim = certify(**parts)
    except InputError:
        return
    assert claim.distance >= truth


def test_zero_matrix_has_no_relative_distance() -> None:
    assert certify(np.zeros((3, 3)), np.eye(3)).distance == np.inf


def test_a_multiplier_of_a_trace_that_is_not_prescribed_is_refused() -> None:
    """Without the constraint, τ⟨I, F − F*⟩ does not vanish, and a shifted K would be certified."""
    zero = np.zeros((5, 5))
    with pytest.raises(InputError, match="no trace is prescribed"):
        certify(np.eye(5), zero, np.zeros(5), zero, zero, tau=1.0)


@pytest.mark.parametrize("tau", [float("nan"), float("inf"), "1", None])
def test_a_tau_that_is_no_number_is_refused(tau: Any) -> None:
    with pytest.raises(InputError, match="tau must be a finite number"):
        certify(np.eye(3), np.eye(3), trace=2.0, tau=tau)
