"""`accelerated` on its other roads: the Q dual, filtered parts, lean proofs, single precision, arrays of other libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from auditor import audited_distance, multipliers_are_valid, rounding_of_auditor, true_distance
from exact.load import ExactCase, load_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY, ORDINARY, SEEDS, gaussian, minus_distances, symmetric_matrices, zero_diagonal

import ldssc
from ldssc import solvers
from ldssc.filtering import Filter, PositivePart
from ldssc.problem import Problem
from ldssc.projections import Tally, eigh
from ldssc.solvers import Result, Status, project
from ldssc.solvers.auto import suits_lean
from ldssc.solvers.base import Run, solve
from ldssc.solvers.duals import QDual, ZDual, no_factor
from ldssc.solvers.lean import LeanRun

accelerated = sys.modules["ldssc.solvers.accelerated"]
Array = np.ndarray[Any, np.dtype[np.float64]]
CASES = load_cases()
TINY = Filter(rows=4, share=0.9, probe_every=2)  # filters wherever it can
KINDS = {"numpy": np.asarray, "torch": torch.tensor, "strict": array_api_strict.asarray}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def _lean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lean runs at any size."""
    monkeypatch.setattr(solvers, "LEAN_FROM", 1)


lean = pytest.mark.usefixtures("_lean")


def written(result: Result) -> tuple[Array, ...]:
    return tuple(np.asarray(part).astype(float) for part in (result.F, result.u, result.Q, result.Z))


def assert_promises_kept(result: Result, K: Array) -> None:
    F, u, Q, Z = written(result)
    np.testing.assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert np.abs(F.sum(axis=1) - 1).max() <= 1e-12
    assert np.linalg.eigvalsh(F)[0] >= -1e-12
    assert multipliers_are_valid(K, Q, Z)
    claim = result.certificate.distance
    audit, noise = audited_distance(F, K, u, Q, Z), rounding_of_auditor(F, K, u, Q, Z)
    assert audit <= claim * (1 + 1e-9) + rounding_of_auditor(F, K, u, Q, Z, np.longdouble)
    assert claim <= 2 * audit + noise + 1e-7 * np.sqrt(1 + np.linalg.norm(K) + np.linalg.norm(Z))
    assert result.solved == (claim <= result.tol)
    distances = [record.distance for record in result.history]
    assert distances == sorted(distances, reverse=True)


def forced(K: Array, dual: str, *, tol: float = 1e-2, steps: int = 150, single: bool = False, **options: Any) -> Result:
    """A lean run on the dual of one's choice, filtered as soon as there are four rows."""
    problem = Problem(K)
    run = LeanRun(problem, tol, max_iter=steps, **options)

    def solver(run: Run) -> None:
        part = PositivePart(run.eigh, TINY, run.tally)
        if dual == "Z":
            steps: ZDual | QDual = ZDual(problem, part, single, no_factor(K))
        else:
            steps = QDual(problem, part, single, np.zeros_like(K))
        while True:
            steps.step()
            run.observe(steps)

    return solve(run, solver, "accelerated")


# --- the contract on every road


@pytest.mark.parametrize("dual", ["Z", "Q"])
@settings(max_examples=40)
@given(K=symmetric_matrices(ANY, sometimes=30))
def test_either_dual_filtered_keeps_the_promises(dual: str, K: Array) -> None:
    assert_promises_kept(forced(K, dual, steps=40), K)


@pytest.mark.parametrize("dual", ["Z", "Q"])
@pytest.mark.parametrize("single", [False, True])
@settings(max_examples=15)
@given(K=symmetric_matrices(ORDINARY, sometimes=40))
def test_steps_in_single_precision_keep_the_promises(dual: str, single: bool, K: Array) -> None:
    assert_promises_kept(forced(K, dual, steps=25, single=single), K)


@pytest.mark.parametrize("case", CASES[::2], ids=lambda case: case.name)
@pytest.mark.parametrize("dual", ["Z", "Q"])
def test_claim_is_never_below_the_true_distance(dual: str, case: ExactCase) -> None:
    result = forced(case.K, dual, steps=60)
    assert result.certificate.distance >= true_distance(result.F, case.F, case.F_low)
    assert_promises_kept(result, case.K)


@pytest.mark.parametrize("dual", ["Z", "Q"])
def test_both_duals_reach_the_exact_answer(dual: str) -> None:
    for case in CASES[::9]:
        if np.abs(case.K).max() <= 10:
            result = forced(case.K, dual, tol=3e-3, steps=3000)
            assert result.solved, (case.name, result)
            assert true_distance(result.F, case.F, case.F_low) <= 3e-3


# --- filtered is full


@pytest.mark.parametrize(("name", "draw"), [("Z", gaussian), ("Z", minus_distances), ("Q", zero_diagonal)])
def test_filtered_steps_are_those_of_full_decompositions_to_the_proven_distance(name: str, draw: Any) -> None:
    K = draw(np.random.default_rng(4), 120)
    problem, found = Problem(K), []
    for settings_ in (Filter(rows=10**9), Filter(rows=50, share=0.9)):
        tally = Tally()
        part = PositivePart(eigh, settings_, tally)
        dual = ZDual(problem, part, False, no_factor(K)) if name == "Z" else QDual(problem, part, False, 0 * K)
        for _ in range(60):
            dual.step()
        found.append(ldssc.certify(problem.close_doubly_stochastic(dual.kernel().Z).F, K, Z=dual.kernel().Z).distance)
    assert found[1] <= 1.3 * found[0]


def test_filtered_steps_need_no_decomposition() -> None:
    K = gaussian(np.random.default_rng(1), 200)

    def never(_: Array) -> Any:
        raise AssertionError("a full decomposition")

    dual = ZDual(Problem(K), PositivePart(never, Filter(rows=50, share=0.9)), False, no_factor(K))
    for _ in range(10):
        dual.step()
    assert 0 < dual.rank < 150


# --- the choice of the dual


@pytest.mark.parametrize(
    ("draw", "name"), [(gaussian, "Z dual"), (minus_distances, "Z dual"), (zero_diagonal, "Q dual")]
)
def test_zero_diagonals_go_to_the_q_dual_and_the_history_says_why(draw: Any, name: str) -> None:
    result = project(draw(np.random.default_rng(2), 40), solver="accelerated", tol=1e-1, max_iter=30)
    assert result.history[0].note.startswith(name)
    assert "diagonal" in result.history[0].note


def test_a_heavy_z_changes_the_dual_on_the_way() -> None:
    """A diagonal just above zero is not clipped at first, and Z is heavy all the same."""
    rng = np.random.default_rng(0)
    K = 6 * zero_diagonal(rng, 30) + 0.0 * np.eye(30)
    K += np.diag(2e-3 - 2 * Problem(K).complete(np.zeros_like(K)).u - K.diagonal())
    result = project(K, solver="accelerated", tol=1e-3, max_iter=60)
    assert result.history[0].note.startswith("Z dual")
    notes = " ".join(record.note for record in result.history)
    if "Q dual" in notes:
        assert "tr Z" in notes


@settings(max_examples=15)
@given(symmetric_matrices(ORDINARY, smallest=4, largest=10), SEEDS)
def test_weights_and_trace_still_work(K: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.3, 3, len(K))
    for options in ({"weights": w}, {"trace": 0.6 * len(K)}, {"weights": w, "trace": 2.0}):
        result = project(K, solver="accelerated", tol=1e-2, max_iter=150, **options)  # type: ignore[arg-type]
        again = ldssc.certify(result.F, K, result.u, result.Q, result.Z, tau=result.tau, **options)  # type: ignore[arg-type]
        assert again.distance == pytest.approx(result.certificate.distance, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(result.F @ (w if "weights" in options else np.ones(len(K))), 1, atol=1e-9)


@pytest.mark.parametrize("draw", [gaussian, zero_diagonal])
def test_weights_in_place_agree_with_repeated_rows(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The passes in place, in both duals, with weights: two copies of each row are a weight of two (19)."""
    monkeypatch.setattr("ldssc.solvers.duals._IN_PLACE", 1)
    K = draw(np.random.default_rng(3), 12) + (np.eye(12) if draw is gaussian else 0)
    twice = np.kron(K, np.ones((2, 2)))
    whole = project(twice, solver="accelerated", tol=1e-2, max_iter=3000)
    weighted = project(K, solver="accelerated", tol=1e-2, max_iter=3000, weights=np.full(12, 2.0))
    assert whole.solved
    assert weighted.solved
    spread = np.kron(weighted.F, np.ones((2, 2)))
    assert np.linalg.norm(whole.F - spread) <= 2e-2 * np.linalg.norm(whole.F) * 1.01


# --- lean runs, other libraries, single precision


@every_kind
@settings(max_examples=12)
@given(K=symmetric_matrices(ANY, sometimes=30), tol=st.sampled_from([1e-1, 1e-3]))
def test_every_library_gets_its_own_kind_and_a_proof(kind: str, K: Array, tol: float) -> None:
    given_ = KINDS[kind](K)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solvers, "LEAN_FROM", 1)
        result = project(given_, solver="accelerated", tol=tol, max_iter=25)
    for part in (result.F, result.u, result.Q, result.Z, result.G, result.iterate):
        assert type(part) is type(given_)
        assert part.dtype == given_.dtype
        assert part.device == given_.device
    assert_promises_kept(result, K)


@lean
@every_kind
@pytest.mark.parametrize("draw", [gaussian, zero_diagonal])
def test_libraries_agree(kind: str, draw: Any) -> None:
    K = draw(np.random.default_rng(7), 45)
    here = project(K, solver="accelerated", tol=2e-2, max_iter=400)
    there = project(KINDS[kind](K), solver="accelerated", tol=2e-2, max_iter=400)
    assert here.solved
    assert there.solved
    F = written(there)[0]
    assert np.linalg.norm(F - here.F) <= 4e-2 * np.linalg.norm(F)


@every_kind
@pytest.mark.parametrize("dtype", ["float32", np.float32, torch.float32])
def test_single_precision_on_request(kind: str, dtype: Any) -> None:
    K = gaussian(np.random.default_rng(1), 25).astype(np.float32)
    given_ = KINDS[kind](K)
    double = project(given_, solver="accelerated", tol=1e-2)
    assert "float64" in str(double.F.dtype)  # whatever K is
    result = project(given_, solver="accelerated", tol=1e-2, dtype=dtype)
    for part in (result.F, result.u, result.Q, result.Z):
        assert type(part) is type(given_)
        assert "float32" in str(part.dtype)
    F, u, Q, Z = written(result)
    assert result.solved
    assert "in double precision the distance was" in result.certificate.note
    assert np.abs(F.sum(axis=1) - 1).max() <= result.certificate.row_sum + 1e-15
    audit = audited_distance(F, K.astype(float), u, Q, Z)
    assert audit <= result.certificate.distance * (1 + 1e-3) + 1e-6
    assert result.certificate.distance <= 2 * audit + 2e-3


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
@pytest.mark.parametrize("solver", ["accelerated", "auto"])
def test_single_precision_never_claims_too_much(solver: str, case: ExactCase) -> None:
    result = project(case.K, solver=solver, tol=1e-3, max_iter=40, dtype="float32")
    assert result.F.dtype == np.float32
    assert result.certificate.distance >= true_distance(result.F, case.F, case.F_low)
    assert result.solved == (result.certificate.distance <= 1e-3)


def test_what_single_precision_costs_can_be_too_much() -> None:
    K = gaussian(np.random.default_rng(0), 20)
    result = project(K, solver="accelerated", tol=1e-9, max_iter=200, dtype="float32")
    assert not result.solved
    assert result.certificate.distance > 1e-9


# --- start, checkpoint, memory, failures


@lean
@every_kind
def test_an_answer_is_proven_again_without_a_step(kind: str) -> None:
    K = KINDS[kind](gaussian(np.random.default_rng(5), 30))
    first = project(K, solver="accelerated", tol=1e-2)
    for start in (first, project(np.asarray(K), solver="auto", tol=1e-2)):
        again = project(K, solver="accelerated", tol=1.05e-2, start=start)
        assert again.solved
        assert again.n_iter == 0
        assert type(again.F) is type(K)


@lean
@pytest.mark.parametrize("draw", [gaussian, zero_diagonal])
def test_a_lean_run_goes_on_from_its_checkpoint(draw: Any, tmp_path: Path) -> None:
    K, path = draw(np.random.default_rng(6), 40), tmp_path / "run.npz"
    options: dict[str, Any] = {"solver": "accelerated", "tol": 1e-2, "checkpoint": path}
    short = project(K, max_iter=5, **options)
    assert path.exists()
    assert not short.solved
    rest = project(K, **options)
    assert rest.solved
    assert rest.n_iter > 5
    assert rest.history[: len(short.history)] == short.history
    assert_promises_kept(rest, K)
    again = project(K, **options)
    assert again.n_iter == rest.n_iter
    assert again.solved


@pytest.mark.parametrize("dual", ["Z", "Q"])
def test_nan_on_the_way_ends_with_the_last_good_answer(dual: str, monkeypatch: pytest.MonkeyPatch) -> None:
    K = gaussian(np.random.default_rng(8), 30)
    owner = ZDual if dual == "Z" else QDual
    step, calls = owner.step, []

    def breaks(self: Any) -> None:
        step(self)
        calls.append(1)
        if len(calls) == 12:
            self.change = self.violation = np.nan

    monkeypatch.setattr(owner, "step", breaks)
    result = forced(K, dual, tol=1e-9)
    assert result.status is Status.NONFINITE
    assert np.isfinite(result.F).all()
    assert_promises_kept(result, K)


@pytest.mark.parametrize("draw", [gaussian, zero_diagonal])
@pytest.mark.parametrize("run", ["lean", "ordinary"])
def test_a_time_limit_ends_with_an_answer(draw: Any, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it falls: what is written out afterwards looks at no clock."""
    monkeypatch.setattr(solvers, "LEAN_FROM", 1 if run == "lean" else 10**9)
    K = draw(np.random.default_rng(8), 40)
    for limit in (1e-6, 0.01, 0.05):
        result = project(K, solver="accelerated", tol=1e-9, time_limit=limit)
        assert result.status is Status.TIME_LIMIT
        assert_promises_kept(result, K)


@pytest.mark.parametrize("draw", [gaussian, zero_diagonal])
def test_a_sketch_that_cannot_be_written_out_leaves_the_best(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    K, owner = draw(np.random.default_rng(8), 30), ZDual if draw is gaussian else QDual
    kernel, calls = owner.kernel, []

    def breaks(self: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise np.linalg.LinAlgError
        return kernel(self)

    monkeypatch.setattr(owner, "kernel", breaks)
    result = project(K, solver="accelerated", tol=1e-9, max_iter=50)
    assert result.status is Status.NONFINITE
    assert len(calls) > 1
    assert_promises_kept(result, K)


@pytest.mark.parametrize("dual", ["Z", "Q"])
def test_an_interrupt_keeps_what_was_found(dual: str) -> None:
    K = gaussian(np.random.default_rng(9), 30)

    def stop(_: Any) -> bool:
        raise KeyboardInterrupt

    result = forced(K, dual, tol=1e-9, callback=stop)
    assert result.status is Status.STOPPED
    assert_promises_kept(result, K)


def test_nothing_but_nonsense_still_gives_a_feasible_matrix() -> None:
    K = gaussian(np.random.default_rng(9), 12)

    def nothing(_: Run) -> None:
        return

    assert_promises_kept(solve(LeanRun(Problem(K), 1e-3), nothing, "none"), K)


# --- bad input


@pytest.mark.parametrize("make", [torch.tensor, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"K must be square, and has shape \(2, 3\)"),
        (np.ones(3), r"K must be square, and has shape \(3,\)"),
        (np.ones((0, 0)), r"K is empty \(0 x 0\)"),
        (np.array([[0.0, np.nan], [np.nan, 0]]), "K has entries that are NaN or infinite"),
        (np.array([[0.0, 1], [2, 0]]), "K is not symmetric: the largest"),
        (np.full((2, 2), 1e13), "K has entries as large as 1e[+]13"),
        (np.ones((2, 2), complex), "K must hold real numbers"),
    ],
)
def test_bad_arrays_of_other_libraries_are_refused(make: Any, K: Any, message: str) -> None:
    with pytest.raises(ldssc.InputError, match=message):
        project(make(K), solver="accelerated")


@pytest.mark.parametrize("option", [{"weights": np.ones(3)}, {"trace": 2.0}, {"checkpoint": "x.npz"}])
def test_what_only_numpy_arrays_have_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ldssc.InputError, match="weights, trace and checkpoint are for NumPy arrays"):
        project(torch.eye(3), solver="accelerated", **option)


@pytest.mark.parametrize("dtype", ["float16", int, "double", 3.0, torch.float16])
def test_other_precisions_are_refused(dtype: Any) -> None:
    with pytest.raises(ldssc.InputError, match="dtype must be float32 or float64"):
        project(np.eye(3), dtype=dtype)


def test_start_of_another_size_is_refused() -> None:
    start = project(torch.eye(4, dtype=torch.float64), solver="accelerated")
    with pytest.raises(ldssc.InputError, match="start is the answer for 4 rows, and K has 3"):
        project(torch.eye(3), solver="accelerated", start=start)


def test_the_input_is_left_alone() -> None:
    for make in KINDS.values():
        K = make(gaussian(np.random.default_rng(3), 20))
        before = np.asarray(K).copy()
        project(K, solver="accelerated", tol=1e-1)
        np.testing.assert_array_equal(np.asarray(K), before)
    K = torch.eye(5, dtype=torch.float64, requires_grad=True)
    assert project(K, solver="accelerated").solved


def test_auto_is_lean_where_that_suffices_and_only_there() -> None:
    """Large, light, coarse: the accelerated gradient alone, in few arrays; the proof is as good as any."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(260, 2)), rng.normal(size=(260, 2)) + 4])
    K = ldssc.gaussian_affinity(X, ldssc.median_distance(X))
    zero = K - np.diag(K.diagonal())
    assert suits_lean(Problem(K), 1e-2)
    assert not suits_lean(Problem(K), 1e-3)
    assert not suits_lean(Problem(zero), 1e-2)
    assert not suits_lean(Problem(K[:400, :400]), 1e-2)
    result = ldssc.project(K, tol=1e-2)
    assert result.solved
    assert result.solver == "auto"
    near = ldssc.project(K, tol=1e-3)
    assert near.solved
    distance = np.linalg.norm(result.F - near.F) / np.linalg.norm(result.F)
    assert distance <= result.certificate.distance + 1.01 * near.certificate.distance


@pytest.mark.parametrize("solver", ["newton", "splitting"])
def test_other_solvers_answer_tensors_in_kind(solver: str) -> None:
    K = gaussian(np.random.default_rng(0), 20)
    result, plain = project(torch.tensor(K, requires_grad=True), solver=solver), project(K, solver=solver)
    for name in ("F", "u", "Q", "Z", "iterate"):
        part = getattr(result, name)
        assert isinstance(part, torch.Tensor)
        assert part.dtype == torch.float64
        np.testing.assert_array_equal(part.detach().numpy(), getattr(plain, name))
    assert result.certificate == plain.certificate
    with pytest.raises(ldssc.InputError, match="weights"):
        project(torch.tensor(K), solver="splitting", weights=np.ones(20))
