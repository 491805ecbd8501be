"""What a run leaves behind: how it ended, what it recorded on its way, and the answer with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from ldssc.certificate import Certificate, weigh
from ldssc.problem import Point
from ldssc.validation import Matrix, Vector


class Status(Enum):
    """How a run ended; the value is the sentence to show."""

    SOLVED = "proven to the tolerance"
    MAX_ITER = "stopped after the allowed number of iterations, before the tolerance was proven"
    TIME_LIMIT = "stopped at the time limit, before the tolerance was proven"
    STALLED = "no further progress: the best answer so far is returned, short of the tolerance"
    STOPPED = "stopped on request, before the tolerance was proven"
    NONFINITE = "a number overflowed or became NaN, or LAPACK failed: the last good answer is returned"

    @property
    def sentence(self) -> str:
        """The status in words."""
        return self.value


class State(NamedTuple):
    """Where a solver stands: its multipliers, and its own matrix, unrepaired. Q is None where it follows from u and Z."""

    u: Vector
    Q: Matrix | None
    Z: Matrix
    iterate: Matrix | None = None
    tau: float = 0.0
    sigma: float | None = None  # the weight that `splitting` had arrived at

    def given(self) -> tuple[Vector, Matrix]:
        """u and Q, for solvers that go on from both."""
        assert self.Q is not None
        return self.u, self.Q


class Sketch(Protocol):
    """Where a solver stands, to be written out only when somebody asks."""

    def state(self) -> State: ...
    def finite(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Record:
    """One proof in the course of a run; `distance` is the best proven so far, `dual` the dual value (3) that goes with it."""

    iteration: int
    n_eig: int
    seconds: float
    distance: float
    dual: float
    note: str = ""


class Progress(NamedTuple):
    """All that a run has found, and all that it takes to go on."""

    best: Point | None
    state: State
    history: tuple[Record, ...]
    n_iter: int
    n_inner: int
    n_eig: int
    seconds: float
    gain: tuple[int, int, float]


@dataclass(frozen=True, repr=False)
class Result:
    """An answer with its proof: F is feasible up to rounding, `certificate.distance` bounds ‖F − F*‖/‖F‖.

    With weights, F is the matrix with Fw = 1, and the multipliers and the distance belong to G = diag(√w) F diag(√w) (19).
    """

    F: Matrix
    u: Vector
    Q: Matrix
    Z: Matrix
    iterate: Matrix
    status: Status
    certificate: Certificate
    history: tuple[Record, ...]
    solver: str
    tol: float
    n_iter: int
    n_inner: int
    n_eig: int
    seconds: float
    n_products: float = 0.0  # besides the eigendecompositions, in units of n³
    lbfgs_memory: int | None = None
    lbfgs_bytes: int | None = None
    tau: float = 0.0
    s: Vector | None = None

    @property
    def G(self) -> Matrix:
        """The matrix of (19) that the proof speaks of: F itself where no weights are given."""
        return weigh(self.F, self.s)

    @property
    def solved(self) -> bool:
        """Whether the distance was proven to be within `tol`."""
        return self.status is Status.SOLVED

    def __repr__(self) -> str:
        return (
            f"Result(n={len(self.F)}, solver={self.solver!r}, status={self.status.name}, "
            f"distance={self.certificate.distance:.2e}, tol={self.tol:.1e}, n_iter={self.n_iter}, n_eig={self.n_eig}, "
            f"seconds={self.seconds:.2f})"
        )
